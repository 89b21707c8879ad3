"""Corpora by name, from the folder of data or from the installed packages."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.catalogue import table_of
from benchmarks.datasets import SEED
from sketchlasso.topics import Corpus, corpus_from_matrix, embedded_corpus

# A corpus of all reviews, not of the training half alone.
TABLES = {"imdb": "imdb_all"}


def corpus(name: str, documents: int | None = None) -> Corpus:
    """A corpus, or a random sample of its documents."""
    if name == "embedded":
        return embedded_corpus()
    table = table_of(TABLES.get(name, name))
    held: Any = table.X
    counts: Any = sparse.csr_array(held, dtype=np.float64)
    if documents is not None and documents < counts.shape[0]:
        rows = np.random.default_rng(SEED).choice(counts.shape[0], documents, replace=False)
        counts = counts[np.sort(rows)]
    return corpus_from_matrix(counts, list(table.feature_names or ()), source=name)
