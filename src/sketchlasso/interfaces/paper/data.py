"""Data sets by name: those of the data folder, and bundled or generated ones for the quick form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import KFold

import sketchlasso as sl

__all__ = ["SEED", "SETS", "Split", "counts_of", "folds", "load", "made_counts"]

SEED = 0


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test rows; y is +1/-1, sparse X is CSR."""

    name: str
    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray

    def first(self, rows: int) -> Split:
        """At most so many rows of each part."""
        parts = self.X[:rows], self.y[:rows], self.X_test[:rows], self.y_test[:rows]
        return Split(self.name, *parts)


def load(name: str, rows: int | None = None) -> Split:
    """Return a data set, its rows in a fixed random order; `rows` cuts it short.

    Raises
    ------
    StoredFileError
        It is not in the folder that SKETCHLASSO_DATA names.
    """
    split = LOADERS[name]()
    return split if rows is None else split.first(rows)


def folds(n_samples: int, number: int = 5) -> list[tuple[np.ndarray, np.ndarray]]:
    """The same (train, test) folds for every contender."""
    return list(KFold(number, shuffle=True, random_state=SEED).split(np.zeros(n_samples)))


def counts_of(name: str, rows: int | None = None) -> Any:
    """Return the matrix of a text set as it is published, or a generated one."""
    X: Any = made_counts()[0] if name == "made_text" else _fetched(name).X
    matrix = sparse.csr_array(X, dtype=np.float64)
    if rows is not None and rows < matrix.shape[0]:
        chosen = np.random.default_rng(SEED).choice(matrix.shape[0], rows, replace=False)
        matrix = matrix[np.sort(chosen)]
    return matrix


def made_counts(documents: int = 600, words: int = 900, topics: int = 8) -> tuple[Any, np.ndarray]:
    """Word counts (documents, words) of documents that mix topics, and the share of the first."""
    rng = np.random.default_rng(SEED)
    frequency = 1.0 / np.arange(1.0, words + 1.0)
    own = rng.dirichlet(20.0 * frequency / frequency.sum(), size=topics)
    mixture = rng.dirichlet(np.full(topics, 0.4), size=documents)
    counts = rng.poisson(120.0 * mixture @ own)
    return sparse.csr_array(counts.astype(np.float64)), mixture[:, 0]


def _fetched(name: str) -> sl.Table:
    return sl.fetch_dataset(name, download=False)


def _shuffled(name: str, X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray) -> Split:
    rng = np.random.default_rng(SEED)
    train, test = rng.permutation(len(y)), rng.permutation(len(y_test))
    return Split(name, X[train], y[train], X_test[test], y_test[test])


def _held_out(name: str, X: Any, y: np.ndarray, share: float = 0.75) -> Split:
    order = np.random.default_rng(SEED).permutation(len(y))
    train, test = np.split(order, [int(share * len(y))])
    return Split(name, X[train], y[train], X[test], y[test])


def _weighted(name: str, counts: Any, y: np.ndarray) -> Split:
    """Held-out rows of counts as tf-idf, its weights learnt on the training rows."""
    split = _held_out(name, sparse.csr_matrix(counts), y)
    weigh = TfidfTransformer(sublinear_tf=True).fit(split.X)
    X, X_test = (sparse.csr_matrix(weigh.transform(part)) for part in (split.X, split.X_test))
    return Split(name, X, split.y, X_test, split.y_test)


def _rcv1() -> Split:
    table = _fetched("rcv1")
    return _held_out("rcv1", sparse.csr_matrix(table.X, dtype=np.float64), np.asarray(table.y))


def _news20() -> Split:
    table = _fetched("news20")
    label = np.asarray(table.y)
    # In the alphabetical order of the groups these are comp.*.
    return _weighted("news20", table.X, np.where((label >= 2) & (label <= 6), 1.0, -1.0))


def _tmc2007() -> Split:
    table = _fetched("tmc2007_500")
    labels = np.asarray(table.y)
    nearest_half = int(np.argmin(np.abs(labels.mean(axis=0) - 0.5)))
    y = np.where(labels[:, nearest_half] > 0, 1.0, -1.0)
    return _weighted("tmc2007_500", sparse.csr_matrix(table.X, dtype=np.float64), y)


def _imdb() -> Split:
    train, test = _fetched("imdb"), _fetched("imdb_test")
    weigh = TfidfTransformer(sublinear_tf=True).fit(train.X)
    X, X_test = (sparse.csr_matrix(weigh.transform(part.X)) for part in (train, test))
    y, y_test = (np.where(np.asarray(part.y) > 5, 1.0, -1.0) for part in (train, test))
    return _shuffled("imdb", X, y, X_test, y_test)


def _gisette_like() -> Split:
    train, test = _fetched("gisette_like"), _fetched("gisette_like_valid")
    X, X_test = (sparse.csr_matrix(part.X).toarray() / 999.0 for part in (train, test))
    y, y_test = (np.asarray(part.y, dtype=np.float64) for part in (train, test))
    return _shuffled("gisette_like", X, y, X_test, y_test)


def _digits() -> Split:
    images, label = load_digits(return_X_y=True)
    return _held_out("digits", images / 16.0, np.where(label % 2 == 1, 1.0, -1.0))


def _made_text() -> Split:
    counts, share = made_counts()
    return _weighted("made_text", counts, np.where(share > np.median(share), 1.0, -1.0))


LOADERS: dict[str, Callable[[], Split]] = {
    "rcv1": _rcv1,
    "news20": _news20,
    "tmc2007_500": _tmc2007,
    "imdb": _imdb,
    "gisette_like": _gisette_like,
    "digits": _digits,
    "made_text": _made_text,
}
# The sets of the paper that regressions are run on, what stands for each here, and how.
SETS = {
    "Gisette": ("gisette_like", "a re-creation of the same shape from real digits"),
    "20 Newsgroups": (
        "news20",
        "the genuine training set, classes 2 to 6 against the rest, tf-idf",
    ),
    "RCV1.binary": ("rcv1", "genuine vectors and label rule, another sample of the documents"),
    "SIAM 2007": ("tmc2007_500", "the same documents in their public version of few terms"),
    "Real-sim": ("imdb", "a stand-in: film reviews, tf-idf; the original could not be had"),
}
