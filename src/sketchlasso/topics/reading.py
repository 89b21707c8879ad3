"""Make a corpus of documents, folders, files and matrices of counts."""

from __future__ import annotations

import codecs
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias
from unicodedata import category, normalize

import numpy as np
from scipy import sparse

from sketchlasso.errors import InvalidInputError, StoredFileError, unaccepted
from sketchlasso.io import Table, read_lines, read_table
from sketchlasso.io.source import TABLES, failures, format_of, plain_ending
from sketchlasso.io.table import Column, find_column
from sketchlasso.io.tables import TextLayout, read_frames, texts_of
from sketchlasso.topics.corpus import Corpus, numbered
from sketchlasso.types import SparseRows, is_whole

Names: TypeAlias = "Iterable[str] | str | os.PathLike[str] | None"

# Two characters or more, one of them a letter of any script, with digits, accents, vowel signs and
# joiners inside. Not parts of contractions ("don't", "we'll"), nor names with an underscore.
TOKEN = (
    r"(?<![\wMARKS])(?!(?<=\w['\u2019])(?:ll|re|ve)\b)(?![\wMARKS]*_)(?=\d*[^\W\d_])"
    r"[\wMARKS]{2,}+(?!['\u2019]t\b)"
)
ENDINGS = (".txt", ".text", ".md", ".rst", ".tex", ".org", ".adoc", ".py")
# The options that apply to each kind of source.
KINDS = {
    "documents given as strings": "vectorizer",
    "a folder of text files": "vectorizer",
    "a file with one document per line": "vectorizer",
    "a table": "vectorizer column title_column group_column separator header",
    "a file with counts": "vocabulary",
}


def read_corpus(
    source: str | os.PathLike[str] | Iterable[str] | Mapping[str, str],
    *,
    column: str | int | None = None,
    title_column: str | int | None = None,
    group_column: str | int | None = None,
    vocabulary: Any = None,
    titles: Names = None,
    groups: Names = None,
    vectorizer: Any = None,
    endings: Sequence[str] = ENDINGS,
    text_length: int | None = 2000,
    separator: str | None = None,
    header: bool | None = None,
) -> Corpus:
    """Read documents, or counts of their words, from memory, a folder or a file.

    No word is left out; see :meth:`Corpus.pruned` for that.

    Parameters
    ----------
    source : iterable of str, mapping of str to str, or path-like
        - Documents, or documents by title. A string is taken for a path.
        - A folder: every text file below it is a document, its path the title. Symbolic links and
          hidden files are left out.
        - ``.jsonl``, ``.csv``, ``.tsv`` (these also compressed), ``.parquet``, ``.feather``: a
          column of texts.
        - ``.txt`` (also compressed): one document per line.
        - ``docword.NAME.txt`` (UCI bag-of-words, also compressed), ``.npz``, ``.mtx``, ``.npy``,
          ``.svm``: counts, with their words in a text file.
    column, title_column : str, int or None
        Name or position of the texts and of their titles; by default the column called 'text', or
        the only one, and no titles.
    group_column : str, int or None
        Name or position of a date, author or section, to compare topics across.
    vocabulary : path-like, sequence of str, mapping of str to int, or None
        The words of a file with counts, see :func:`corpus_from_matrix`. By default those stored
        in it, or in a text file beside it: ``vocab.NAME.txt`` for ``docword.NAME.txt``, else
        ``NAME_vocab.txt`` or ``vocab.txt``.
    titles : sequence of str, path-like, or None
        One per document, or a text file with one per line; by default what the source has, else the
        beginnings of the texts, else "document 1" and so on.
    groups : sequence of str, path-like, or None
        A date, author or section per document, or a text file with one per line.
    vectorizer : CountVectorizer, TfidfVectorizer or None
        Splits documents into words; only its counts are used. By default lower-case words of two
        characters or more with at least one letter, of any script, without underscores.
    endings : sequence of str
        Endings of the text files in a folder; '' stands for names without an ending.
    text_length : int or None
        Characters of every document to keep for display: None for all, 0 for no texts.
    separator, header : str and bool, optional
        The character between the cells of a delimited file, and whether it begins with names;
        detected by default.

    Returns
    -------
    Corpus
        counts of shape (n_documents, n_words).

    Examples
    --------
    >>> import sketchlasso as sl
    >>> corpus = sl.topics.read_corpus(["The wave and the sea.", "The sea at night."])
    >>> corpus.shape, corpus.titles[0]
    ((2, 6), 'The wave and the sea.')
    >>> corpus = sl.topics.read_corpus("posts.jsonl", column="body")  # doctest: +SKIP
    """
    if text_length is not None and (not is_whole(text_length) or text_length < 0):
        raise unaccepted("text_length", text_length, "a whole number of 0 or more")
    path = Path(source) if isinstance(source, str | os.PathLike) else None
    kind = "documents given as strings" if path is None else _kind(path)
    options = {
        "column": column,
        "title_column": title_column,
        "group_column": group_column,
        "vocabulary": vocabulary,
        "vectorizer": vectorizer,
        "separator": separator,
        "header": header,
    }
    for option, value in options.items():
        if value is not None and option not in KINDS[kind].split():
            raise InvalidInputError(f"{option} does not apply to {kind}; leave it out.")
    settings: dict[str, Any] = {}
    called: Sequence[str] | None = None
    if path is None:
        called = list(source) if isinstance(source, Mapping) else None
        texts = _documents(source)
    elif kind == "a file with counts":
        return replace(_from_counts(path, vocabulary, titles), groups=names_from(groups))
    elif kind == "a folder of text files":
        texts, called = _read_folder(path, endings)
    elif kind == "a file with one document per line":
        texts = [line.strip() for line in read_lines(path)]
    else:
        roles = {"column": column, "title_column": title_column, "group_column": group_column}
        columns = _text_columns(path, roles, TextLayout(separator, header))
        texts, called = columns["column"], columns.get("title_column")
        groups = columns.get("group_column", groups)
        settings["column"] = column
    origin = "documents" if path is None else str(source)
    if not texts:
        raise InvalidInputError(f"{origin} has no documents; give at least one.")
    counts, words, recorded = _count_words(texts, vectorizer)
    called = names_from(titles) or called
    if called is None:
        called = [_beginning(text) or numbered(i) for i, text in enumerate(texts)]
    shown = None if text_length == 0 else tuple(text[:text_length] for text in texts)
    settings |= {"vectorizer": recorded, "text_length": text_length}
    return Corpus(counts, words, tuple(called), shown, origin, settings, names_from(groups))


