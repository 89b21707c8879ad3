"""Coherence of words: how often they meet in documents that no model has seen.

The coherence of a list of words is the mean of their normalised pointwise mutual information,
:func:`npmi`, over its pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

import sketchlasso as sl
from sketchlasso.interfaces.paper.data import SEED

__all__ = ["Judge", "halves", "npmi"]


def halves(whole: sl.Corpus) -> tuple[sl.Corpus, Any]:
    """One half of the documents as a corpus, and the counts of the other."""
    order = np.random.default_rng(SEED).permutation(whole.shape[0])
    first, second = np.array_split(order, 2)
    titles = tuple(whole.titles[row] for row in first)
    part = sl.Corpus(whole.counts[first], whole.words, titles, None, whole.source)
    return part, whole.counts[second]


class Judge:
    """Documents that no model has seen.

    Parameters
    ----------
    counts : sparse matrix of shape (documents, words)
    words : sequence of str
    """

    def __init__(self, counts: Any, words: Any) -> None:
        self._present = sparse.csc_array((counts > 0).astype(np.float64))
        self._place = {str(word): place for place, word in enumerate(words)}

    def coherence(self, words: Any) -> tuple[float | None, int]:
        """Mean NPMI over all pairs of known words, and how many are known."""
        places = [self._place[word] for word in words if word in self._place]
        if len(places) < 2:
            return None, len(places)
        part = self._present[:, places]
        joint = np.asarray((part.T @ part).todense())
        own = np.diagonal(joint)
        value = npmi(joint, own, own, self._present.shape[0])
        pairs = value[np.triu_indices(len(places), 1)]
        known = pairs[np.isfinite(pairs)]
        return (float(known.mean()) if known.size else None), len(places)


def npmi(joint: Any, first: Any, second: Any, total: int) -> Any:
    """NPMI (a, b) of words that stand in `first` (a,) and `second` (b,) of `total` documents.

    With p, q and r the shares of documents that have the one, the other and both (`joint`, (a, b)):

        NPMI = log(r / (p q)) / -log(r),     -1 where they never meet, NaN where one is nowhere
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.log(joint * total / np.outer(first, second)) / -np.log(joint / total)
    value = np.where(joint >= total, 1.0, value)
    return np.where(joint > 0, value, np.where(np.outer(first, second) > 0, -1.0, np.nan))
