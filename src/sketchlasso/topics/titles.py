"""Titles of documents that people can recognise."""

from __future__ import annotations

import numpy as np

from sketchlasso.topics.corpus import Corpus
from sketchlasso.types import IntArray

__all__ = ["numbered", "readable_title"]

# Words shown in place of a title that nobody gave.
TELLING_WORDS = 5


def numbered(row: int) -> str:
    """Return the title of a document that has none."""
    return f"document {row + 1}"


def readable_title(corpus: Corpus, row: int, frequency: IntArray) -> str:
    """Return the title of a document; if it has none, its number and its most telling words.

    Telling are the words whose count times the logarithm of documents over documents with the word
    is largest.

    Parameters
    ----------
    corpus : Corpus
    row : int
    frequency : ndarray of shape (n_words,)
        In how many documents each word is.
    """
    title = corpus.titles[row]
    if title != numbered(row):
        return title
    part = slice(corpus.counts.indptr[row], corpus.counts.indptr[row + 1])
    words, counts = corpus.counts.indices[part], corpus.counts.data[part]
    rarity = np.log(corpus.shape[0] / frequency[words])
    best = np.argsort(-counts * rarity, kind="stable")[:TELLING_WORDS]
    return f"{title} ({', '.join(corpus.words[j] for j in words[best])})" if len(best) else title
