"""Which rows an instance trains on and is tested on, and sets of problems over such rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import check_cv

from sketchlasso.data.validate import check_weights
from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.problem.batch import Batch
from sketchlasso.types import FloatArray, IntArray

NO_ROWS = np.empty(0, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class RowSet:
    """One choice of rows."""

    removed: IntArray  # rows that do not train, sorted
    test: IntArray  # rows to test on; empty when there are none
    # Weights (m,) of all rows, zero on the removed ones; None means one on the others.
    weights: FloatArray | None = None

    def train(self, n_samples: int) -> IntArray:
        """The rows that train, sorted."""
        keep = np.ones(n_samples, dtype=bool)
        keep[self.removed] = False
        return np.flatnonzero(keep)

    def training(self, n_samples: int) -> tuple[IntArray, FloatArray | None]:
        """The rows that train, sorted, and their weights; None for weights of one."""
        if self.weights is None:
            return self.train(n_samples), None
        used = np.flatnonzero(self.weights)
        return used, self.weights[used]

    def all_weights(self, n_samples: int) -> FloatArray:
        """Weights (m,) of all rows, zero on the removed ones."""
        weights = np.ones(n_samples) if self.weights is None else self.weights.copy()
        weights[self.removed] = 0.0
        return weights


@dataclass(frozen=True, eq=False)
class RowSets:
    """Several choices of rows of one data set of `n_samples` rows."""

    n_samples: int
    sets: tuple[RowSet, ...]

    def __len__(self) -> int:
        return len(self.sets)

    def __iter__(self) -> Iterator[RowSet]:
        return iter(self.sets)

    def __getitem__(self, index: int) -> RowSet:
        return self.sets[index]

    def weighted(self, weights: FloatArray) -> RowSets:
        """The same choices with weights times `weights` (m,), without rows of weight zero."""
        sets = []
        for row_set in self.sets:
            own = row_set.all_weights(self.n_samples) * weights
            if not (own > 0).any():
                raise InvalidInputError(
                    "sample_weight is zero on every training row of a fold; give weight to some"
                )
            sets.append(RowSet(np.flatnonzero(own == 0), row_set.test, own))
        return RowSets(self.n_samples, tuple(sets))


def weights_of(chosen: list[tuple[IntArray, FloatArray | None]], m: int) -> Any:
    """Weights of rows in every set, csr_array (m, sets)."""
    indptr = np.concatenate([[0], np.cumsum([len(numbers) for numbers, _ in chosen])])
    data = [np.ones(len(own)) if weights is None else weights for own, weights in chosen]
    numbers = np.concatenate([own for own, _ in chosen])
    return sparse.csc_array((np.concatenate(data), numbers, indptr), (m, len(chosen))).tocsr()


def all_rows(n_samples: int) -> RowSets:
    """Every row trains, none is held out."""
    return RowSets(n_samples, (RowSet(NO_ROWS, NO_ROWS),))


def weighted_rows(weights: Any) -> RowSets:
    """Every row trains with its weight.

    Parameters
    ----------
    weights : array-like of shape (m,) or (sets, m)
        Non-negative; one row of weights per row set.
    """
    table = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    checked = [check_weights(row, table.shape[-1], "weights") for row in table]
    sets = [RowSet(np.flatnonzero(row == 0), NO_ROWS, row) for row in checked]
    return RowSets(table.shape[-1], tuple(sets))


def shuffled_folds(count: Any, target: Any, stratified: bool, random_state: Any) -> Any:
    """Return a KFold or StratifiedKFold that shuffles: neighbouring rows of a file are often alike.

    Stratified folds keep the shares of the classes in `target` (m,). Without a `random_state` the
    folds are the same every time.
    """
    if isinstance(count, bool) or count < 2:
        raise unaccepted("cv", count, "a splitter, a number of folds >= 2 or pairs of rows")
    kind: Any = type(check_cv(count, target, classifier=stratified))
    return kind(count, shuffle=True, random_state=0 if random_state is None else random_state)


def splitter_rows(cv: Any, X: Any, y: Any = None, groups: Any = None) -> RowSets:
    """Row sets of a scikit-learn splitter.

    Parameters
    ----------
    cv : splitter, int or iterable of (train, test)
        As scikit-learn takes it; an int is the number of folds.
    X : data or int
        The data, or just their number of rows.
    y, groups : array-like of shape (m,), optional
        For splitters that stratify or keep groups together.
    """
    n_samples = X if isinstance(X, int) else X.shape[0]
    dummy = np.zeros((n_samples, 1))
    given = isinstance(cv, Iterable) and not hasattr(cv, "split")
    try:
        splitter = None if given else check_cv(cv)
    except (TypeError, ValueError):
        raise unaccepted("cv", cv, "a splitter, a number of folds >= 2 or pairs of rows") from None
    try:
        splits = iter(cv) if splitter is None else splitter.split(dummy, y, groups)
        pairs = [(np.asarray(train), np.asarray(test)) for train, test in splits]
    except ValueError as error:
        raise InvalidInputError(f"the splitter refused these data: {error}") from None
    sets = [_row_set(number, *pair, n_samples) for number, pair in enumerate(pairs)]
    if not sets:
        raise InvalidInputError("the splitter yields no fold; give one with at least one split")
    return RowSets(n_samples, tuple(sets))


def _row_set(fold: int, train: Any, test: Any, n_samples: int) -> RowSet:
    train, test = (_indices(f"fold {fold}", rows, n_samples) for rows in (train, test))
    if len(train) == 0:
        raise InvalidInputError(
            f"fold {fold} leaves no training row; use fewer folds or a different splitter"
        )
    counts = np.bincount(train, minlength=n_samples)
    removed = np.flatnonzero(counts == 0)
    repeated = counts.max(initial=0) > 1
    return RowSet(removed, np.sort(test), counts.astype(np.float64) if repeated else None)


def _indices(source: str, rows: Any, n_samples: int) -> IntArray:
    """Numbers of rows, from numbers or a mask, checked; `source` is where they come from."""
    number = rows.ndim == 1 and (rows.size == 0 or rows.dtype.kind in "biuf")
    if not number or (rows.size > 0 and (rows != np.floor(rows)).any()):
        raise InvalidInputError(f"{source} must hold numbers of rows in one dimension, or a mask.")
    rows = np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.intp)
    if len(rows) and (rows.min() < 0 or rows.max() >= n_samples):
        raise InvalidInputError(
            f"{source} names row {rows.max() if rows.max() >= n_samples else rows.min()}, but the "
            f"data have rows 0 to {n_samples - 1}; name only these."
        )
    return np.asarray(rows, dtype=np.intp)


def leave_one_out_rows(n_samples: int, rows: IntArray | None = None) -> RowSets:
    """Each row held out in turn.

    Parameters
    ----------
    n_samples : int
    rows : array of indices, optional
        Hold out these rows only.
    """
    if n_samples < 2:
        raise InvalidInputError(f"leave-one-out needs at least 2 rows; got {n_samples}")
    chosen = np.arange(n_samples) if rows is None else _indices("rows", np.asarray(rows), n_samples)
    if len(chosen) == 0:
        raise InvalidInputError("rows is empty; give at least one row to leave out.")
    return RowSets(n_samples, tuple(RowSet(chosen[[i]], chosen[[i]]) for i in range(len(chosen))))


def bootstrap_rows(n_samples: int, n_sets: int, random_state: int | None = None) -> RowSets:
    """Samples of m rows with replacement, tested on the rows not drawn.

    Parameters
    ----------
    n_samples, n_sets : int
    random_state : int, optional
    """
    if n_sets < 1:
        raise InvalidInputError(f"n_sets={n_sets!r} must be at least 1")
    rng = np.random.default_rng(random_state)
    sets = []
    for _ in range(n_sets):
        counts = np.bincount(rng.integers(0, n_samples, n_samples), minlength=n_samples)
        out = np.flatnonzero(counts == 0)
        sets.append(RowSet(out, out, counts.astype(np.float64)))
    return RowSets(n_samples, tuple(sets))


def complementary_pairs(n_samples: int, n_pairs: int, random_state: int | None = None) -> RowSets:
    """Random splits in half, both halves a row set: the subsamples of stability selection.

    Parameters
    ----------
    n_samples, n_pairs : int
    random_state : int, optional
    """
    if n_samples < 2 or n_pairs < 1:
        raise InvalidInputError(
            f"{n_pairs} pairs of {n_samples} rows were requested; pass n_pairs >= 1 and 2 rows"
        )
    rng = np.random.default_rng(random_state)
    sets = []
    for _ in range(n_pairs):
        order = rng.permutation(n_samples)
        half = n_samples // 2
        for train in (slice(0, half), slice(half, 2 * half)):
            removed = np.sort(np.delete(order, train))
            sets.append(RowSet(removed, removed))
    return RowSets(n_samples, tuple(sets))


@dataclass(frozen=True, eq=False)
class ProblemSet:
    """B problems: row sets x responses x radii x alphas, alphas fastest and decreasing.

    Attributes
    ----------
    batch : Batch
    rows : RowSets
    shape : tuple of int
        (row sets, responses, radii, alphas); B is their product.
    row_set, response, radius_index, alpha_index : ndarray of shape (B,)
        Coordinates of every instance in the product.
    y_mean : ndarray of shape (B,)
        Weighted mean of the response over the training rows; zero without an intercept.
    fit_intercept : bool
    left_out : ndarray of shape (B,)
        Feature that serves as the response and is excluded, or -1.
    """

    batch: Batch
    rows: RowSets
    shape: tuple[int, int, int, int]
    y_mean: FloatArray
    fit_intercept: bool
    left_out: IntArray
    row_set: IntArray = field(init=False)
    response: IntArray = field(init=False)
    radius_index: IntArray = field(init=False)
    alpha_index: IntArray = field(init=False)

    def __post_init__(self) -> None:
        names = ("row_set", "response", "radius_index", "alpha_index")
        for name, axis in zip(names, np.indices(self.shape, dtype=np.intp), strict=True):
            object.__setattr__(self, name, axis.ravel())

    @property
    def chain(self) -> IntArray:
        """Number (B,) shared by the instances that differ in alpha only."""
        return np.arange(self.batch.n_instances) // self.shape[3]

    def fold_out(self, values: Any) -> Any:
        """Per-instance values (B, ...) as an array (row sets, responses, radii, alphas, ...)."""
        array = np.asarray(values)
        return array.reshape(self.shape + array.shape[1:])
