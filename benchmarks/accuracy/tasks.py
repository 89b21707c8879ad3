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

from benchmarks.datasets import MissingDataError, data_file, sparse_file, weighted_counts

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


def rcv1(name: str) -> Task:
    X, labels = sparse_file("rcv1", "rcv1_X.npz"), np.load(data_file("rcv1", "rcv1_labels.npz"))
    keep = np.flatnonzero(labels["y_binary"])
    return Task(name, "f1", X[keep], signs(labels["y_binary"][keep] > 0), unchanged, text=True)


def stacked(folder: str, pattern: str, parts: tuple[str, str]) -> tuple[Any, float]:
    """Training and test part in one matrix, and the share of the test part."""
    first, second = (sparse_file(folder, pattern.format(part)) for part in parts)
    both = sparse.csr_matrix(sparse.vstack([first, second]))
    return both, second.shape[0] / both.shape[0]


def labels_of(folder: str, file: str, parts: tuple[str, str]) -> np.ndarray:
    stored = np.load(data_file(folder, file))
    return np.concatenate([stored[part] for part in parts])


def gisette_like(name: str) -> Task:
    X, share = stacked("gisette", "gisette_like_{}_X.npz", ("train", "valid"))
    y = labels_of("gisette", "gisette_like_labels.npz", ("y_train", "y_valid"))
    return Task(name, "f1", X, signs(y > 0), partial(dense_over, 999.0), share)


def imdb(name: str) -> Task:
    X, share = stacked("imdb", "{}_counts.npz", ("train", "test"))
    y = labels_of("imdb", "ratings.npz", ("y_train", "y_test"))
    return Task(name, "f1", X, signs(y > 0), weighted_counts, share, text=True)


def newsgroups(name: str, computers: bool) -> Task:
    """20 Newsgroups: comp.* against the rest, or all twenty groups."""
    folder = "20news_bydate"
    X, share = stacked(folder, "{}_counts.npz", ("train", "test"))
    y = labels_of(folder, "labels.npz", ("y_train", "y_test"))
    if not computers:
        return Task(name, "multiclass", X, classes(y), weighted_counts, share, text=True)
    groups = data_file(folder, "group_names.txt").read_text(encoding="utf-8").split()
    chosen = [number for number, group in enumerate(groups) if group.startswith("comp.")]
    return Task(name, "f1", X, signs(np.isin(y, chosen)), weighted_counts, share, text=True)


def news20(name: str) -> Task:
    X = sparse_file("news20", "news20_train_counts.npz")
    y = np.load(data_file("news20", "news20_train_labels.npz"))["y"]
    return Task(name, "multiclass", X, classes(y), weighted_counts, text=True)


def multi_label(name: str, folder: str, X_file: str, Y_file: str) -> Task:
    """Every label with at least 200 positives."""
    Y = np.load(data_file(folder, Y_file))["Y"] > 0
    frequent = Y[:, Y.sum(axis=0) >= MIN_POSITIVES]
    return Task(
        name, "multi", sparse_file(folder, X_file), signs(frequent), weighted_counts, text=True
    )


def mnist_4v9(name: str) -> Task:
    stored = np.load(data_file("mnist", "mnist.npz"))
    y = np.concatenate([stored["y_train"], stored["y_test"]])
    keep = (y == 4) | (y == 9)
    X = np.concatenate([stored["X_train"], stored["X_test"]])[keep]
    share = np.isin(stored["y_test"], (4, 9)).sum() / keep.sum()
    return Task(name, "f1", X, signs(y[keep] == 4), partial(dense_over, 255.0), float(share))


def microarray(name: str) -> Task:
    """Two classes; the rarer one is positive."""
    stored = np.load(data_file("microarray", f"{name}.npz"))
    values, counts = np.unique(stored["y"], return_counts=True)
    y = signs(stored["y"] == values[np.argmin(counts)])
    return Task(name, "f1", stored["X"].astype(np.float64), y, standardised, repeated=True)


def riboflavin(name: str) -> Task:
    stored = np.load(data_file("microarray", "riboflavin.npz"))
    y = stored["y"].astype(np.float64)[:, None]
    return Task(name, "r2", stored["X"].astype(np.float64), y, standardised, repeated=True)


def blogfeedback(name: str) -> Task:
    stored = np.load(data_file("regression", "blogfeedback.npz"))
    y = np.log1p(stored["y"].astype(np.float64))[:, None]
    return Task(name, "r2", stored["X"].astype(np.float64), y, log_standardised)


TASKS: dict[str, Callable[[str], Task]] = {
    "rcv1": rcv1,
    "gisette_like": gisette_like,
    "imdb": imdb,
    "20news_comp": partial(newsgroups, computers=True),
    "20news_20": partial(newsgroups, computers=False),
    "news20": news20,
    "tmc2007_500": partial(
        multi_label,
        folder="tmc2007_500",
        X_file="tmc2007_500_X.npz",
        Y_file="tmc2007_500_labels.npz",
    ),
    "yahoo_education": partial(
        multi_label,
        folder="multilabel_text",
        X_file="yahoo_education_X.npz",
        Y_file="yahoo_education_Y.npz",
    ),
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
