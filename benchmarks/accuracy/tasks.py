"""The data sets of the accuracy benchmark, as they lie on disk, with how each is prepared.

Preparation learns from training rows only: tf-idf weights, means and scales. Targets are +1/-1
for every label or class, or a number for regression.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import sparse

from benchmarks.catalogue import MissingDataError, arrays_of
from benchmarks.datasets import is_comp, weighted_counts

Kind: TypeAlias = Literal["f1", "multi", "multiclass", "r2"]
Prepare: TypeAlias = Callable[[Any, Any], tuple[Any, Any]]

QUARTER = 0.25
MIN_POSITIVES = 200
# A non-negative column that reaches further than this is read on a log scale (blogfeedback).
HEAVY_TAIL = 20.0


@dataclass(frozen=True, eq=False)
class Task:
    """All rows of a data set and what is asked of them.

    Attributes
    ----------
    name : str
    kind : {"f1", "multi", "multiclass", "r2"}
        One binary target; several on one X; classes one against the rest; a number.
    X : csr_matrix or ndarray of shape (m, n)
        As stored; sparse also where `prepare` makes it dense.
    Y : ndarray of shape (m, t)
        +1/-1 for each label or class, or the one response.
    prepare : callable
        (training rows, test rows) -> both as a model sees them.
    test_share : float
        Share of the rows that a split holds out.
    repeated : bool
        Small set: a split is one repetition of an outer 5-fold cross-validation.
    text : bool
        Whether to draw the figure of score against non-zeros.
    """

    name: str
    kind: Kind
    X: Any
    Y: np.ndarray
    prepare: Prepare
    test_share: float = QUARTER
    repeated: bool = False
    text: bool = False

    def sample(self, rows: int, labels: int) -> Task:
        """A few random rows, and the most frequent labels of a multi-label set."""
        kept = np.sort(np.random.default_rng(0).permutation(len(self.Y))[:rows])
        Y = self.Y[kept]
        if self.kind == "multi":
            Y = Y[:, np.sort(np.argsort(-Y.sum(axis=0), kind="stable")[:labels])]
        return replace(self, X=self.X[kept], Y=Y)


def unchanged(X: Any, X_test: Any) -> tuple[Any, Any]:
    return X, X_test


def dense_over(divisor: float, X: Any, X_test: Any) -> tuple[np.ndarray, np.ndarray]:
    """Dense doubles, divided by their largest possible value."""
    first, second = (
        np.asarray(part.toarray() if sparse.issparse(part) else part, dtype=np.float64) / divisor
        for part in (X, X_test)
    )
    return first, second


def standardised(X: np.ndarray, X_test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and scales of the training rows; a column constant there becomes zero."""
    means, scales = X.mean(axis=0), X.std(axis=0)
    constant = scales <= 1e-12 * np.maximum(np.abs(means), 1.0)
    weights = np.where(constant, 0.0, 1.0 / np.where(constant, 1.0, scales))
    return (X - means) * weights, (X_test - means) * weights


