"""Corpora from counts that somebody has already: a matrix and its vocabulary."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.files import Table
from sketchlasso.files.source import Source
from sketchlasso.topics.corpus import Corpus
from sketchlasso.topics.titles import numbered
from sketchlasso.topics.tokens import words_of

__all__ = ["Names", "corpus_from_matrix", "names_from", "vocabulary_beside"]

Names: TypeAlias = "Iterable[str] | str | os.PathLike[str] | None"


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
        One word per column; or a dictionary from words to columns, as scikit-learn's vectorisers
        have it in ``vocabulary_``; or such a vectoriser, fitted; or a text file with one word a
        line. Of a table the feature names by default.
    titles : sequence of str, path-like, or None
        One per document, or a text file with one per line; by default "document 1" and so on.
    texts : sequence of str, or None
        The documents, for showing.
    source : str
        Where the counts came from.

    Returns
    -------
    Corpus

    Raises
    ------
    InvalidInputError
        Words and columns do not belong together, or entries are negative or not finite.

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
            "is needed; for documents themselves use read_corpus(documents, vectorizer=...)."
        )
    if vocabulary is None:
        raise InvalidInputError(
            f"{source or 'the matrix'} has {counts.shape[1]} columns but no words; pass ",
            Argument("vocabulary"),
            " with one word per column.",
        )
    words = _words(vocabulary, int(counts.shape[1]))
    named = names_from(titles)
    if named is None:
        named = tuple(numbered(i) for i in range(counts.shape[0]))
    return Corpus(counts, words, named, None if texts is None else tuple(texts), source)


def names_from(given: Names) -> tuple[str, ...] | None:
    """Return names from a sequence, or from a text file with one per line."""
    if given is None:
        return None
    if isinstance(given, str | os.PathLike):
        with Source.of(given, "csv").open_text() as file:
            return tuple(line.rstrip("\r\n") for line in file)
    return tuple(map(str, given))


def vocabulary_beside(path: Path, width: int) -> Path | None:
    """Return the text file with as many words as a matrix has columns that lies beside it.

    Looked at are, for ``NAME_counts.npz`` or ``NAME.npz``, ``NAME_vocab.txt`` and ``vocab.txt``.
    """
    stem = path.name.removesuffix(path.suffix)
    for name in (f"{stem.removesuffix('_counts')}_vocab.txt", f"{stem}_vocab.txt", "vocab.txt"):
        place = path.with_name(name)
        if place.is_file() and len(names_from(place) or ()) == width:
            return place
    return None


def _words(vocabulary: Any, width: int) -> tuple[str, ...]:
    if isinstance(vocabulary, Mapping):
        return _ordered(vocabulary, width)
    if hasattr(vocabulary, "transform"):
        return words_of(vocabulary)
    return names_from(vocabulary) or ()


def _ordered(columns: Mapping[str, int], width: int) -> tuple[str, ...]:
    words: list[str | None] = [None] * width
    for word, column in columns.items():
        if not 0 <= int(column) < width or words[int(column)] is not None:
            raise InvalidInputError(
                f"the vocabulary puts {word!r} in column {column}, which is taken or outside the "
                f"{width} columns of the matrix; give every column, from 0, one word."
            )
        words[int(column)] = str(word)
    if None in words:
        raise InvalidInputError(
            f"the vocabulary has no word for column {words.index(None)} of the matrix's {width} "
            "(from 0); give every column one word."
        )
    return tuple(word for word in words if word is not None)