def corpus_from_matrix(
    X: Any,
    vocabulary: Any = None,
    titles: Names = None,
    *,
    texts: Iterable[str] | None = None,
    source: str = "",
) -> Corpus:
    """Make a corpus of a matrix of counts and the words of its columns.

    Parameters
    ----------
    X : sparse or dense matrix of shape (n_documents, n_words), or Table
        Counts, or weights that are not negative.
    vocabulary : sequence of str, mapping of str to int, vectoriser, path-like, or None
        One word per column; a dictionary from words to columns; a fitted vectoriser; or a text
        file with one word per line. By default the feature names of a table.
    titles : sequence of str, path-like, or None
        One per document, or a text file with one per line; by default "document 1" and so on.
    texts : sequence of str, or None
        The documents, for display.
    source : str
        Where the counts came from.

    Returns
    -------
    Corpus

    Examples
    --------
    >>> import sketchlasso as sl
    >>> corpus = sl.topics.corpus_from_matrix([[2, 1], [0, 3]], ["wave", "sea"])
    >>> corpus.shape, corpus.words
    ((2, 2), ('wave', 'sea'))
    """
    if isinstance(X, Table):
        vocabulary = X.feature_names if vocabulary is None else vocabulary
        source = source or X.source
        X = X.X
    counts: Any = X if sparse.issparse(X) else np.asarray(X)
    if counts.ndim != 2:
        raise InvalidInputError(
            f"X has shape {counts.shape}, but a matrix of counts of shape (n_documents, n_words) "
            "is needed; for documents themselves use read_corpus."
        )
    if vocabulary is None:
        raise InvalidInputError(
            f"{source or 'the matrix'} has {counts.shape[1]} columns but no words; give a "
            "vocabulary with one word per column."
        )
    if isinstance(vocabulary, Mapping):
        if sorted(vocabulary.values()) != list(range(counts.shape[1])):
            raise InvalidInputError(
                f"the vocabulary does not give each of the {counts.shape[1]} columns of the matrix "
                "one word; map every word to its own column, from 0."
            )
        words = tuple(sorted(vocabulary, key=vocabulary.__getitem__))
    elif hasattr(vocabulary, "transform"):
        words = _words_of(vocabulary)
    else:
        words = names_from(vocabulary) or ()
    named = names_from(titles)
    if named is None:
        named = tuple(map(numbered, range(counts.shape[0])))
    return Corpus(counts, words, named, None if texts is None else tuple(texts), source)


