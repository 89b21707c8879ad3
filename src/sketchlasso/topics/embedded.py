"""A corpus that every machine has: the docstrings of the installed scientific packages."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import platform
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path

import numpy as np
from scipy import sparse

from sketchlasso.errors import StoredFileError
from sketchlasso.storage import Content, cache_folder, read_container, write_container
from sketchlasso.topics.corpus import Corpus, CountMatrix, stop_list
from sketchlasso.topics.docstrings import (
    compiled_docstrings,
    package_docstrings,
    standard_library_docstrings,
)
from sketchlasso.topics.packing import pack_corpus, unpack_corpus
from sketchlasso.topics.prose import prose
from sketchlasso.topics.tokens import LONGER_TOKEN, count_words

__all__ = ["embedded_corpus"]

# Changes whenever the same installation would give another corpus: caches are then made anew.
RECIPE = 1
CONTENT = Content("corpus", "embedded_corpus", "embedded_corpus")

# Import name and name of the distribution; those that are not installed are passed over.
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
# Shorter texts say what something is called and little more.
LEAST_WORDS = 12
LEAST_DOCUMENTS = 8
SHOWN = 1200

# Words of documentation as such, whatever it is about; of plurals the singular is enough.
BOILERPLATE = """
accept accepted according actual add added additional alias allow allowed already api
appropriate arg argument attribute available avoid based behavior behaviour bool boolean
calculate calculated call callable called caller calling case cause certain change changed check
checked chosen class come compatibility compatible compute computed consider contain contained
containing convenience correspond corresponding create created creating currently default define
defined deprecated desired detail determine determined dict different directly doc docstring
documentation does effect ensure equivalent exactly example exception expected explicitly
extra false float follow following function future general generally generic getting give given
giving guide handle handled ignored implement implementation implemented include included
including indicate indicated information input instance instead int internal internally keyword
kind know known kwarg later like look make making meaning mention method modified modify
module need needed new non note object obtain obtained option optional optionally original
output override overwrite overwritten package param parameter particular pass passed passing
perform performed possible present previous provide provided purpose raise raised reason
recommended refer reference related relevant removed represent representing require required
respect respectively result return returned returning section see set setting shown similar
simple simply single specific specified specify str subclass suitable supplied supply support
supported take taken taking thing true tuple type typeerror typically unless usage use used
useful user using usual usually valid value valueerror various version want way whether wise
work wrapper
"""


def embedded_corpus(*, cache: str | os.PathLike[str] | None = None) -> Corpus:
    """Return the docstrings of NumPy, SciPy, scikit-learn and Python itself as a corpus.

    pandas and Matplotlib are in it where they are installed. A document is the docstring of a
    public module, function, class or method, its title the name of that (``numpy.fft.fft``).
    Source files are parsed and not run. Markup, code, types, references and the words of
    documentation as such ("parameters", "returns", "default") are taken out, and regular plurals
    are counted with their singular, so that what is left is English about the subject.

    The same installation always gives the same corpus. It takes some seconds to make, and is kept
    in a cache for as long as the versions of the packages stay the same.

    Parameters
    ----------
    cache : path-like, optional
        Folder of the cache; by default the operating system's place for caches. One that cannot
        be written is done without.

    Returns
    -------
    Corpus
        About 10,000 documents, pruned; texts are the docstrings' beginnings.

    Examples
    --------
    >>> import sketchlasso as sl
    >>> corpus = sl.embedded_corpus()
    >>> "fourier" in corpus.words
    True
    """
    versions = _versions()
    folder = cache_folder() if cache is None else Path(cache)
    if folder is None:
        return _made(versions)
    key = hashlib.sha256(json.dumps([RECIPE, versions]).encode()).hexdigest()[:16]
    path = folder / f"docstrings-{key}.corpus"
    with suppress(StoredFileError):
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
    titles, originals, texts = [], [], []
    seen: set[str] = set()
    for title, docstring in _docstrings(versions):
        # The same thing under a second name, and a second thing (a setter) under the same name.
        if title in seen or docstring in seen or len(docstring.split()) < LEAST_WORDS:
            continue
        seen |= {title, docstring}
        text = prose(docstring)
        if len(text.split()) >= LEAST_WORDS and text not in seen:
            seen.add(text)
            titles.append(title)
            originals.append(docstring[:SHOWN])
            texts.append(text)
    from sklearn.feature_extraction.text import CountVectorizer

    counts, words, _ = count_words(texts, CountVectorizer(token_pattern=LONGER_TOKEN))
    whole = Corpus(*_singular(counts, words), tuple(titles), tuple(originals), "installed packages")
    stopped = stop_list("english") | frozenset(BOILERPLATE.split())
    pruned = whole.pruned(min_documents=LEAST_DOCUMENTS, max_share=0.5, stop_words=stopped)
    recorded = {"recipe": RECIPE, "packages": versions, "stop_words": "english, documentation"}
    return replace(pruned, settings={**pruned.settings, **recorded})


def _docstrings(versions: dict[str, str]) -> list[tuple[str, str]]:
    packages = [name for name in PACKAGES if name in versions]
    with _collector_off():
        return [
            *compiled_docstrings(COMPILED),
            *chain.from_iterable(map(package_docstrings, packages)),
            *standard_library_docstrings(),
        ]


@contextmanager
def _collector_off() -> Iterator[None]:
    """Parse without the garbage collector, which would look at every node: twice as fast."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _singular(counts: CountMatrix, words: Sequence[str]) -> tuple[CountMatrix, tuple[str, ...]]:
    """Count regular plurals with their singular, where that is a word of the corpus as well."""
    places = {word: place for place, word in enumerate(words)}
    home = np.arange(len(words))
    for word, place in places.items():
        home[place] = next((places[one] for one in _singulars(word) if one in places), place)
    kept, column = np.unique(home, return_inverse=True)
    shape = (len(words), len(kept))
    fold = sparse.csr_array((np.ones(len(words)), (np.arange(len(words)), column)), shape=shape)
    return sparse.csr_array(counts @ fold), tuple(words[place] for place in kept)


def _singulars(word: str) -> Iterator[str]:
    """Yield what a word would be the plural of."""
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
