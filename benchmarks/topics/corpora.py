"""Corpora by name, from the folder of data or from the package."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.catalogue import table_of
from benchmarks.datasets import SEED
from sketchlasso.topics import Corpus, corpus_from_matrix, embedded_corpus
from sketchlasso.types import IntArray

# A corpus of all reviews, not of the training half alone.
TABLES = {"imdb": "imdb_all"}


def corpus(name: str, documents: int | None = None) -> Corpus:
    """A corpus, or a random sample of its documents."""
    if name == "embedded":
        whole = embedded_corpus()
        rows = _sample(whole.shape[0], documents)
        titles = tuple(whole.titles[row] for row in rows)
        return Corpus(whole.counts[rows], whole.words, titles, None, whole.source)
    table = table_of(TABLES.get(name, name))
    held: Any = table.X
    counts: Any = sparse.csr_array(held, dtype=np.float64)
    counts = counts[_sample(counts.shape[0], documents)]
    return corpus_from_matrix(counts, list(table.feature_names or ()), source=name)


def _sample(count: int, wanted: int | None) -> IntArray:
    """Random rows in their order, or all."""
    if wanted is None or wanted >= count:
        return np.arange(count)
    return np.sort(np.random.default_rng(SEED).choice(count, wanted, replace=False))
