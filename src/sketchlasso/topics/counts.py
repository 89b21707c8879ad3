"""Counts of words: of documents, or from a matrix and its vocabulary."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias
from unicodedata import category, normalize

import numpy as np
from scipy import sparse

from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.io import read_lines
from sketchlasso.io.table import Table
from sketchlasso.topics.corpus import Corpus, numbered
from sketchlasso.types import SparseRows

# Two characters or more, one of them a letter of any script, with digits, accents, vowel signs and
# joiners inside. Parts of contractions are not words: the don of "don't", and the ll, re and ve of
# "we'll", "we're" and "we've"; nor are names of a program, which have an underscore.
TOKEN = (
    r"(?<![\wMARKS])(?!(?<=\w['\u2019])(?:ll|re|ve)\b)(?![\wMARKS]*_)(?=\d*[^\W\d_])"
    r"[\wMARKS]{2,}+(?!['\u2019]t\b)"
)


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
        One word per column; a dictionary from words to columns, as in ``vocabulary_`` of
        scikit-learn's vectorisers; a fitted vectoriser; or a text file with one word per line.
        By default the feature names of a table.
    titles : sequence of str, path-like, or None
        One per document, or a text file with one per line; by default "document 1" and so on.
    texts : sequence of str, or None
        The documents, for display.
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
    if isinstance(vocabulary, Mapping):
        words = _ordered(vocabulary, int(counts.shape[1]))
    elif hasattr(vocabulary, "transform"):
        words = _words_of(vocabulary)
    else:
        words = names_from(vocabulary) or ()
    named = names_from(titles)
    if named is None:
        named = tuple(numbered(i) for i in range(counts.shape[0]))
    return Corpus(counts, words, named, None if texts is None else tuple(texts), source)


@cache
def word_pattern() -> str:
    """Return the regular expression of a word; Python's own class lacks combining marks."""
    # Those of the basic plane, as ranges: Python matches a class of them in one step. The last two
    # are the joiners that Persian and Hindi write inside words.
    codes = np.array([code for code in range(0x10000) if category(chr(code)) in ("Mn", "Mc")])
    runs = np.split(codes, np.flatnonzero(np.diff(codes) > 1) + 1)
    marks = "".join(f"{chr(run[0])}-{chr(run[-1])}" for run in runs)
    return TOKEN.replace("MARKS", marks + "\u200c\u200d")


def names_from(given: Names) -> tuple[str, ...] | None:
    """Return names from a sequence, or from a text file with one per line."""
    if given is None:
        return None
    if isinstance(given, str | os.PathLike):
        return read_lines(given)
    return tuple(map(str, given))


def vocabulary_beside(path: Path, width: int) -> Path | None:
    """Return the text file beside a matrix that has as many words as the matrix has columns.

    For ``NAME_counts.npz`` or ``NAME.npz`` it is ``NAME_vocab.txt`` or ``vocab.txt``.
    """
    stem = path.stem
    for name in (f"{stem.removesuffix('_counts')}_vocab.txt", f"{stem}_vocab.txt", "vocab.txt"):
        place = path.with_name(name)
        if place.is_file() and len(names_from(place) or ()) == width:
            return place
    return None


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


def count_words(
    documents: Sequence[str], vectorizer: Any
) -> tuple[SparseRows, tuple[str, ...], dict[str, Any]]:
    """Return the counts (n_documents, n_words), the words, and a record of the vectoriser.

    A fitted vectoriser is used as it is; otherwise a copy is fitted. Its weighting is not
    applied. None stands for lower-case words of two characters or more. Text is composed (NFC)
    first: one way to write an accent.
    """
    from sklearn.base import clone
    from sklearn.feature_extraction.text import CountVectorizer

    chosen = CountVectorizer(token_pattern=word_pattern()) if vectorizer is None else vectorizer
    if not isinstance(chosen, CountVectorizer):
        raise _foreign(chosen)
    fitted = _has_words(chosen)
    if not fitted:
        chosen = clone(chosen)
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
    return counts, _words_of(chosen), {"vectorizer": recorded}


def _has_words(vectorizer: Any) -> bool:
    """Whether something is a fitted vectoriser with a vocabulary."""
    return hasattr(vectorizer, "vocabulary_") and hasattr(vectorizer, "get_feature_names_out")


def _words_of(vectorizer: Any) -> tuple[str, ...]:
    """Return the words of a fitted vectoriser, in the order of its columns."""
    if not _has_words(vectorizer):
        raise _foreign(vectorizer)
    return tuple(map(str, vectorizer.get_feature_names_out()))


def _foreign(vectorizer: Any) -> InvalidInputError:
    kind = type(vectorizer).__name__
    if kind == "HashingVectorizer":
        return InvalidInputError(
            "a HashingVectorizer was given, but it keeps no words, so images of them could not be "
            "read; use CountVectorizer or TfidfVectorizer."
        )
    if hasattr(vectorizer, "get_feature_names_out"):
        return InvalidInputError(
            f"a {kind} without a vocabulary was given, but its words are needed; fit it on "
            "documents first."
        )
    return InvalidInputError(
        Argument("vectorizer", kind, "s"),
        " was given, but scikit-learn's CountVectorizer or TfidfVectorizer is needed; pass one of "
        "them or leave it out.",
    )
