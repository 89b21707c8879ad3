"""Random splits: what a contender may see, and the rows it is judged on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit

from benchmarks.accuracy.tasks import Kind, Task

N_FOLDS = 5
Fold = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Grid:
    """How many penalties, and the smallest over the largest of them.

    Sketched models may have a ratio of their own: their largest penalty is that of another
    problem, and the best one lies deeper below it.
    """

    count: int = 30
    ratio: float = 1e-2
    sketch_ratio: float = 1e-2


@dataclass(frozen=True, eq=False)
class Training:
    """All that a contender sees: training rows, folds of them, and what will be scored.

    Attributes
    ----------
    X : csr_matrix or ndarray of shape (m, n)
    Y : ndarray of shape (m, t)
    folds : list of (train, test)
        Row numbers of the inner cross-validation, the same for every contender.
    kind : {"f1", "multi", "multiclass", "r2"}
    seed : int
    grid : Grid
    """

    X: Any
    Y: np.ndarray
    folds: list[Fold]
    kind: Kind
    seed: int
    grid: Grid = Grid()

    @property
    def metric(self) -> str:
        """Of one response: what its penalty is chosen by."""
        return "r2" if self.kind == "r2" else "f1"


@dataclass(frozen=True, eq=False)
class Part:
    """One training set and the rows held out from it."""

    training: Training
    X_test: Any
    Y_test: np.ndarray


def parts_of(task: Task, split: int, grid: Grid) -> Iterator[Part]:
    """One held-out part, or five of a repeated cross-validation; `split` is the seed."""
    for train, test in _outer(task, split):
        X, X_test = task.prepare(task.X[train], task.X[test])
        Y = task.Y[train]
        training = Training(X, Y, _folds(task.kind, Y, split), task.kind, split, grid)
        yield Part(training, X_test, task.Y[test])


def strata(kind: Kind, Y: np.ndarray) -> np.ndarray | None:
    """Class of every row, where there is one to keep in proportion."""
    if kind == "f1":
        return np.asarray(Y[:, 0])
    return np.argmax(Y, axis=1) if kind == "multiclass" else None


def _outer(task: Task, split: int) -> list[Fold]:
    if task.repeated:
        return _folds(task.kind, task.Y, split)
    groups = strata(task.kind, task.Y)
    splitter = ShuffleSplit if groups is None else StratifiedShuffleSplit
    held_out = round(task.test_share * len(task.Y))
    chosen = splitter(1, test_size=held_out, random_state=split)
    return list(chosen.split(np.zeros(len(task.Y)), groups))


def _folds(kind: Kind, Y: np.ndarray, seed: int) -> list[Fold]:
    groups = strata(kind, Y)
    splitter = KFold if groups is None else StratifiedKFold
    return list(splitter(N_FOLDS, shuffle=True, random_state=seed).split(np.zeros(len(Y)), groups))
