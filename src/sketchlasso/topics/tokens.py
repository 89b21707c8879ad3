"""From documents to counts: scikit-learn's vectorisers, and the one used by default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.topics.corpus import CountMatrix

__all__ = ["LONGER_TOKEN", "count_words", "has_words", "words_of"]

# Two letters or more, of any alphabet. What contractions leave behind is no word: neither the
# don of "don't" nor the ll, re and ve of "we'll", "we're" and "we've".
TOKEN = r"(?<!\w)(?!(?<=\w['\u2019])(?:ll|re|ve)\b)[^\W\d_]{2,}(?!\w)(?!['\u2019]t\b)"
LONGER_TOKEN = TOKEN.replace("{2,}", "{3,}")


def count_words(
    documents: Sequence[str], vectorizer: Any = None
) -> tuple[CountMatrix, tuple[str, ...], dict[str, Any]]:
    """Count the words of documents.

    Parameters
    ----------
    documents : sequence of str
    vectorizer : CountVectorizer, TfidfVectorizer or None
        A fitted one is used as it is, another is fitted as a copy. None: words in small letters,
        two letters or more.

    Returns
    -------
    csr_array of shape (n_documents, n_words), tuple of str, dict
        Counts (a weighting that the vectoriser has is not applied), words, and what is to be
        recorded of the vectoriser.
    """
    from sklearn.base import clone
    from sklearn.feature_extraction.text import CountVectorizer

    chosen = CountVectorizer(token_pattern=TOKEN) if vectorizer is None else vectorizer
    if not isinstance(chosen, CountVectorizer):
        raise _foreign(chosen)
    fitted = has_words(chosen)
    if not fitted:
        chosen = clone(chosen)
    # Called by class: of a TfidfVectorizer this gives the counts under its weights.
    work = CountVectorizer.transform if fitted else CountVectorizer.fit_transform
    try:
        counts = work(chosen, documents)
    except ValueError as problem:
        if "empty vocabulary" not in str(problem):
            raise
        raise InvalidInputError(
            f"the {len(documents)} documents hold no word that can be counted; give documents "
            "with text or another vectorizer."
        ) from problem
    recorded = "default" if vectorizer is None else " ".join(repr(chosen).split())
    return counts, words_of(chosen), {"vectorizer": recorded}


def has_words(vectorizer: Any) -> bool:
    """Tell whether something is a fitted vectoriser that knows its words."""
    return hasattr(vectorizer, "vocabulary_") and hasattr(vectorizer, "get_feature_names_out")


def words_of(vectorizer: Any) -> tuple[str, ...]:
    """Return the words of a fitted vectoriser, in the order of its columns."""
    if not has_words(vectorizer):
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
