"""The last digits of solutions that fit the response exactly.

Where the residual vanishes the square-root loss has a kink, and a point within the tolerance of
the optimum may miss the exact fit by as much as the tolerance. Which such point a solver stops at
depends on rounding. Solving R_A'w = c on the support A makes the answer depend on its support
alone.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from sketchlasso.problem.batch import Batch
from sketchlasso.problem.objective import loss_value, penalties, primal_value, residual
from sketchlasso.solvers.solution import Solution, Status, status_of
from sketchlasso.types import FloatArray

# A solution with gap tol * objective of a problem whose optimum fits exactly has a loss of at
# most tol * objective / (1 - alpha / alpha_0), where alpha_0 is the penalty at which the fit
# stops being exact. This factor covers penalties up to 0.999 alpha_0.
REACH = 1e3
# A loss above this share of that of w = 0 is no exact fit, however loose the tolerance.
NEARLY_EXACT = 1e-3
# A solution this close to the optimum (relative gap) cannot become more accurate.
SETTLED = 1e-10
# An objective that rises by no more than this share has not risen.
ROUNDING = 1e-14
# Rows whose pivot is below this share of the largest depend on the others.
DEPENDENT = 1e-12
# With this many columns per row their products are formed; the pivots must keep half the digits.
WIDE = 4
WELL_CONDITIONED = 1e-4


def polished(batch: Batch, solution: Solution, tol: float) -> Solution:
    """Return the solution with nearly exact fits made exact where that costs nothing.

    It was solved to a relative duality gap of `tol`. A correction is kept only if no coefficient
    changes its sign and the objective does not rise, so every certificate stays valid.
    """
    if batch.loss != "sqrt":
        return solution
    limit = min(REACH * tol, NEARLY_EXACT) * solution.null
    candidates = (batch.s <= limit) & (solution.relative_gap > SETTLED)
    numbers = np.flatnonzero(candidates & (np.diff(solution.coef.indptr) > 0))
    if numbers.size:
        # The loss, but for rounding, without a product with the rows of P.
        loss = solution.primal[numbers] - penalties(batch.take(numbers), solution.coef[numbers])
        numbers = numbers[loss <= 2.0 * limit[numbers]]
    if numbers.size == 0:
        return solution
    part = batch.take(numbers)
    missed = residual(part, solution.coef[numbers])
    near = np.flatnonzero(loss_value(part, missed) <= limit[numbers])
    numbers, part, missed = numbers[near], part.take(near), missed[near]
    before, coef = solution.coef.data, solution.coef.copy()
    entries = [slice(coef.indptr[number], coef.indptr[number + 1]) for number in numbers]
    for row, own in enumerate(entries):
        rows = part.rows(row, coef.indices[own].astype(np.intp))
        coef.data[own] = exact_fit(rows.T, before[own], missed[row])
    primal = primal_value(part, coef[numbers])
    kept = primal <= solution.primal[numbers] * (1.0 + ROUNDING)
    if not kept.any():
        return solution
    for raised in np.flatnonzero(~kept):
        coef.data[entries[raised]] = before[entries[raised]]
    value = solution.primal.copy()
    value[numbers[kept]] = primal[kept]
    better = replace(solution, coef=coef, primal=value)
    short = np.isin(better.status, (Status.STALLED, Status.INACCURATE, Status.ITERATION_LIMIT))
    settled = status_of(better.relative_gap, tol, better.status)
    return replace(better, status=np.where(short, settled, better.status))


def exact_fit(columns: FloatArray, values: FloatArray, missed: FloatArray) -> FloatArray:
    """Coefficients (p,) of columns (m, p) that fit what they missed (m,) as well.

    They stay as they were where one of them would change its sign.
    """
    fitted = values + _shortest_fit(columns, missed)
    return fitted if np.all(np.sign(fitted) == np.sign(values)) else values


def _shortest_fit(columns: FloatArray, missed: FloatArray) -> FloatArray:
    """The shortest x (p,) with the least ||columns x - missed||."""
    if columns.shape[1] >= WIDE * columns.shape[0]:
        # With many columns the small matrix A A' is enough, unless its rows depend on each other.
        factor, failed = lapack.dpotrf(columns @ columns.T, lower=1)
        pivots = np.diag(factor)
        if not failed and pivots.min() > WELL_CONDITIONED * pivots.max():
            found = columns.T @ linalg.cho_solve((factor, True), missed)
            left = missed - columns @ found
            return np.asarray(found + columns.T @ linalg.cho_solve((factor, True), left))
    found = linalg.lstsq(
        columns, missed, cond=DEPENDENT, check_finite=False, lapack_driver="gelsy"
    )[0]
    return np.asarray(found)
