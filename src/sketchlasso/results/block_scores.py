"""Held-out scores and predictions of data in blocks, without a number for every row and model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sketchlasso.data import BlockMatrix, spread
from sketchlasso.data.block_work import dense_product
from sketchlasso.data.storage import CHUNK
from sketchlasso.instances import RowSets
from sketchlasso.results.models import LinearModels, held_out_predictions
from sketchlasso.results.scores import Metric, score_of_sums, score_sums
from sketchlasso.types import FloatArray, IntArray

__all__ = ["OutOfFold", "block_scores"]


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """Out-of-fold predictions that are made when they are asked for.

    ``predictions[:, response, radius, alpha]`` costs one pass over the data; any other question
    is answered from all of them, as ``numpy.asarray`` makes them.

    Attributes
    ----------
    rows : RowSets
    grid : tuple of int
        (folds, responses, radii, alphas).
    models : LinearModels
    X : BlockMatrix of shape (m, n)
    """

    rows: RowSets
    grid: tuple[int, int, int, int]
    models: LinearModels
    X: BlockMatrix

    ndim = 4

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Samples, responses, radii and alphas."""
        return (self.X.shape[0], *self.grid[1:])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Doubles."""
        return np.dtype(np.float64)

    def __repr__(self) -> str:
        return f"OutOfFold({' x '.join(map(str, self.shape))})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        found = self._of(np.arange(int(np.prod(self.grid[1:])))).reshape(self.shape)
        return found if dtype is None else found.astype(dtype, copy=False)

    def __getitem__(self, key: Any) -> Any:
        """Return predictions (m,) of one point of the grid, or whatever NumPy makes of the key."""
        if (
            isinstance(key, tuple)
            and len(key) == 4
            and _is_all(key[0])
            and all(isinstance(k, int | np.integer) for k in key[1:])
        ):
            point = np.ravel_multi_index(
                tuple(int(k) % size for k, size in zip(key[1:], self.grid[1:], strict=True)),
                self.grid[1:],
            )
            return self._of(np.array([point]))[:, 0]
        return np.asarray(self)[key]

    def _of(self, points: IntArray) -> FloatArray:
        """Predictions (m, points), averaged over the folds that held a row out."""
        size = int(np.prod(self.grid[1:]))
        chosen = np.concatenate([fold * size + points for fold in range(self.grid[0])])
        models = LinearModels(self.models.coef[chosen], self.models.intercept[chosen])
        return _averaged(self.X, self.rows, models, len(points))


@spread
def _averaged(X: BlockMatrix, rows: RowSets, models: LinearModels, count: int) -> FloatArray:
    """Held-out predictions (m, count) of as many models a fold; NaN for rows never held out."""
    total, times = np.zeros((X.shape[0], count)), np.zeros(X.shape[0])
    shape = (len(rows), 1, 1, count)
    for test, predicted in held_out_predictions(rows, shape, models, X):
        np.add.at(total, test, predicted[:, 0, 0])
        np.add.at(times, test, 1.0)
    times[times == 0] = np.nan
    return total / times[:, None]


def _is_all(key: Any) -> bool:
    return isinstance(key, slice) and key == slice(None)


def block_scores(
    out_of_fold: OutOfFold,
    Y: FloatArray,
    weights: FloatArray | None,
    metrics: tuple[Metric, ...],
) -> dict[Metric, FloatArray]:
    """Scores (folds, responses, radii, alphas) of metrics that are sums: one pass.

    Parameters
    ----------
    out_of_fold : OutOfFold
    Y : ndarray of shape (m, t)
    weights : ndarray of shape (m,) or None
    metrics : tuple of str
    """
    X, grid, models = out_of_fold.X, out_of_fold.grid, out_of_fold.models
    share = np.ones(len(Y)) if weights is None else weights
    tests = [np.sort(row_set.test) for row_set in out_of_fold.rows]
    local = [X.split_rows(test) for test in tests]
    ends = [np.cumsum([len(part) for part in parts])[:-1] for parts in local]
    targets = [np.split(Y[test], end) for test, end in zip(tests, ends, strict=True)]
    shares = [np.split(share[test], end) for test, end in zip(tests, ends, strict=True)]
    each = [
        tuple(tuple(own[i] for own in parts) for parts in (local, targets, shares))
        for i in range(X.n_blocks)
    ]
    folds = np.split(np.arange(len(models.intercept)), grid[0])
    factors = tuple(sparse.csc_array(models.coef[fold].T) for fold in folds)
    intercepts = tuple(models.intercept[fold] for fold in folds)
    sums = X.run_sum(_sums_of_block, (factors, intercepts, metrics, grid[1]), each)
    scores = {metric: np.full(grid, np.nan) for metric in metrics}
    for fold, test in enumerate(tests):
        if not (share[test] > 0).any():
            continue
        for place, metric in enumerate(metrics):
            for response in range(grid[1]):
                values = score_of_sums(
                    metric, sums[fold][place][response], Y[test, response], share[test]
                )
                scores[metric][fold, response] = values.reshape(grid[2:])
    return scores


def _sums_of_block(
    entries: Any,
    factors: tuple[Any, ...],
    intercepts: tuple[FloatArray, ...],
    metrics: tuple[Metric, ...],
    responses: int,
    rows: tuple[IntArray, ...],
    targets: tuple[FloatArray, ...],
    shares: tuple[FloatArray, ...],
) -> tuple[tuple[FloatArray, ...], ...]:
    """For every fold and metric, sums (responses, s, points) over the block's held-out rows."""
    return tuple(
        _sums_of_fold(entries, *fold, metrics, responses)
        for fold in zip(factors, intercepts, rows, targets, shares, strict=True)
    )


def _sums_of_fold(
    entries: Any,
    factor: Any,
    intercept: FloatArray,
    rows: IntArray,
    Y: FloatArray,
    share: FloatArray,
    metrics: tuple[Metric, ...],
    responses: int,
) -> tuple[FloatArray, ...]:
    nothing = np.zeros((0, len(intercept) // responses))
    none = np.zeros(0)
    sums = [np.stack([score_sums(metric, none, nothing, none)] * responses) for metric in metrics]
    if len(rows) and not sparse.issparse(entries):
        factor = factor.toarray()
    # Predictions are longer than the rows themselves: some rows at a time.
    step = max(1, CHUNK // len(intercept))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        predicted = dense_product(entries[rows[part]], factor) + intercept
        for response, own in enumerate(np.split(predicted, responses, axis=1)):
            for place, metric in enumerate(metrics):
                sums[place][response] += score_sums(metric, Y[part, response], own, share[part])
    return tuple(sums)
