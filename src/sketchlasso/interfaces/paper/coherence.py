"""Coherence of words: how often they meet in documents that no model has seen.

For two words with document frequencies p, q and joint frequency r in the documents held out,

    NPMI = log(r / (p q)) / -log(r),     -1 where they never meet,

and the coherence of a list of words is the mean over its pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

import sketchlasso as sl
from sketchlasso.interfaces.paper.data import SEED

__all__ = ["Judge", "halves"]


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
        joint = np.asarray((part.T @ part).todense()) / self._present.shape[0]
        own = np.diagonal(joint)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.log(joint / np.outer(own, own)) / -np.log(joint)
        value = np.where(joint >= 1.0, 1.0, value)
        value = np.where(joint > 0, value, np.where(np.outer(own, own) > 0, -1.0, np.nan))
        pairs = value[np.triu_indices(len(places), 1)]
        known = pairs[np.isfinite(pairs)]
        return (float(known.mean()) if known.size else None), len(places)
