"""Make the bundled corpus: words of the docstrings of NumPy, SciPy, scikit-learn, pandas, Python.

Run as ``python -m benchmarks.topics.documentation`` where pandas and Matplotlib are installed,
too. Only counts of words and the names of the documented objects go into the file.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
import platform
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

import sketchlasso
from sketchlasso.topics import corpus_from_matrix

FILE = Path(sketchlasso.__file__).parent / "topics" / "documentation.npz"
PACKAGES = ("numpy", "scipy", "sklearn", "pandas", "matplotlib")
COMPILED = ("numpy", "numpy.linalg", "numpy.fft", "numpy.random", "numpy.ma", "numpy.polynomial",
            "scipy.special", "builtins", "math", "itertools")  # fmt: skip
# Folders and files of vendored code, tests, or tables.
NO_PROSE_IN = """
__pycache__ _examples _vendor conftest.py distutils encodings ensurepip extern externals f2py
idlelib lib-dynload lib2to3 mpl-data pydoc_data setup.py site-packages dist-packages src test
testing tests this tkinter turtle turtledemo vendored
"""
SKIPPED = frozenset(NO_PROSE_IN.split())
LEAST_WORDS, LEAST_DOCUMENTS = 12, 8  # of a document, and with a word
MOST_REPEATED = 5  # sentences in more documents were pasted
TOKEN = r"(?<!\w)[^\W\d_]{3,}(?!\w)"
ADVERB = re.compile(r"(?!anomaly|assembly|family|multiply|supply)\w{4,}ly")

# What is no prose, in the order in which it is removed.
NO_PROSE = [re.compile(pattern, re.MULTILINE) for pattern in (
    # Sections of names, up to the next title.
    r"^(?i:references|see also|methods|authors?|license)\n[-=~]{3,}\n(?:(?!.*\n[-=~]{3,}\n).*\n?)*",
    r"^\s*(?:>>>|In \[).*(?:\n.*\S.*)*",  # doctests, with what they print
    r"^( *)\.\. *(?:math|plot|code|ipython|version|deprecated|index|image|figure|table|csv-table|"
    r"list-table|autosummary|toctree|\[\w+\]|_\S.*:)[^\n]*(?:\n *|\n\1 +[^\n]*)*$",
    r"^ *\.\. *[\w-]+::.*$",
    r"(?<=::)\n(?:\s*\n| +.*\n?)+",  # code after a double colon
    r"^[\w ]+\n([-=~^\"*+#`.])\1{2,}\s*$",  # titles
    r"^[*`]*[\w.]+[\w.*,` ]* ?:(?: .*)?$",  # parameters and their types
    r"^\s*:\w[\w ]*:",
    r":math:`[^`]*`|:[\w:+-]+:`[^`]*`|``[^`]*``|`[^`]*`_*",
    r"\b(?:https?|ftp)://\S+|\bwww\.\S+|\b[\w.+-]+@[\w-]+\.\S+",
    r"[%{$]\(?\w+[)}$]s?|\|[\w ]+\||\\\w+",
    r"\b\w+(?:\.\w+)+(?:\(\S*\))?|\b\w+\(\S*\)|\b\w+=\S+",  # names of a program
    r"\b(?!(?:DataFrames?|NumPy|SciPy|NaNs?|LaTeX|PostScript|TrueType|OpenMP)\b)[A-Za-z]*[a-z][A-Z]\w*",
)]  # fmt: skip


def docstrings() -> Iterator[tuple[str, str]]:
    """Names and docstrings of public objects; sources are parsed and not run."""
    for name in COMPILED:
        module = importlib.import_module(name)
        for public in sorted(dir(module)):
            thing = getattr(module, public, None)
            text = getattr(thing, "__doc__", None)
            if not public.startswith("_") and callable(thing) and isinstance(text, str):
                yield f"{name}.{public}", inspect.cleandoc(text)
    library = Path(os.__file__).parent
    roots = [(Path(str(importlib.import_module(name).__file__)).parent, name) for name in PACKAGES]
    for name in sorted(sys.stdlib_module_names - SKIPPED):
        if not name.startswith("_"):
            roots += [(library / name, name), (library / f"{name}.py", name)]
    for root, package in roots:
        for path in (
            sorted(root.rglob("*.py")) if root.is_dir() else [root] if root.exists() else []
        ):
            inside = path.relative_to(root.parent).with_suffix("").parts[1:]
            if SKIPPED & {*inside, path.name} or path.name.startswith("test_"):
                continue
            public = [part for part in (package, *inside) if not part.startswith("_")]
            yield from members(ast.parse(path.read_bytes()), ".".join(public))


def members(node: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    """Docstrings of a module, class or function and of what is public inside."""
    if text := ast.get_docstring(node):  # type: ignore[arg-type]
        yield name, text
    if isinstance(node, ast.Module | ast.ClassDef):
        for inner in node.body:
            kinds = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
            if isinstance(inner, kinds) and not inner.name.startswith("_"):
                yield from members(inner, f"{name}.{inner.name}")


def documents() -> tuple[list[str], list[str]]:
    """Names and prose of the docstrings with enough words, without pasted sentences."""
    found: dict[str, str] = {}
    seen = set()
    for name, text in docstrings():
        if name not in found and text not in seen:
            seen.add(text)
            for pattern in NO_PROSE:
                text = pattern.sub(" ", text)
            found[name] = text
    split = {name: re.split(r"(?<=[.;:!?])\s+|\n\s*\n", text) for name, text in found.items()}
    frequency = Counter(sentence for text in split.values() for sentence in set(text))
    texts = {
        name: " ".join(part for part in text if frequency[part] <= MOST_REPEATED)
        for name, text in split.items()
    }
    unique = {text: name for name, text in reversed(texts.items())}
    long = {
        name: text for text, name in reversed(unique.items()) if len(text.split()) >= LEAST_WORDS
    }
    return list(long), list(long.values())


def singular(counts: sparse.csr_array, words: list[str]) -> tuple[sparse.csr_array, list[str]]:
    """Count regular plurals as their singular, where that is a word, too, and not a rare one."""
    frequency = dict(zip(words, np.bincount(counts.indices, minlength=len(words)), strict=True))
    home = {word: word for word in words}
    for word in words:
        for ending, one in (("ies", "y"), ("ices", "ix"), ("ices", "ex"), ("es", ""), ("s", "")):
            base = word.removesuffix(ending) + one
            sound = len(word) > 3 and not re.search("(?:ss|us|is)$", word)
            if ending == "es" and not re.search("(?:ss|sh|ch|x|z)es$", word):
                continue
            if sound and word.endswith(ending) and 20 * frequency.get(base, 0) >= frequency[word]:
                home[word] = base
                break
    kept = sorted(set(home.values()))
    place = {word: number for number, word in enumerate(kept)}
    columns = [place[home[word]] for word in words]
    shape = (len(words), len(kept))
    fold = sparse.csr_array((np.ones(len(words)), (np.arange(len(words)), columns)), shape=shape)
    return sparse.csr_array(counts @ fold), kept


def main() -> None:
    """Write the file into the package."""
    warnings.simplefilter("ignore")  # of invalid escape sequences and deprecated names
    titles, texts = documents()
    vectorizer = CountVectorizer(token_pattern=TOKEN)
    counts, words = singular(
        vectorizer.fit_transform(texts), list(vectorizer.get_feature_names_out())
    )
    stopped = set(Path(__file__).with_name("documentation_words.txt").read_text().split())
    stopped |= ENGLISH_STOP_WORDS | {word for word in words if ADVERB.fullmatch(word)}
    whole = corpus_from_matrix(counts, words, titles)
    corpus = whole.pruned(min_documents=LEAST_DOCUMENTS, max_share=0.5, stop_words=stopped)
    versions = {"python": platform.python_version()}
    versions |= {name: version(name.replace("sklearn", "scikit-learn")) for name in PACKAGES}
    strings = {"words": corpus.words, "titles": corpus.titles, "packages": versions}
    np.savez_compressed(
        FILE,
        data=np.minimum(corpus.counts.data, 255).astype(np.uint8),
        indices=corpus.counts.indices.astype(np.uint16),
        lengths=np.diff(corpus.counts.indptr).astype(np.uint16),
        **{
            name: np.frombuffer(json.dumps(held).encode(), np.uint8)
            for name, held in strings.items()
        },
    )
    print(f"{corpus}, {FILE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