def log_standardised(X: np.ndarray, X_test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Heavy-tailed non-negative columns on a log scale first."""
    heavy = (X.min(axis=0) >= 0) & (X.max(axis=0) > HEAVY_TAIL)
    logged = (np.where(heavy, np.log1p(np.maximum(part, 0.0)), part) for part in (X, X_test))
    return standardised(*logged)


def signs(positive: np.ndarray) -> np.ndarray:
    """Booleans (m,) or (m, t) as +1/-1 of shape (m, t)."""
    values = np.where(positive, 1.0, -1.0)
    return values[:, None] if values.ndim == 1 else values


def classes(label: np.ndarray) -> np.ndarray:
    """One column of +1/-1 for every class (m, classes)."""
    return signs(label[:, None] == np.unique(label))


def rows_of(*names: str) -> tuple[Any, np.ndarray, np.ndarray]:
    """Rows and targets of data sets, one below the other, and which rows come after the first."""
    parts, targets = zip(*map(arrays_of, names), strict=True)
    whole: Any = parts[0]
    if len(parts) > 1:
        whole = sparse.vstack(parts, "csr") if sparse.issparse(whole) else np.concatenate(parts)
    y = np.concatenate(targets)
    return whole, y, np.arange(len(y)) >= len(targets[0])


def rcv1(name: str) -> Task:
    X, y, _ = rows_of("rcv1")
    return Task(name, "f1", X, signs(y > 0), unchanged, text=True)


def gisette_like(name: str) -> Task:
    X, y, later = rows_of("gisette_like", "gisette_like_valid")
    return Task(name, "f1", X, signs(y > 0), partial(dense_over, 999.0), float(later.mean()))


def imdb(name: str) -> Task:
    X, rating, later = rows_of("imdb", "imdb_test")
    share = float(later.mean())
    return Task(name, "f1", X, signs(rating > 5), weighted_counts, share, text=True)


def newsgroups(name: str, computers: bool) -> Task:
    """20 Newsgroups: comp.* against the rest, or all twenty groups."""
    X, y, later = rows_of("20news_bydate", "20news_bydate_test")
    share = float(later.mean())
    if not computers:
        return Task(name, "multiclass", X, classes(y), weighted_counts, share, text=True)
    return Task(name, "f1", X, signs(is_comp(y)), weighted_counts, share, text=True)


def news20(name: str) -> Task:
    X, y, _ = rows_of(name)
    return Task(name, "multiclass", X, classes(y), weighted_counts, text=True)


def multi_label(name: str) -> Task:
    """Every label with at least 200 positives."""
    X, y, _ = rows_of(name)
    positive = y > 0
    frequent = positive[:, positive.sum(axis=0) >= MIN_POSITIVES]
    return Task(name, "multi", X, signs(frequent), weighted_counts, text=True)


def mnist_4v9(name: str) -> Task:
    X, y, later = rows_of("mnist", "mnist_test")
    keep = (y == 4) | (y == 9)
    share = float(later[keep].mean())
    return Task(name, "f1", X[keep], signs(y[keep] == 4), partial(dense_over, 255.0), share)


def microarray(name: str) -> Task:
    """Two classes; the rarer one is positive."""
    X, y, _ = rows_of(name)
    values, counts = np.unique(y, return_counts=True)
    rarer = signs(y == values[np.argmin(counts)])
    return Task(name, "f1", X, rarer, standardised, repeated=True)


def riboflavin(name: str) -> Task:
    X, y, _ = rows_of(name)
    response = y.astype(np.float64)[:, None]
    return Task(name, "r2", X, response, standardised, repeated=True)


def blogfeedback(name: str) -> Task:
    X, y, _ = rows_of(name)
    return Task(name, "r2", X, np.log1p(y.astype(np.float64))[:, None], log_standardised)


TASKS: dict[str, Callable[[str], Task]] = {
    "rcv1": rcv1,
    "gisette_like": gisette_like,
    "imdb": imdb,
    "20news_comp": partial(newsgroups, computers=True),
    "20news_20": partial(newsgroups, computers=False),
    "news20": news20,
    "tmc2007_500": multi_label,
    "yahoo_education": multi_label,
    "mnist_4v9": mnist_4v9,
    "riboflavin": riboflavin,
    "alon": microarray,
    "golub": microarray,
    "gordon": microarray,
    "shipp": microarray,
    "gravier": microarray,
    "blogfeedback": blogfeedback,
}
# Three microarrays beside riboflavin are asked for; the others can be named with --sets.
DEFAULT_SETS = tuple(name for name in TASKS if name not in ("shipp", "gravier"))


def load_task(name: str) -> Task:
    """A task by name, from the SKETCHLASSO_DATA folder."""
    if name not in TASKS:
        raise MissingDataError(f"{name} is not a set here; choose from {', '.join(TASKS)}.")
    return TASKS[name](name)
