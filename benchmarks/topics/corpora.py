"""Corpora by name, and the coherence of words in documents that no model has seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.datasets import SEED, table_of
from sketchlasso.topics import Corpus, corpus_from_matrix, embedded_corpus


def corpus(name: str, documents: int | None = None) -> Corpus:
    """A corpus, or a random sample of its documents."""
    if name == "embedded":
        whole = embedded_corpus()
    else:
        # A corpus of all reviews, not of the training half alone.
        table = table_of("imdb_all" if name == "imdb" else name)
        counts: Any = table.X
        words = list(table.feature_names or ())
        whole = corpus_from_matrix(sparse.csr_array(counts, dtype=float), words, source=name)
    if documents is None or documents >= whole.shape[0]:
        return whole
    rows = np.random.default_rng(SEED).choice(whole.shape[0], documents, replace=False)
    return part(whole, np.sort(rows))


def part(whole: Corpus, rows: np.ndarray) -> Corpus:
    """Some documents of a corpus, all of its words."""
    titles = tuple(whole.titles[row] for row in rows)
    return Corpus(whole.counts[rows], whole.words, titles, None, whole.source)


def halves(whole: Corpus) -> tuple[Corpus, Any]:
    """One half of the documents as a corpus, and the counts of the other."""
    order = np.random.default_rng(SEED).permutation(whole.shape[0])
    first, second = np.array_split(order, 2)
    return part(whole, first), whole.counts[second]


class Judge:
    """Coherence of words in documents with these counts (documents, words)."""

    def __init__(self, counts: Any) -> None:
        self.present = sparse.csc_array((counts > 0).astype(np.float64))
        self.frequency = np.asarray(self.present.sum(axis=0)).ravel()

    def coherence(self, words: Sequence[int]) -> float:
        """Mean NPMI over all pairs of words; NaN where no pair has one.

        With p, q and r the shares of documents that have the one, the other and both:

            NPMI = log(r / (p q)) / -log(r),     -1 where they never meet, NaN where one is nowhere
        """
        places = np.asarray(words, dtype=np.intp)
        columns = self.present[:, places]
        joint = np.asarray((columns.T @ columns).todense())
        product = np.outer(self.frequency[places], self.frequency[places])
        total = self.present.shape[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.log(joint * total / product) / -np.log(joint / total)
        value = np.where(joint >= total, 1.0, value)
        value = np.where(joint > 0, value, np.where(product > 0, -1.0, np.nan))
        pairs = value[np.triu_indices(len(places), 1)]
        known = pairs[np.isfinite(pairs)]
        return float(known.mean()) if known.size else float("nan")
