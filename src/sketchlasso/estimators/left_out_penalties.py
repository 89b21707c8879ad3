"""The penalties that a fit would use without a row, for every row at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sketchlasso.data import as_rows
from sketchlasso.data.transform import column_scales
from sketchlasso.estimators.parameters import SingleSpecification
from sketchlasso.estimators.penalty import FAILURE, SLACK, outweighing, penalties
from sketchlasso.estimators.task import Prepared
from sketchlasso.problem.terms import Terms
from sketchlasso.results.left_out import LeftOut
from sketchlasso.types import FloatArray, IntArray

# Rows whose column sizes are held at a time.
AT_A_TIME = 2**22


def left_out_problems(spec: SingleSpecification, data: Prepared, target: int) -> LeftOut:
    """The full problem of one target without each row, as a fit without the row would state it.

    Standard deviations of the columns and the pivotal penalty are those of the other rows.

    Parameters
    ----------
    spec : SingleSpecification
    data : Prepared
        Of all rows, without weights.
    target : int
    """
    X: Any = as_rows(data.X)
    m, n = X.shape
    plain = spec.terms.factors(n)
    sizes = _SizesWithout(X)
    pivotal = isinstance(spec.alpha, str)
    assert not pivotal or spec.alpha == "pivotal"

    def divisors(rows: IntArray) -> FloatArray:
        """What standardisation would divide the columns of `data.X` by without a row (r, n)."""
        own = sizes(rows, centred=True)
        assert data.scales is not None
        return np.where(own > 0, own, 1.0 / data.scales)

    def factor(rows: IntArray) -> FloatArray:
        if data.scales is None:
            return np.broadcast_to(plain, (len(rows), n))
        with np.errstate(invalid="ignore"):
            return np.asarray(plain * divisors(rows))

    alpha = np.full(m, penalties(spec, data)[target])
    if pivotal:
        step = max(1, AT_A_TIME // n)
        for first in range(0, m, step):
            rows = np.arange(first, min(first + step, m))
            alpha[rows] = _pivotal(
                spec.terms, sizes, rows, divisors if data.scales is not None else None
            )
    return LeftOut(
        X,
        data.Y[:, target],
        alpha,
        factor,
        same=not pivotal and data.scales is None,
        fit_intercept=spec.terms.fit_intercept,
        positive=spec.terms.positive,
    )


def _pivotal(
    terms: Terms,
    sizes: _SizesWithout,
    rows: IntArray,
    divisors: Callable[[IntArray], FloatArray] | None,
) -> FloatArray:
    """The pivotal penalty (r,) of the fits without each row."""
    own = sizes(rows, centred=terms.fit_intercept)
    if divisors is not None:
        own = own / divisors(rows)
    penalised = terms.penalised(own.shape[1])
    levels = [SLACK * outweighing(line, penalised, FAILURE) for line in own]
    return np.array([level or 1.0 for level in levels])


class _SizesWithout:
    """Root mean squares of the columns over all rows but one."""

    def __init__(self, X: Any) -> None:
        self._X, self._m = X, X.shape[0]
        ones = np.ones(self._m)
        self._means = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        self._centred = self._m * column_scales(X, ones) ** 2
        self._raw = self._m * column_scales(X, ones, centred=False) ** 2

    def __call__(self, rows: IntArray, centred: bool) -> FloatArray:
        """Sizes (r, n) without each of some rows; zero where only rounding is left."""
        part = self._X[rows]
        entries = part if isinstance(part, np.ndarray) else part.toarray()
        values = np.asarray(entries, dtype=np.float64)
        m, total = self._m, self._centred if centred else self._raw
        if centred:
            rest = total - m / (m - 1) * np.square(values - self._means)
        else:
            rest = total - np.square(values)
        rounding = np.finfo(np.float64).eps
        # Differences from a mean are as exact as the values they are differences of.
        lost = rest <= 4 * m * rounding * total + 16 * rounding**2 * self._raw
        return np.sqrt(np.where(lost, 0.0, rest) / (m - 1))
