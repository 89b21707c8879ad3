"""Solved problems as linear models of the real X, their predictions, and their table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchlasso.data import BlockMatrix, ColumnTransform
from sketchlasso.errors import InvalidInputError
from sketchlasso.instances import ProblemSet, RowSets, weights_of
from sketchlasso.solvers import Solution, Status
from sketchlasso.types import FloatArray, IntArray, SparseRows


@dataclass(frozen=True, eq=False)
class LinearModels:
    """Predictors X v + d, one row per instance, on the original scale of X.

    Attributes
    ----------
    coef : csr_array of shape (B, n)
    intercept : ndarray of shape (B,)
    """

    coef: SparseRows
    intercept: FloatArray

    @property
    def n_nonzero(self) -> IntArray:
        """Non-zero coefficients (B,) of each instance."""
        return np.diff(self.coef.indptr).astype(np.intp)

    def of(self, instances: IntArray) -> LinearModels:
        """The models of some instances."""
        return LinearModels(self.coef[instances], self.intercept[instances])

    def predict(self, X: Any, instances: IntArray | None = None) -> FloatArray:
        """Predictions (rows of X, instances)."""
        models = self if instances is None else self.of(instances)
        return BlockMatrix.of(X) @ models.coef.T + models.intercept


def linear_models(
    problems: ProblemSet, coef: SparseRows, transform: ColumnTransform, X: Any
) -> LinearModels:
    """Models on the original scale; intercepts from the real training rows of X.

        intercept = mean(y) - mean(X v)    over the training rows, with their weights

    Parameters
    ----------
    problems : ProblemSet
    coef : csr_array of shape (B, n)
        On the scale of the sketch.
    transform : ColumnTransform
        What the sketch did to the columns.
    X : array, sparse matrix or BlockMatrix of shape (m, n), or None
        The data that were sketched, neither centred nor scaled. They are not needed for a sketch
        that centres, on all rows with weights of one.
    """
    if X is not None and X.shape != (problems.rows.n_samples, coef.shape[1]):
        raise InvalidInputError(
            f"X has shape {X.shape} but the problems were built for "
            f"({problems.rows.n_samples}, {coef.shape[1]}); pass the X that was sketched"
        )
    original = transform.unscale(coef)
    if knows_means(problems, transform):
        # Means of all rows are those that the sketch has subtracted.
        return LinearModels(original, problems.y_mean - transform.shift(original))
    return LinearModels(original, problems.y_mean - _training_means(problems, original, X))


def knows_means(problems: ProblemSet, transform: ColumnTransform) -> bool:
    """Whether a sketch has the column means that intercepts need, if there are any."""
    return not problems.fit_intercept or (transform.means is not None and _all_train(problems.rows))


def _training_means(problems: ProblemSet, coef: SparseRows, X: Any) -> FloatArray:
    """Mean (B,) of X v over the training rows of every instance; at most one pass over X."""
    blocks, sets = BlockMatrix.of(X), problems.rows
    total = blocks.sum(axis=0)
    if _all_train(sets):
        return np.asarray(coef @ (total / len(blocks)))
    chosen = [
        (row_set.removed, None) if row_set.weights is None else row_set.training(len(blocks))
        for row_set in sets
    ]
    sums = (blocks.T @ weights_of(chosen, len(blocks))).T
    means = np.empty(coef.shape[0])
    for number, instances in enumerate(np.split(np.arange(len(means)), len(sets))):
        weights, removed = sets[number].weights, sets[number].removed
        if weights is None:
            mean = (total - sums[number]) / (len(blocks) - len(removed))
        else:
            mean = sums[number] / weights.sum()
        means[instances] = coef[instances] @ mean
    return means


def _all_train(sets: RowSets) -> bool:
    """Whether every row set has all rows, each with a weight of one."""
    return all(row_set.weights is None and len(row_set.removed) == 0 for row_set in sets)


def fitted_values(X: Any, coef: SparseRows) -> FloatArray:
    """X w (rows of X, instances) for coefficients (instances, n)."""
    return BlockMatrix.of(X) @ coef.T


def tidy_table(problems: ProblemSet, solution: Solution) -> dict[str, NDArray[Any]]:
    """Columns of equal length, ready for ``pandas.DataFrame`` or ``polars.DataFrame``.

    Parameters
    ----------
    problems : ProblemSet
    solution : Solution
        Of ``problems.batch``.

    Returns
    -------
    dict of ndarray of shape (B,)
        row_set, response, left_out, radius, alpha, objective, relative_gap, status, n_nonzero,
        rounds, steps.
    """
    names = np.array([status.name.lower() for status in Status])
    return {
        "row_set": problems.row_set,
        "response": problems.response,
        "left_out": problems.left_out,
        "radius": problems.batch.radius,
        "alpha": problems.batch.alpha,
        "objective": solution.primal,
        "relative_gap": solution.relative_gap,
        "status": names[solution.status],
        "n_nonzero": solution.n_nonzero,
        "rounds": solution.rounds,
        "steps": solution.steps,
    }
