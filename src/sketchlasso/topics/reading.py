"""Make a corpus of documents, folders and files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sketchlasso.errors import Argument, InvalidInputError, StoredFileError, unaccepted
from sketchlasso.io import Table, read_lines, read_table
from sketchlasso.io.source import format_of, plain_ending
from sketchlasso.io.table import Column, find_column
from sketchlasso.io.tables import TextLayout, read_frames, texts_of
from sketchlasso.topics.corpus import Corpus, numbered
from sketchlasso.topics.counts import (
    Names,
    corpus_from_matrix,
    count_words,
    names_from,
    vocabulary_beside,
)
from sketchlasso.topics.folders import ENDINGS, read_folder

MATRICES = ("bag-of-words", "npz", "npy", "matrix-market", "svmlight")
TITLE = 60  # characters of a title that a text begins with
# Kinds of sources: their names in messages, and the options that apply to them.
KINDS = {
    "documents": ("documents given as strings", {"vectorizer"}),
    "folder": ("a folder of text files", {"vectorizer", "follow_links"}),
    "lines": ("a file with one document per line", {"vectorizer"}),
    "columns": (
        "a file with columns of text",
        {"vectorizer", "column", "title_column", "group_column", "separator", "header"},
    ),
    "counts": ("a file with counts", {"vocabulary"}),
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
    max_bytes: int = 1 << 20,
    text_length: int | None = 2000,
    separator: str | None = None,
    header: bool | None = None,
    follow_links: bool | None = None,
) -> Corpus:
    """Read documents, or counts of their words, from memory, a folder or a file.

    No word is left out; see :meth:`Corpus.pruned` for that.

    Parameters
    ----------
    source : iterable of str, mapping of str to str, or path-like
        - Documents, or documents by title. A string is taken for a path.
        - A folder: every text file below it is a document, its path the title.
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
        in it, ``vocab.NAME.txt`` beside ``docword.NAME.txt``, ``NAME_vocab.txt`` beside
        ``NAME_counts.npz``, or ``vocab.txt`` beside it.
    titles : sequence of str, path-like, or None
        One per document, or a text file with one per line; by default what the source has, else the
        beginnings of the texts, else "document 1" and so on.
    groups : sequence of str, path-like, or None
        A date, author or section per document, or a text file with one per line.
    vectorizer : CountVectorizer, TfidfVectorizer or None
        Splits documents into words. A fitted one is used as it is; otherwise a copy is fitted.
        Only its counts are used, not its weights. By default lower-case words of two characters
        or more with at least one letter, of any script, composed (NFC); names with underscores
        are left out.
    endings : sequence of str
        Endings of the text files in a folder; '' stands for names without an ending.
    max_bytes : int
        Most bytes to read from a file in a folder; ``settings["cut_files"]`` is the number of
        longer files.
    text_length : int or None
        Characters of every document to keep for display: None for all, 0 for no texts.
    separator : str, optional
        The character between the cells of a delimited file; detected by default.
    header : bool, optional
        Whether a delimited file begins with names; detected by default.
    follow_links : bool, optional
        Whether to follow symbolic links out of a folder. By default they are not followed, and
        ``settings["links_left_out"]`` is their number.

    Returns
    -------
    Corpus
        counts of shape (n_documents, n_words).

    Raises
    ------
    StoredFileError
        A file is missing, truncated, damaged, or not of its format.
    InvalidInputError
        There is no text, no such column, or words and counts do not belong together.
    MissingExtraError
        Parquet or Arrow, and pyarrow is not installed.

    Examples
    --------
    >>> import sketchlasso as sl
    >>> corpus = sl.topics.read_corpus(["The wave and the sea.", "The sea at night."])
    >>> corpus.shape, corpus.titles[0]
    ((2, 6), 'The wave and the sea.')
    >>> corpus = sl.topics.read_corpus("posts.jsonl", column="body")  # doctest: +SKIP
    """
    _check_sizes(max_bytes, text_length)
    settings: dict[str, Any] = {}
    named: Sequence[str] | None = None
    kind = _kind(source) if isinstance(source, str | os.PathLike) else "documents"
    _check_options(
        kind,
        column=column,
        title_column=title_column,
        group_column=group_column,
        vocabulary=vocabulary,
        vectorizer=vectorizer,
        separator=separator,
        header=header,
        follow_links=follow_links,
    )
    if not isinstance(source, str | os.PathLike):
        origin = "documents"
        texts, named = _given(source)
    else:
        path, origin = Path(source), str(source)
        if kind == "counts":
            return replace(_from_counts(path, vocabulary, titles), groups=names_from(groups))
        if kind == "folder":
            texts, named, settings = read_folder(
                path, endings, max_bytes, follow_links=bool(follow_links)
            )
        elif kind == "lines":
            texts = [line.strip() for line in read_lines(path)]
        else:
            roles = {"column": column, "title_column": title_column, "group_column": group_column}
            columns = _text_columns(path, roles, separator, header)
            texts, named = columns["column"], columns.get("title_column")
            groups = columns.get("group_column", groups)
            settings["column"] = column
    if not texts:
        raise InvalidInputError(f"{origin} has no documents; give at least one.")
    named = named if titles is None else names_from(titles)
    counts, words, recorded = count_words(texts, vectorizer)
    called = tuple(_beginnings(texts) if named is None else named)
    shown = None if text_length == 0 else tuple(text[:text_length] for text in texts)
    settings |= {**recorded, "text_length": text_length}
    return Corpus(counts, words, called, shown, origin, settings, names_from(groups))


def as_corpus(X: Any, vocabulary: Any, titles: Sequence[str] | None) -> Corpus:
    """Make a corpus of a matrix of counts (two dimensions) or of documents (one)."""
    if isinstance(X, Corpus):
        return X
    if isinstance(X, Table) or getattr(X, "ndim", 1) == 2:
        return corpus_from_matrix(X, vocabulary, titles)
    return read_corpus(X, vocabulary=vocabulary, titles=titles)


def _given(source: Iterable[str] | Mapping[str, str]) -> tuple[list[str], list[str] | None]:
    if isinstance(source, Mapping):
        titles, texts = list(map(str, source.keys())), list(source.values())
    else:
        titles, texts = None, list(source)
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise InvalidInputError(
                f"document {number} is of type {type(text).__name__}, but documents are strings; "
                "convert it or leave it out (a matrix of counts goes to corpus_from_matrix)."
            )
    return texts, titles


def _kind(source: str | os.PathLike[str]) -> str:
    path = Path(source)
    try:
        folder, there = path.is_dir(), path.exists()
    except OSError:  # the name is too long, and probably a document
        folder = there = False
    if folder:
        return "folder"
    if not there:
        raise StoredFileError(
            f"{str(path)[:200]} does not exist; give the path of a file or folder, or documents "
            "themselves as a list of strings."
        )
    if plain_ending(path) == ".txt" and not path.name.lower().startswith("docword."):
        return "lines"
    return "counts" if format_of(path) in MATRICES else "columns"


def _text_columns(
    path: Path, roles: Mapping[str, Column | None], separator: str | None, header: bool | None
) -> dict[str, list[str]]:
    """Return the texts of the column of each role; the main one is called 'text' by default."""
    named = any(isinstance(column, str) for column in roles.values())
    header = True if header is None and named else header
    frame = read_frames(path, None, TextLayout(separator, header))
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
    words = vocabulary if isinstance(vocabulary, str | os.PathLike) else None
    table = read_table(path, vocabulary=words if format_of(path) == "bag-of-words" else None)
    if vocabulary is None and table.feature_names is None:
        vocabulary = words = vocabulary_beside(path, table.shape[1])
    corpus = corpus_from_matrix(table, vocabulary, titles)
    return corpus if words is None else replace(corpus, settings={"vocabulary": str(words)})


def _beginnings(texts: Sequence[str]) -> list[str]:
    """Return a title for every text: how it begins, on one line."""
    titles = []
    for number, text in enumerate(texts):
        line = " ".join(text[: 4 * TITLE].split())
        if len(line) > TITLE:
            line = line[: TITLE - 3].rpartition(" ")[0].rstrip() or line[: TITLE - 3]
            line += "..."
        titles.append(line or numbered(number))
    return titles


def _check_options(kind: str, **options: Any) -> None:
    title, applying = KINDS[kind]
    for name, value in options.items():
        if value is not None and name not in applying:
            raise InvalidInputError(
                Argument(name), f" was given, but it does not apply to {title}; leave it out."
            )


def _check_sizes(max_bytes: object, text_length: object) -> None:
    for name, value, least in (("max_bytes", max_bytes, 1), ("text_length", text_length, 0)):
        allowed = name == "text_length" and value is None
        if not allowed and (not isinstance(value, int) or isinstance(value, bool) or value < least):
            raise unaccepted(name, value, f"a whole number of {least} or more")