def as_corpus(X: Any, vocabulary: Any, titles: Sequence[str] | None) -> Corpus:
    """Make a corpus of a matrix of counts (two dimensions) or of documents (one)."""
    if isinstance(X, Corpus):
        return X
    if isinstance(X, Table) or getattr(X, "ndim", 1) == 2:
        return corpus_from_matrix(X, vocabulary, titles)
    return read_corpus(X, vocabulary=vocabulary, titles=titles)


def names_from(given: Names) -> tuple[str, ...] | None:
    """Return names from a sequence, or from a text file with one per line."""
    if given is None:
        return None
    if isinstance(given, str | os.PathLike):
        return read_lines(given)
    return tuple(map(str, given))


def _documents(source: Any) -> list[str]:
    """Documents in memory."""
    texts = list(source.values() if isinstance(source, Mapping) else source)
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise InvalidInputError(
                f"document {number} is of type {type(text).__name__}, but documents are strings; "
                "convert it, or leave it out."
            )
    return texts


def _kind(path: Path) -> str:
    """Return what a path leads to, a key of KINDS."""
    try:
        is_folder, exists = path.is_dir(), path.exists()
    except OSError:  # the name is too long, and probably a document
        is_folder = exists = False
    if is_folder:
        return "a folder of text files"
    if not exists:
        raise StoredFileError(
            f"{str(path)[:200]} does not exist; give the path of a file or folder, or documents "
            "themselves as a list of strings."
        )
    if plain_ending(path) == ".txt" and not path.name.lower().startswith("docword."):
        return "a file with one document per line"
    return "a table" if format_of(path) in TABLES else "a file with counts"


def _text_columns(
    path: Path, roles: Mapping[str, Column | None], layout: TextLayout
) -> dict[str, list[str]]:
    """Return the texts of the column of each role; the main one is called 'text' by default."""
    named = any(isinstance(column, str) for column in roles.values())
    if named and layout.header is None:
        layout = replace(layout, header=True)
    frame = read_frames(path, None, layout)
    names, width = frame.names, frame.data.num_columns
    column = roles["column"]
    if column is None and (width == 1 or "text" in (names or ())):
        column = 0 if width == 1 else "text"
    if column is None:
        listed = f"({', '.join(map(repr, names[:8]))}) " if names else ""
        raise InvalidInputError(
            f"{path} has {width} columns {listed}and none is called 'text'; name the column of the "
            "texts, or make a corpus of a table of counts with corpus_from_matrix."
        )
    places = {
        role: find_column(path, names, width, given, role)
        for role, given in {**roles, "column": column}.items()
        if given is not None
    }
    return {role: texts_of(frame.data.column(place)) for role, place in places.items()}


def _from_counts(path: Path, vocabulary: Any, titles: Names) -> Corpus:
    """Read counts; by default their words are in a text file beside them, one per column."""
    place = vocabulary if isinstance(vocabulary, str | os.PathLike) else None
    table = read_table(path, vocabulary=place if format_of(path) == "bag-of-words" else None)
    if vocabulary is None and table.feature_names is None:
        for stem in (f"{path.stem.removesuffix('_counts')}_", f"{path.stem}_", ""):
            beside = path.with_name(f"{stem}vocab.txt")
            if beside.is_file() and len(read_lines(beside)) == table.shape[1]:
                vocabulary = place = beside
                break
    corpus = corpus_from_matrix(table, vocabulary, titles)
    return corpus if place is None else replace(corpus, settings={"vocabulary": str(place)})


