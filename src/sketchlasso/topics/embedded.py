"""A corpus that every machine has: the docstrings of the installed scientific packages."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import platform
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path

import numpy as np
from scipy import sparse

from sketchlasso.errors import Name, StoredFileError
from sketchlasso.storage import Content, cache_folder, read_container, unpacking, write_container
from sketchlasso.topics.corpus import Corpus, stop_list
from sketchlasso.topics.counts import count_words
from sketchlasso.topics.docstrings import (
    compiled_docstrings,
    package_docstrings,
    prose,
    standard_library_docstrings,
    without_repeated,
)
from sketchlasso.topics.store import pack_corpus, unpack_corpus
from sketchlasso.types import SparseRows

TOKEN = r"(?<!\w)[^\W\d_]{3,}(?!\w)"
# Raise this number when the same installation gives another corpus, so that caches are renewed.
RECIPE = 2
CONTENT = Content("corpus", Name("embedded_corpus"), Name("embedded_corpus"))

# Import name and name of the distribution; those that are not installed are skipped.
PACKAGES = {
    "numpy": "numpy",
    "scipy": "scipy",
    "sklearn": "scikit-learn",
    "pandas": "pandas",
    "matplotlib": "matplotlib",
}
# Modules of the required packages, and of Python, whose docstrings are in compiled code.
COMPILED = (
    "numpy",
    "numpy.linalg",
    "numpy.fft",
    "numpy.random",
    "numpy.ma",
    "numpy.polynomial",
    "scipy.special",
    "builtins",
    "math",
    "itertools",
)
# Shorter texts hold little more than a name.
LEAST_WORDS = 12
LEAST_DOCUMENTS = 8  # with a word of the vocabulary
# Sentences in more documents than this were pasted.
MOST_REPEATED = 5
# A plural counts as its singular where that is at least this share as frequent, so that the
# package pandas does not count as "panda".
LEAST_SINGULAR = 0.05
SHOWN = 1200  # characters of a docstring, for display

# Words of documentation on any subject, plurals as their singular.
BOILERPLATE = "documentation_words.txt"
# Adverbs, recognised by their ending, are left out too.
ADVERB = re.compile(r"(?!anomaly|assembly|family|multiply|supply)\w{4,}ly")


def embedded_corpus(*, cache: str | os.PathLike[str] | None = None) -> Corpus:
    """Return the docstrings of NumPy, SciPy, scikit-learn and Python itself as a corpus.

    pandas and Matplotlib are included where they are installed. A document is the docstring of a
    public module, function, class or method, and its title that name (``numpy.fft.fft``).
    Source files are parsed and not run. Markup, code, types, references and common words of
    documentation ("parameters", "returns", "default") are removed, and regular plurals count as
    their singular.

    The same installation always gives the same corpus. It takes some seconds to make, and is
    cached until the version of a package changes.

    Parameters
    ----------
    cache : path-like, optional
        Folder of the cache; by default the operating system's place for caches. Without write
        access the corpus is not cached.

    Returns
    -------
    Corpus
        About 10,000 documents, pruned; texts are the beginnings of the docstrings.

    Examples
    --------
    >>> import sketchlasso as sl
    >>> corpus = sl.topics.embedded_corpus()
    >>> "fourier" in corpus.words
    True
    """
    versions = _versions()
    folder = cache_folder() if cache is None else Path(cache)
    if folder is None:
        return _made(versions)
    key = hashlib.sha256(json.dumps([RECIPE, versions]).encode()).hexdigest()[:16]
    path = folder / f"docstrings-{key}.corpus"
    with suppress(StoredFileError), unpacking(path, CONTENT):
        return unpack_corpus(*read_container(path, CONTENT))
    corpus = _made(versions)
    with suppress(StoredFileError, OSError):
        folder.mkdir(parents=True, exist_ok=True)
        write_container(path, CONTENT, *pack_corpus(corpus))
    return corpus


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for module, distribution in PACKAGES.items():
        with suppress(PackageNotFoundError):
            found[module] = version(distribution)
    return found


def _made(versions: dict[str, str]) -> Corpus:
    titles, originals, texts = zip(*_documents(versions), strict=True)
    from sklearn.feature_extraction.text import CountVectorizer

    counts, words, _ = count_words(texts, CountVectorizer(token_pattern=TOKEN))
    whole = Corpus(*_singular(counts, words), titles, originals, "installed packages")
    adverbs = {word for word in whole.words if ADVERB.fullmatch(word)}
    boilerplate = resources.files(__package__).joinpath(BOILERPLATE).read_text(encoding="utf-8")
    stopped = stop_list("english") | set(boilerplate.split()) | adverbs
    pruned = whole.pruned(min_documents=LEAST_DOCUMENTS, max_share=0.5, stop_words=stopped)
    recorded = {"recipe": RECIPE, "packages": versions, "stop_words": "english, documentation"}
    return replace(pruned, settings={**pruned.settings, **recorded})


def _documents(versions: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield the name, the beginning and the prose of every docstring with enough words."""
    found: dict[str, str] = {}
    seen: set[str] = set()
    for title, docstring in _docstrings(versions):
        # The same thing under a second name, and a second thing (a setter) under the same name.
        if title not in found and docstring not in seen and len(docstring.split()) >= LEAST_WORDS:
            seen.add(docstring)
            found[title] = docstring
    texts = without_repeated([prose(docstring) for docstring in found.values()], MOST_REPEATED)
    for (title, docstring), text in zip(found.items(), texts, strict=True):
        if len(text.split()) >= LEAST_WORDS and text not in seen:
            seen.add(text)
            yield title, docstring[:SHOWN], text


def _docstrings(versions: dict[str, str]) -> list[tuple[str, str]]:
    packages = [name for name in PACKAGES if name in versions]
    # Parsing takes half the time without garbage collection, which visits every node.
    running = gc.isenabled()
    gc.disable()
    try:
        return [
            *compiled_docstrings(COMPILED),
            *chain.from_iterable(map(package_docstrings, packages)),
            *standard_library_docstrings(),
        ]
    finally:
        if running:
            gc.enable()


def _singular(counts: SparseRows, words: Sequence[str]) -> tuple[SparseRows, tuple[str, ...]]:
    """Count regular plurals as their singular, where the corpus has that word too."""
    places = {word: place for place, word in enumerate(words)}
    frequency = np.bincount(counts.indices, minlength=len(words))
    home = np.arange(len(words))
    for word, place in places.items():
        for one in _singulars(word):
            if one in places and frequency[places[one]] >= LEAST_SINGULAR * frequency[place]:
                home[place] = places[one]
                break
    kept, column = np.unique(home, return_inverse=True)
    shape = (len(words), len(kept))
    fold = sparse.csr_array((np.ones(len(words)), (np.arange(len(words)), column)), shape=shape)
    return sparse.csr_array(counts @ fold), tuple(words[place] for place in kept)


def _singulars(word: str) -> Iterator[str]:
    """Yield the possible singulars of a word."""
    if len(word) < 4 or re.search("(?:ss|us|is)$", word):
        return
    if word.endswith("ies"):
        yield word[:-3] + "y"
    if word.endswith("ices"):
        yield word[:-4] + "ix"
        yield word[:-4] + "ex"
    if re.search("(?:ss|sh|ch|x|z)es$", word):
        yield word[:-2]
    if word.endswith("s"):
        yield word[:-1]
