"""Coherence of words in documents that no model has seen.

The coherence of a list of words is the mean of their normalised pointwise mutual information,
:func:`npmi`, over its pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.datasets import SEED
from sketchlasso.topics import Corpus

__all__ = ["Judge", "halves", "npmi"]


def halves(whole: Corpus) -> tuple[Corpus, Any]:
    """One half of the documents as a corpus, and the counts of the other."""
    order = np.random.default_rng(SEED).permutation(whole.shape[0])
    first, second = np.array_split(order, 2)
    titles = tuple(whole.titles[row] for row in first)
    part = Corpus(whole.counts[first], whole.words, titles, None, whole.source)
    return part, whole.counts[second]


class Judge:
    """Documents that no model has seen.

    Parameters
    ----------
    counts : sparse matrix of shape (documents, words)
    """

    def __init__(self, counts: Any) -> None:
        self.present = sparse.csc_array((counts > 0).astype(np.float64))
        self.frequency = np.asarray(self.present.sum(axis=0)).ravel()

    def coherence(self, words: Sequence[int]) -> float:
        """Mean NPMI over all pairs of words; NaN where no pair has one."""
        return _mean(self._npmi(words)[np.triu_indices(len(words), 1)])

    def to_query(self, query: int, answer: Sequence[int]) -> float:
        """Mean NPMI of a word with each word of its answer; NaN where no pair has one."""
        return _mean(self._npmi([query, *answer])[0, 1:])

    def _npmi(self, words: Sequence[int]) -> np.ndarray:
        places = np.asarray(words, dtype=np.intp)
        part = self.present[:, places]
        joint = np.asarray((part.T @ part).todense())
        own = self.frequency[places]
        return npmi(joint, own, own, self.present.shape[0])


def _mean(pairs: np.ndarray) -> float:
    known = pairs[np.isfinite(pairs)]
    return float(known.mean()) if known.size else float("nan")


def npmi(joint: Any, first: Any, second: Any, total: int) -> np.ndarray:
    """NPMI (a, b) of words that occur in `first` (a,) and `second` (b,) of `total` documents.

    With p, q and r the shares of documents that have the one, the other and both (`joint`, (a, b)):

        NPMI = log(r / (p q)) / -log(r),     -1 where they never meet, NaN where one is nowhere
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.log(joint * total / np.outer(first, second)) / -np.log(joint / total)
    value = np.where(joint >= total, 1.0, value)
    return np.where(joint > 0, value, np.where(np.outer(first, second) > 0, -1.0, np.nan))
