"""Data sets by name: those of the data folder, and bundled or generated ones for the quick form."""

from __future__ import annotations

from typing import Any

import numpy as np
from benchmarks.datasets import (
    LOADERS,
    SEED,
    Split,
    arrays_of,
    folds,
    held_out,
    signs,
    table_of,
    weighted_counts,
)
from scipy import sparse

__all__ = ["SEED", "SETS", "Split", "counts_of", "folds", "load"]

# The sets of the paper that regressions are run on, what stands for each here, and how.
SETS = {
    "Gisette": ("gisette_like", "a re-creation of the same shape from real digits"),
    "20 Newsgroups": ("news20", "the genuine training set, classes 2 to 6 against the rest"),
    "RCV1.binary": ("rcv1", "genuine vectors and label rule, another sample of the documents"),
    "SIAM 2007": ("tmc2007_500", "the same documents in their public version of few terms"),
    "Real-sim": ("imdb", "a stand-in: film reviews; the original was not available"),
}


def load(name: str, rows: int | None = None) -> Split:
    """Return a data set, its rows in a fixed random order; `rows` cuts it short."""
    makers = {**LOADERS, "news20": _news20, "tmc2007_500": _tmc2007, "made_text": _made_text}
    split = makers[name]()
    return split if rows is None else split.first(rows, rows)


def counts_of(name: str, rows: int | None = None) -> Any:
    """Return the matrix of a text set as it is published, or a generated one."""
    X: Any = made_counts()[0] if name == "made_text" else table_of(name).X
    matrix = sparse.csr_array(X, dtype=np.float64)
    if rows is not None and rows < matrix.shape[0]:
        drawn = np.random.default_rng(SEED).choice(matrix.shape[0], rows, replace=False)
        matrix = matrix[np.sort(drawn)]
    return matrix


def made_counts(documents: int = 600, words: int = 900, topics: int = 8) -> tuple[Any, np.ndarray]:
    """Word counts (documents, words) of documents that mix topics, and the share of the first."""
    rng = np.random.default_rng(SEED)
    frequency = 1.0 / np.arange(1.0, words + 1.0)
    profiles = rng.dirichlet(20.0 * frequency / frequency.sum(), size=topics)
    mixture = rng.dirichlet(np.full(topics, 0.4), size=documents)
    counts = rng.poisson(120.0 * mixture @ profiles)
    return sparse.csr_array(counts.astype(np.float64)), mixture[:, 0]


def _weighted(name: str, counts: Any, y: np.ndarray) -> Split:
    """Held-out rows of counts as tf-idf, its weights learnt on the training rows."""
    split = held_out(name, sparse.csr_matrix(counts), y)
    X, X_test = weighted_counts(split.X, split.X_test)
    return Split(name, X, split.y, X_test, split.y_test)


def _news20() -> Split:
    counts, group = arrays_of("news20")
    # In the alphabetical order of the groups these are comp.*.
    return _weighted("news20", counts, signs((group >= 2) & (group <= 6)))


def _tmc2007() -> Split:
    counts, labels = arrays_of("tmc2007_500")
    nearest_half = int(np.argmin(np.abs(labels.mean(axis=0) - 0.5)))
    return _weighted("tmc2007_500", counts, signs(labels[:, nearest_half] > 0))


def _made_text() -> Split:
    counts, share = made_counts()
    return _weighted("made_text", counts, signs(share > np.median(share)))
