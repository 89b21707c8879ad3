"""Predictions of rows by models that have not seen them."""

from __future__ import annotations

from typing import Any

import numpy as np

from sketchlasso.instances import RowSets
from sketchlasso.types import FloatArray, IntArray

__all__ = ["OutOfFold"]


class OutOfFold:
    """Predictions of held-out rows, kept as they come in.

    Parameters
    ----------
    rows : RowSets
        Every one with rows to predict.
    """

    def __init__(self, rows: RowSets) -> None:
        self._times = np.zeros(rows.n_samples)
        for row_set in rows:
            np.add.at(self._times, row_set.test, 1.0)
        self._parts: list[tuple[IntArray, Any, FloatArray]] = []

    def add(self, test: IntArray, at: Any, predicted: FloatArray) -> None:
        """Enter what one row set predicts for its held-out rows.

        Parameters
        ----------
        test : ndarray of shape (rows,)
        at : tuple
            Index of p problems in the shape that :meth:`means` gets.
        predicted : ndarray of shape (rows, p)
        """
        self._parts.append((test, at, predicted))

    def means(self, shape: tuple[int, ...]) -> FloatArray:
        """Predictions (m, *shape), NaN where there are none.

        They are means where a row was held out more than once.
        """
        # Rows are last in memory, so that a problem's predictions lie side by side.
        values = np.full((*shape, len(self._times)), np.nan)
        again = self._times.max(initial=0.0) > 1
        for test, at, predicted in self._parts:
            line = values[at]
            if again:
                line[..., test] = np.nan_to_num(line[..., test])
                np.add.at(line.T, test, predicted)
            else:
                line[..., test] = predicted.T
            values[at] = line
        if again:
            values /= np.maximum(self._times, 1.0)
        return np.moveaxis(values, -1, 0)
