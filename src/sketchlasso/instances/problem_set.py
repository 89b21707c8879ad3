"""A set of problems in the user's terms, with the batch that solvers take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sketchlasso.instances.rows import RowSets
from sketchlasso.problem.batch import Batch
from sketchlasso.types import FloatArray, IntArray

__all__ = ["ProblemSet"]


@dataclass(frozen=True, eq=False)
class ProblemSet:
    """B problems: row sets x responses x radii x alphas, alphas fastest and decreasing.

    Attributes
    ----------
    batch : Batch
    rows : RowSets
    row_set, response, radius_index, alpha_index : ndarray of shape (B,)
        Coordinates of every instance in the product.
    shape : tuple of int
        (row sets, responses, radii, alphas); B is their product.
    y_mean : ndarray of shape (B,)
        Weighted mean of the response over the training rows; zero without an intercept.
    fit_intercept : bool
    left_out : ndarray of shape (B,)
        Feature that serves as the response and is excluded, or -1.
    """

    batch: Batch
    rows: RowSets
    row_set: IntArray
    response: IntArray
    radius_index: IntArray
    alpha_index: IntArray
    shape: tuple[int, int, int, int]
    y_mean: FloatArray
    fit_intercept: bool
    left_out: IntArray

    @property
    def chain(self) -> IntArray:
        """Number (B,) shared by the instances that differ in alpha only."""
        return np.arange(self.batch.n_instances) // self.shape[3]

    def fold_out(self, values: Any) -> Any:
        """Per-instance values (B, ...) as an array (row sets, responses, radii, alphas, ...)."""
        array = np.asarray(values)
        return array.reshape(self.shape + array.shape[1:])
