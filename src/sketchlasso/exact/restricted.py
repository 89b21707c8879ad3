"""The problem of a few columns, known by their Gram matrix: coordinate descent and Newton.

On a support A with signs s the objective is smooth, and its minimiser is known in closed form:

    w_A = w_ls - rho d,   d = G_AA^-1 (t s)_A,   rho^2 = rho_ls^2 / (1 - (t s)_A'd)

with w_ls the least-squares fit, rho_ls its residual and t = alpha f. Coordinate descent finds
the support, this Newton step then leaves nothing to do on it. One costs |A| p operations per sweep,
the other |A|^3 / 3: neither is given more time than the other needs.

That serves small supports. Larger ones are found by following the LASSO's path (see follow.py),
which shares Cholesky factors between steps and problems and copes with dependent columns.
"""

from __future__ import annotations

from itertools import chain

import numpy as np
from scipy import linalg

from sketchlasso.exact.follow import Follower, Restricted
from sketchlasso.kernels.coordinate import LOST_DIGITS, gram_sweeps
from sketchlasso.kernels.faces import add_gram_rows
from sketchlasso.types import FloatArray, IntArray

# A Cholesky factor of size a costs about as much as a / SIZE_OF_A_SWEEP sweeps.
SIZE_OF_A_SWEEP = 200
FEWEST_SWEEPS = 5
MOST_NEWTON_STEPS = 30
# Supports of this size are found by following the path rather than by sweeps.
FEWEST_TO_FOLLOW = 64
# Shares added to the diagonal where the undamped step does not descend.
DAMPINGS = (1e-3, 1e-1)


def improve(problem: Restricted, tol: float, follower: Follower) -> int:
    """Bring the relative gap of the restricted problem to `tol`; returns the steps spent.

    Leaves early where ||r||^2 has lost its digits, since the caller can compute it again.
    """
    start, steps = problem.square, 0
    if np.count_nonzero(problem.w) >= FEWEST_TO_FOLLOW:
        before = follower.steps
        gap = follower.solve(problem, tol)
        steps = follower.steps - before
        if gap <= tol or problem.square <= LOST_DIGITS * start:
            return steps
    for _ in range(MOST_NEWTON_STEPS):
        active = int(np.count_nonzero(problem.w))
        problem.square, gap, sweeps = gram_sweeps(
            problem.G,
            problem.q,
            problem.w,
            problem.thresholds,
            problem.square,
            problem.positive,
            tol,
            max(FEWEST_SWEEPS, active // SIZE_OF_A_SWEEP),
        )
        steps += sweeps
        if gap <= tol or problem.square <= LOST_DIGITS * start:
            break
        if newton_step(problem):
            steps += 1
            gap = problem.relative_gap(problem.w, problem.q, problem.square)
            if gap <= tol or problem.square <= LOST_DIGITS * start:
                break
    return steps


def newton_step(problem: Restricted) -> bool:
    """Move to the minimiser on the present support and signs, as far as that descends."""
    norms = np.diagonal(problem.G)[: len(problem.w)]
    active = np.flatnonzero((norms > 0) & ((problem.w != 0) | (problem.thresholds == 0)))
    if problem.positive:
        active = active[(problem.w[active] > 0) | (problem.q[active] > 0)]
    if len(active) == 0:
        return False
    # Near interpolation the minimiser is far off and signs change at once: shorter steps.
    shorter = (_damped(problem, active, damping) for damping in DAMPINGS)
    targets = chain([_minimiser(problem, active)], shorter)
    return any(target is not None and _move(problem, active, target) for target in targets)


def _solved(
    problem: Restricted, active: IntArray, right: FloatArray, damping: float = 0.0
) -> FloatArray | None:
    """Solution of the active Gram matrix, its diagonal raised by a share; None without a factor."""
    G = problem.G[np.ix_(active, active)]
    np.fill_diagonal(G, np.diagonal(G) * (1.0 + damping))
    try:
        factor = linalg.cho_factor(G, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    return np.asarray(linalg.cho_solve(factor, right, check_finite=False))


def _damped(problem: Restricted, active: IntArray, damping: float) -> FloatArray | None:
    """Minimiser (a,) of the majoriser ||r||^2 / (2 rho) + rho / 2, held near the present point."""
    rho = np.sqrt(max(problem.square, 0.0))
    slope = problem.q[active] - rho * problem.thresholds[active] * np.sign(problem.w[active])
    step = _solved(problem, active, slope, damping)
    return problem.w[active] + step if step is not None and np.isfinite(step).all() else None


def _minimiser(problem: Restricted, active: IntArray) -> FloatArray | None:
    """Minimiser (a,) over the active coefficients with fixed signs; None where it has none."""
    slopes = problem.thresholds[active] * np.sign(problem.w[active])
    q = problem.q[active]
    found = _solved(problem, active, np.column_stack([q, slopes]))
    if found is None:
        return None
    to_fit, d = found.T
    left, bend = max(problem.square - float(q @ to_fit), 0.0), 1.0 - float(slopes @ d)
    # Where the penalty leaves no room the fit is exact.
    shrunk = np.sqrt(left / bend) if bend > 0.0 else 0.0
    target = problem.w[active] + to_fit - shrunk * d
    return target if np.isfinite(target).all() else None


def _move(problem: Restricted, active: IntArray, target: FloatArray) -> bool:
    """Move the active coefficients to a target (a,) if that lowers the objective.

    Coefficients that would change their sign stop at zero.
    """
    here = problem.w[active]
    penalised = (problem.thresholds[active] > 0) | problem.positive
    crossing = penalised & (np.sign(target) != np.sign(here)) & (here != 0)
    if problem.positive:
        target = np.maximum(target, 0.0)
    values = np.where(crossing, 0.0, target)
    moves = values - here
    q = problem.q.copy()
    add_gram_rows(problem.G, active, -moves, q)
    square = problem.square - float(moves @ (problem.q[active] + q[active]))
    w = problem.w.copy()
    w[active] = values
    if not problem.objective_of(w, square) < problem.objective:
        return False
    problem.q[:], problem.w[:], problem.square = q, w, square
    return True
