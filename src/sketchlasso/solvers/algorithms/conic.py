"""A generic conic solver behind the same interface: Clarabel, the extra `conic`.

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

from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from sketchlasso.errors import Argument, MissingExtraError
from sketchlasso.solvers.algorithms.protocol import Best, Instance
from sketchlasso.types import FloatArray

_Matrix: TypeAlias = "sparse.csc_array[Any]"

# Tolerances are tried in this order until Clarabel reports success.
TOLERANCES = (1e-10, 1e-8, 1e-6)


@dataclass(eq=False)
class _Programme:
    """minimise x'diag(curvature)x/2 + linear'x  subject to  A x + slack = b, slack in cones.

    Blocks of A and b are collected row by row; those of the loss come first. `curvature` and
    `linear` are (size,); `dual` is the slice of the multipliers that are minus the dual point.
    """

    curvature: FloatArray
    linear: FloatArray
    dual: slice
    rows: list[_Matrix] = field(default_factory=list)
    right: list[FloatArray] = field(default_factory=list)
    cones: list[Any] = field(default_factory=list)

    def add(self, cone: Any, right: FloatArray, *blocks: tuple[int, int, _Matrix]) -> None:
        """Append rows made of (first row, first column, block), the slack in the cone."""
        parts = [block.tocoo() for _, _, block in blocks]
        row = np.concatenate(
            [part.row + top for part, (top, _, _) in zip(parts, blocks, strict=True)]
        )
        column = np.concatenate(
            [part.col + left for part, (_, left, _) in zip(parts, blocks, strict=True)]
        )
        values = np.concatenate([part.data for part in parts])
        shape = (len(right), len(self.linear))
        self.rows.append(sparse.csc_array((values, (row, column)), shape=shape))
        self.right.append(right)
        self.cones.append(cone)


class Conic:
    """One solve per instance with Clarabel; later calls repeat its answer.

    An interior-point method gains little from a starting point, so the given one is not used.
    """

    def __init__(self, instance: Instance, w: FloatArray, u: FloatArray) -> None:
        self._instance = instance
        self._found: tuple[FloatArray, FloatArray] | None = None

    def improve(self) -> tuple[FloatArray, FloatArray, int]:
        """Solve on the first call."""
        if self._found is not None:
            return *self._found, 0
        clarabel = import_clarabel()
        scaled = self._instance.with_unit_response()
        best, steps = Best(self._instance), 0
        programme = _programme(clarabel, scaled)
        for tolerance in TOLERANCES:
            solved, x, z, iterations = _run(clarabel, programme, tolerance)
            steps += iterations
            w = x[: len(scaled.R)]
            if scaled.positive:
                w = np.maximum(w, 0.0)
            best.offer(*scaled.restored(w, -z[programme.dual]))
            if solved:
                break
        self._found = best.trimmed(), best.u
        return *self._found, steps


def import_clarabel() -> ModuleType:
    """Return the package of the solver; without it the error names the extra."""
    try:
        import clarabel  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        raise MissingExtraError(Argument("solver", "conic"), "clarabel", "conic") from None
    return clarabel  # type: ignore[no-any-return, unused-ignore]


def _programme(clarabel: ModuleType, instance: Instance) -> _Programme:
    """The instance in Clarabel's form.

    Variables: w (p), b of the penalised features unless w >= 0, then r (k), or h and t.
    """
    p, k = instance.R.shape
    squared, radius, lam = instance.squared, instance.radius, instance.thresholds
    bounded = np.flatnonzero(lam > 0) if not instance.positive else np.arange(0)
    on_w = lam if instance.positive else np.zeros(p)
    on_rest = np.zeros(k) if squared else np.array([1.0, radius][: 2 if radius > 0 else 1])
    linear = np.concatenate([on_w, lam[bounded], on_rest])
    curvature = np.zeros(len(linear))
    rest = p + len(bounded)
    rows, c = sparse.csc_array(instance.R.T), instance.c
    if squared:
        curvature[:p], curvature[rest:] = radius**2, 1.0
        programme = _Programme(curvature, linear, slice(0, k))
        programme.add(clarabel.ZeroConeT(k), c, (0, 0, rows), (0, rest, _eye(k)))
    else:
        programme = _Programme(curvature, linear, slice(1, k + 1))
        right = np.concatenate([[0.0], c, [instance.s]])
        programme.add(clarabel.SecondOrderConeT(k + 2), right, (0, rest, -_eye(1)), (1, 0, rows))
        if radius > 0:
            cone = clarabel.SecondOrderConeT(p + 1)
            programme.add(cone, np.zeros(p + 1), (0, rest + 1, -_eye(1)), (1, 0, -_eye(p)))
    if instance.positive:
        programme.add(clarabel.NonnegativeConeT(p), np.zeros(p), (0, 0, -_eye(p)))
    elif bounded.size:
        q = len(bounded)
        pick = sparse.csc_array((np.ones(q), (np.arange(q), bounded)), shape=(q, p))
        programme.add(
            clarabel.NonnegativeConeT(2 * q),
            np.zeros(2 * q),
            *((0, 0, pick), (q, 0, -pick), (0, p, -_eye(q)), (q, p, -_eye(q))),
        )
    return programme


def _eye(size: int) -> _Matrix:
    return sparse.csc_array(sparse.eye_array(size))


def _run(
    clarabel: ModuleType, programme: _Programme, tolerance: float
) -> tuple[bool, FloatArray, FloatArray, int]:
    """Solve once; returns whether it succeeded, x, the multipliers z and the iterations."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = 200
    for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas", "tol_ktratio"):
        setattr(settings, name, tolerance)
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(sparse.diags_array(programme.curvature)),
        programme.linear,
        sparse.csc_matrix(sparse.vstack(programme.rows)),
        np.concatenate(programme.right),
        programme.cones,
        settings,
    )
    answer = solver.solve()
    solved = answer.status == clarabel.SolverStatus.Solved
    return solved, np.array(answer.x), np.array(answer.z), int(answer.iterations)