def _beginning(text: str) -> str:
    """Return how a text begins, on one line of at most 60 characters."""
    line = " ".join(text[:240].split())
    if len(line) > 60:
        line = (line[:57].rpartition(" ")[0].rstrip() or line[:57]) + "..."
    return line


@cache
def word_pattern() -> str:
    """Return the regular expression of a word; Python's own class lacks combining marks."""
    # Those of the basic plane, as ranges: Python matches a class of them in one step. The last two
    # are the joiners that Persian and Hindi write inside words.
    codes = np.array([code for code in range(0x10000) if category(chr(code)) in ("Mn", "Mc")])
    runs = np.split(codes, np.flatnonzero(np.diff(codes) > 1) + 1)
    marks = "".join(f"{chr(run[0])}-{chr(run[-1])}" for run in runs)
    return TOKEN.replace("MARKS", marks + "\u200c\u200d")


def _count_words(
    documents: Sequence[str], vectorizer: Any
) -> tuple[SparseRows, tuple[str, ...], str]:
    """Return the counts (n_documents, n_words), the words, and the vectoriser in words.

    A fitted vectoriser is used as it is, of others a copy. Text is composed (NFC) first.
    """
    from sklearn.base import clone
    from sklearn.feature_extraction.text import CountVectorizer

    chosen = CountVectorizer(token_pattern=word_pattern()) if vectorizer is None else vectorizer
    if not isinstance(chosen, CountVectorizer):
        raise InvalidInputError(
            f"vectorizer is a {type(chosen).__name__}, but scikit-learn's CountVectorizer or "
            "TfidfVectorizer is needed, which keep words; give one of them or leave it out."
        )
    fitted = hasattr(chosen, "vocabulary_")
    chosen = chosen if fitted else clone(chosen)
    # Called by class: of a TfidfVectorizer this gives the counts under its weights.
    work = CountVectorizer.transform if fitted else CountVectorizer.fit_transform
    try:
        counts = work(chosen, [normalize("NFC", text) for text in documents])
    except ValueError as problem:
        if "empty vocabulary" not in str(problem):
            raise
        raise InvalidInputError(
            f"the {len(documents)} documents hold no word that can be counted; give documents "
            "with text or another vectorizer."
        ) from problem
    recorded = "default" if vectorizer is None else " ".join(repr(chosen).split())
    return counts, _words_of(chosen), recorded


def _words_of(vectorizer: Any) -> tuple[str, ...]:
    """Return the words of a fitted vectoriser, in the order of its columns."""
    if not (hasattr(vectorizer, "vocabulary_") and hasattr(vectorizer, "get_feature_names_out")):
        raise InvalidInputError(
            f"a {type(vectorizer).__name__} without words was given; fit a CountVectorizer or "
            "TfidfVectorizer on documents first."
        )
    return tuple(map(str, vectorizer.get_feature_names_out()))


def _read_folder(folder: Path, endings: Sequence[str]) -> tuple[list[str], list[str]]:
    """Texts and titles of the text files below a folder, by path."""
    wanted = {ending.lower() for ending in endings}
    texts, titles = [], []
    others: Counter[str] = Counter()
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if name[0] not in "._" and name != "node_modules"
        )
        for path in (Path(place) / name for name in sorted(names) if name[0] != "."):
            ending = path.suffix.lower()
            if ending not in wanted:
                others[ending or "none"] += 1
            elif path.is_file() and not path.is_symlink():
                text = _text_of(path)
                if text is not None:
                    texts.append(text)
                    titles.append(path.relative_to(folder).as_posix())
    if not texts:
        there = ", ".join(ending for ending, _ in others.most_common(5)) or "no files"
        raise InvalidInputError(
            f"the folder {folder} holds no text files with the endings {', '.join(endings)} "
            f"(there: {there}); give the endings of those to read ('' for names without one)."
        )
    return texts, titles


def _text_of(path: Path) -> str | None:
    """A file as text: UTF-8, UTF-16 with a byte-order mark, or Windows-1252; None if binary."""
    with failures(path):
        data = path.read_bytes()
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")
