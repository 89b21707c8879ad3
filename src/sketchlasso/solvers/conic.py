"""A generic conic solver: Clarabel, the extra `conic`.

Square-root loss, with a bound b_j for every penalised |w_j|:

    minimise    h + radius t + sum_j thresholds_j b_j
    subject to  (h, c - R'w, s) in a second-order cone,   (t, w) in a second-order cone,
                -b <= w <= b

Squared loss, a quadratic programme in w, r and b:

    minimise    r'r/2 + radius^2 w'w/2 + sum_j thresholds_j b_j
    subject to  r = c - R'w,   -b <= w <= b

Non-negative coefficients are their own bounds: b = w >= 0. The dual point of the loss is the
multiplier of its cone (of r = c - R'w), so it is there even where the optimum interpolates.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from scipy import sparse

from sketchlasso.errors import MissingExtraError
from sketchlasso.linalg.rows import stack_rows
from sketchlasso.problem.batch import Batch
from sketchlasso.problem.dual import certify_batch, null_model
from sketchlasso.problem.formulas import primal_value
from sketchlasso.solvers.solution import Iterates
from sketchlasso.types import FloatArray


def import_clarabel() -> ModuleType:
    """Return the package of the solver; without it the error names the extra."""
    try:
        import clarabel  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        raise MissingExtraError("solver='conic'", "clarabel", "conic") from None
    return clarabel  # type: ignore[no-any-return, unused-ignore]


def solve_conic(one: Batch) -> Iterates:
    """Solve a batch of one instance, with its response scaled to length one."""
    clarabel = import_clarabel()
    thresholds = one.thresholds(0)
    features = np.flatnonzero(np.isfinite(thresholds))
    R, lam = one.rows(0, features), thresholds[features]
    squared = one.loss == "squared"
    length = float(np.hypot(np.linalg.norm(one.c[0]), one.s[0])) or 1.0
    if len(features) == 0:
        null = null_model(one)
        return Iterates(null.coef, null.dual, np.zeros(1, dtype=np.intp))
    lam = lam / length if squared else lam
    programme, dual = _programme(
        clarabel, R, one.c[0] / length, one.s[0] / length, one.radius[0], lam, one.positive, squared
    )
    steps = 0
    for tolerance in (1e-10, 1e-8, 1e-6):  # until Clarabel reports success
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_iter = False, 200
        for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas", "tol_ktratio"):
            setattr(settings, name, tolerance)
        answer = clarabel.DefaultSolver(*programme, settings).solve()
        steps += int(answer.iterations)
        if answer.status == clarabel.SolverStatus.Solved:
            break
    w = length * np.array(answer.x)[: len(features)]
    if one.positive:
        w = np.maximum(w, 0.0)
    u = -np.array(answer.z)[dual]
    return _without_rounding(one, features, w, (length if squared else 1.0) * u, steps)


def _without_rounding(
    one: Batch, features: Any, w: FloatArray, u: FloatArray, steps: int
) -> Iterates:
    """The solution, with zeros for what an interior point holds as rounding of zero.

    A coefficient goes if it is small beside the slack of its dual constraint. All go together, and
    only if that costs less than a tenth of the gap.
    """

    def iterates(values: FloatArray) -> Iterates:
        support = np.flatnonzero(values)
        coef = stack_rows([(features[support], values[support])], one.n_features)
        return Iterates(coef, u[None], np.array([steps]))

    whole = iterates(w)
    R, lam = one.rows(0, features), one.thresholds(0)[features]
    seen = R @ u
    slack = lam - (seen if one.positive else np.abs(seen))
    room = np.divide(slack, lam, out=np.zeros_like(slack), where=lam > 0)
    small = np.abs(w) < np.abs(w).max() * np.minimum(room, 1e-4)
    plain = np.where(small, 0.0, w)
    # The others take over what the small ones fit, the largest most of it.
    support = np.flatnonzero(plain)
    weighted = R[support] * np.abs(w[support])[:, None]
    refitted = plain.copy()
    refitted[support] += np.abs(w[support]) * np.linalg.lstsq(weighted.T, R.T @ (w - plain))[0]
    proof = certify_batch(one, whole.coef, whole.dual)
    for values in (np.zeros_like(w), plain, refitted):
        other = iterates(values)
        worse = (primal_value(one, other.coef) - proof.primal)[0]
        # A change of sign would leave a coefficient that the constraints do not allow.
        if worse <= 0.1 * proof.gap[0] and np.all(values * w >= 0):
            return other
    return whole


def _programme(
    clarabel: ModuleType,
    R: FloatArray,
    c: FloatArray,
    s: float,
    radius: float,
    lam: FloatArray,
    positive: bool,
    squared: bool,
) -> tuple[tuple[Any, ...], slice]:
    """Clarabel's arguments P, q, A, b and cones, and where minus the dual point is among z.

    Clarabel minimises x'Px/2 + q'x subject to Ax + slack = b, the slack in the cones. Its x is
    w (p), then b of the penalised features unless w >= 0 (f), then r (k), or h and t.
    """
    p, k = R.shape
    bounded = np.arange(0) if positive else np.flatnonzero(lam > 0)
    f, robust = len(bounded), radius > 0 and not squared
    on_rest = np.zeros(k) if squared else np.array([1.0, radius][: 1 + robust])
    q = np.concatenate([lam if positive else np.zeros(p), lam[bounded], on_rest])
    curvature = np.zeros(len(q))
    eye: Any = sparse.eye_array
    # Blocks of A over w, b and the rest; None is zero.
    if squared:
        curvature[:p], curvature[p + f :] = radius**2, 1.0
        blocks, right = [[R.T, None, eye(k)]], [c]
        cones = [clarabel.ZeroConeT(k)]
    else:
        above = -eye(1 + robust).tocsr()
        blocks = [[None, None, above[[0]]], [R.T, None, None], [None, None, 0.0 * above[[0]]]]
        right, cones = [np.zeros(1), c, np.array([s])], [clarabel.SecondOrderConeT(k + 2)]
    if robust:
        blocks += [[None, None, above[[1]]], [-eye(p), None, None]]
        right.append(np.zeros(p + 1))
        cones.append(clarabel.SecondOrderConeT(p + 1))
    if positive:
        blocks.append([-eye(p), None, None])
        right.append(np.zeros(p))
        cones.append(clarabel.NonnegativeConeT(p))
    elif f:
        pick = eye(p).tocsr()[bounded]
        blocks += [[pick, -eye(f), None], [-pick, -eye(f), None]]
        right.append(np.zeros(2 * f))
        cones.append(clarabel.NonnegativeConeT(2 * f))
    if f == 0:
        blocks = [[row[0], row[2]] for row in blocks]
    A = sparse.csc_matrix(sparse.block_array(blocks))
    A.eliminate_zeros()
    P = sparse.csc_matrix(sparse.diags_array(curvature))
    return (P, q, A, np.concatenate(right), cones), slice(0, k) if squared else slice(1, k + 1)
