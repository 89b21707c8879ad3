"""The last digits of solutions that fit the response exactly.

Where the residual vanishes the square-root loss has a kink, and a point within the tolerance of
the optimum may miss the exact fit by as much as the tolerance. Which such point a solver stops at
depends on rounding. Solving R_A'w = c on the support A takes that choice away: the answer is then
determined by its support.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import linalg

from sketchlasso.problem.batch import Batch
from sketchlasso.problem.objective import loss_value, primal_value, residual
from sketchlasso.solve.solution import Solution
from sketchlasso.solve.status import Status
from sketchlasso.types import FloatArray, IntArray

__all__ = ["polished"]

# A solution with gap tol * objective of a problem whose optimum fits exactly has a loss of at
# most tol * objective / (1 - alpha / alpha_0), where alpha_0 is the penalty at which the fit
# stops being exact. This factor covers penalties up to 0.999 alpha_0.
REACH = 1e3
# A loss above this share of that of w = 0 is no exact fit, however loose the tolerance.
NEARLY_EXACT = 1e-3
# A solution this close to the optimum (relative gap) has no digits left to win.
SETTLED = 1e-10
# An objective that rises by no more than this share has not risen.
ROUNDING = 1e-14
# Rows whose pivot is below this share of the largest depend on the others.
DEPENDENT = 1e-12


def polished(batch: Batch, solution: Solution, tol: float) -> Solution:
    """Return the solution with nearly exact fits made exact where that costs nothing.

    A correction is kept only if no coefficient changes its sign and the objective does not rise,
    so every certificate stays valid.

    Parameters
    ----------
    batch : Batch
    solution : Solution
        Of the batch.
    tol : float
        Relative duality gap it was solved to.
    """
    if batch.loss != "sqrt":
        return solution
    limit = min(REACH * tol, NEARLY_EXACT) * solution.null
    candidates = (batch.s <= limit) & (solution.relative_gap > SETTLED)
    numbers = np.flatnonzero(candidates & (np.diff(solution.coef.indptr) > 0))
    if numbers.size == 0:
        return solution
    part = batch.take(numbers)
    missed = residual(part, solution.coef[numbers])
    near = np.flatnonzero(loss_value(part, missed) <= limit[numbers])
    numbers, part, missed = numbers[near], part.take(near), missed[near]
    coef = solution.coef[numbers]
    fitted = coef.copy()
    for row in range(len(numbers)):
        own = slice(coef.indptr[row], coef.indptr[row + 1])
        support = coef.indices[own].astype(np.intp)
        fitted.data[own] = _exact_fit(part, row, support, coef.data[own], missed[row])
    primal = primal_value(part, fitted)
    kept = np.flatnonzero(primal <= solution.primal[numbers] * (1.0 + ROUNDING))
    return _with_rows(solution, numbers[kept], fitted[kept], primal[kept], tol)


def _exact_fit(
    batch: Batch, number: int, support: IntArray, values: FloatArray, missed: FloatArray
) -> FloatArray:
    """Coefficients (p,) with the missed part (k,) of c added; as they were if a sign changes."""
    rows = batch.rows(number, support)
    correction = linalg.lstsq(
        rows.T, missed, cond=DEPENDENT, check_finite=False, lapack_driver="gelsy"
    )[0]
    fitted = values + correction
    return fitted if np.all(np.sign(fitted) == np.sign(values)) else values


def _with_rows(
    solution: Solution, numbers: IntArray, coef: Any, primal: FloatArray, tol: float
) -> Solution:
    """The solution with other coefficients (b, n) on the same supports for some instances."""
    if numbers.size == 0:
        return solution
    whole, value = solution.coef.copy(), solution.primal.copy()
    for row, number in enumerate(numbers):
        whole.data[whole.indptr[number] : whole.indptr[number + 1]] = coef.data[
            coef.indptr[row] : coef.indptr[row + 1]
        ]
    value[numbers] = primal
    better = replace(solution, coef=whole, primal=value)
    short = np.isin(better.status, (Status.STALLED, Status.INACCURATE, Status.ITERATION_LIMIT))
    short &= better.relative_gap <= tol
    return replace(better, status=np.where(short, Status.SOLVED, better.status))
