"""The k-dimensional dual with its one constraint, and the gap that certifies a solution.

Square-root loss:

    maximise over u in R^k    c'u + s sqrt(1 - ||u||^2)    subject to   ||S(R u)||_2 <= radius

S is the soft threshold at alpha f_j. Squared loss:

    maximise over u in R^k    c'u - ||u||^2/2 + s^2/2 - ||S(R u)||^2 / (2 radius^2)

with S(R u) = 0 as a constraint when radius = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sketchlasso.kernels.dense import feasible_scale
from sketchlasso.linalg.rows import rounding_of_sums
from sketchlasso.linalg.threads import map_slices
from sketchlasso.problem.batch import Batch
from sketchlasso.problem.formulas import (
    best_on_ray,
    dual_objective,
    radius_left,
    relative_gap,
    soft_threshold,
)
from sketchlasso.problem.full_problem import Unpenalised
from sketchlasso.problem.objective import null_value, primal_value
from sketchlasso.types import BoolArray, Coefficients, FloatArray, RealArray

TILE = 8
# Threads share the features in multiples of this many.
STRIP = 64
# Rounding that moves a cleared point by less than this share does not count.
CLEARED_SHARE = 1e-12


class Bounds:
    """Objectives, proved lower bounds on them, and objectives at w = 0, one per instance (B,).

    Without the last, every objective counts as larger than rounding.
    """

    primal: FloatArray
    dual: FloatArray
    null: FloatArray | None

    @property
    def gap(self) -> FloatArray:
        """Primal - dual (B,), never negative."""
        return np.maximum(self.primal - self.dual, 0.0)

    @property
    def relative_gap(self) -> FloatArray:
        """Gap / primal (B,), see :func:`~sketchlasso.problem.formulas.relative_gap`."""
        return relative_gap(self.primal, self.dual, 0.0 if self.null is None else self.null)


@dataclass(frozen=True, eq=False)
class Certificate(Bounds):
    """Bounds that prove how good a batch of solutions is."""

    primal: FloatArray  # (B,): objective at the coefficients
    dual: FloatArray  # (B,): dual objective at the feasible point
    null: FloatArray  # (B,): objective at w = 0
    point: FloatArray  # (B, k): the feasible dual point
    # (B,): point = scale * u for the candidate u; NaN where unpenalised features moved it too.
    scale: FloatArray


def correlate(
    batch: Batch, u: FloatArray, out: RealArray | None = None, n_threads: int = 1
) -> RealArray:
    """R_b u_b for every instance (B, n), in P's precision; zero where a feature is excluded.

    `out`, of at least (B rounded up to a multiple of TILE, n), saves the allocation.
    """
    lifted = batch.lift(u).astype(batch.P.dtype, copy=False)
    # Whole tiles of rows: BLAS then sums an instance alike alone and in a batch.
    tiles = -(-len(lifted) // TILE) * TILE
    padded = np.zeros((tiles, batch.rank), dtype=lifted.dtype)
    padded[: len(lifted)] = lifted
    whole = np.empty((tiles, batch.n_features), dtype=lifted.dtype) if out is None else out[:tiles]

    def multiply(strips: slice) -> None:
        features = slice(strips.start * STRIP, strips.stop * STRIP)
        np.matmul(padded, batch.P[features].T, out=whole[:, features])

    # Our own threads, not those of BLAS, which keep spinning for milliseconds afterwards.
    map_slices(multiply, -(-batch.n_features // STRIP), n_threads)
    correlation: RealArray = whole[: len(lifted)]
    if batch.excluded is not None:
        owner = np.repeat(np.arange(batch.n_instances), np.diff(batch.excluded.indptr))
        correlation[owner, batch.excluded.indices] = 0.0
    return correlation


def feasible_dual(
    batch: Batch, u: FloatArray, correlation: RealArray | None = None, n_threads: int = 1
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Bring any u (B, k) into the dual's domain, moving as little as a scaling allows.

    Unpenalised features first lose the part of u that breaks their constraint, then u is
    scaled by the a that is best for the dual objective under ||S(a R u)|| <= radius.

    Returns the points (B, k), the scalings a (B,), NaN where unpenalised features moved the point
    as well, and by how much (B,) the value of a feasible point may be smaller.
    """
    if correlation is None:
        correlation = correlate(batch, u)
    correlation = _refined(batch, u, correlation)
    scale = _scales(batch, u, correlation, n_threads)
    point, unsure = u * scale[:, None], np.zeros(batch.n_instances)
    freed, moved, doubts = _free_unpenalised(batch, u, correlation)
    if moved.any():
        part = batch.take(np.flatnonzero(moved))
        other, doubt = freed[moved], doubts[moved]
        seen = _refined(part, other, correlate(part, other))
        for b in map(int, np.flatnonzero(doubt > CLEARED_SHARE)):
            reach = np.linalg.norm(part.rows(b, np.arange(part.n_features)), axis=1)
            size = seen[b] if batch.positive else np.abs(seen[b])
            seen[b] = size + (doubt[b] * np.linalg.norm(other[b])) * reach
        scales = _scales(part, other, seen, cleared=part.radius == 0)
        other *= scales[:, None]
        # Scaling alone is a valid answer too where the radius leaves unpenalised features room.
        better = (part.radius == 0) | (dual_value(part, other) > dual_value(part, point[moved]))
        chosen = np.flatnonzero(moved)[better]
        point[chosen], scale[chosen] = other[better], np.nan
        lost = doubt * np.linalg.norm(other, axis=1) * np.linalg.norm(part.c, axis=1)
        unsure[chosen] = lost[better]
    return point, scale, unsure


def _refined(batch: Batch, u: FloatArray, correlation: RealArray) -> RealArray:
    """Correlations (B, n) with those that decide about feasibility in double precision.

    Without a radius u is scaled until the largest ratio of a correlation to its threshold is 1.
    Single precision rounds a correlation by eps ||row|| ||u||, which is a large share of a
    threshold much smaller than the row. Unpenalised features have a threshold of zero.
    """
    rigid, some_free = batch.radius == 0, bool((batch.penalty_factor == 0).any())
    if correlation.dtype == np.float64 or not (rigid.any() or some_free):
        return correlation
    refined: RealArray = correlation.astype(np.float64)
    error = rounding_of_sums(batch.rank, np.float32) * np.linalg.norm(batch.P, axis=1)
    lengths = np.linalg.norm(batch.lift(u), axis=1)
    for b in map(int, np.flatnonzero(rigid | some_free)):
        factor = batch.factor_row(b)
        decides = factor == 0
        if rigid[b]:
            size = refined[b] if batch.positive else np.abs(refined[b])
            safe = np.where(decides, np.inf, factor)
            ratio, unsure = size / safe, lengths[b] * error / safe
            first = np.argmax(ratio)
            # The largest ratio is one of these.
            decides |= ratio + unsure >= ratio[first] - unsure[first]
            decides &= np.isfinite(factor)
        chosen = np.flatnonzero(decides)
        refined[b, chosen] = batch.rows(b, chosen) @ u[b]
    return refined


def _scales(
    batch: Batch,
    u: FloatArray,
    correlation: RealArray,
    n_threads: int = 1,
    cleared: BoolArray | None = None,
) -> FloatArray:
    """Best feasible scaling (B,) of each u (B, k).

    Where `cleared` (B,), u is orthogonal to the features of threshold zero up to rounding, which
    does not count.
    """
    squared = batch.loss == "squared"
    cleared = np.zeros(batch.n_instances, dtype=bool) if cleared is None else cleared
    # A candidate that overflows gives a value that is not finite.
    with np.errstate(over="ignore", invalid="ignore"):
        inner, length = np.sum(batch.c * u, axis=1), np.linalg.norm(u, axis=1)
        largest = best_on_ray(inner, length, batch.s, squared)
    scale = np.ones(batch.n_instances)

    def find(part: slice) -> None:
        buffer = np.empty((2, batch.n_features))
        for b in range(part.start, part.stop):
            if squared and batch.radius[b] > 0:
                continue
            factor = batch.penalty_factor
            scale[b] = feasible_scale(
                correlation[b],
                factor if factor.ndim == 1 else factor[b],
                batch.alpha[b],
                batch.radius[b],
                batch.positive,
                largest[b],
                cleared[b],
                buffer,
            )

    map_slices(find, batch.n_instances, n_threads)
    return scale


def _free_unpenalised(
    batch: Batch, u: FloatArray, correlation: RealArray
) -> tuple[FloatArray, BoolArray, FloatArray]:
    """Shrink the part of u seen by features of threshold zero until it fits the radius.

    What the penalised features use of the radius is left to them. Returns the points, which of
    them moved, and how far (B,) a point of length one may be from one that such features do not
    see.
    """
    # Instances of one row set share the rows of their unpenalised features.
    spans: dict[tuple[int, bytes], Unpenalised] = {}
    moved = np.zeros(batch.n_instances, dtype=bool)
    smooth = (batch.radius > 0) if batch.loss == "squared" else moved
    some_free = bool((batch.penalty_factor == 0).any())
    freed, doubts = u.copy(), np.zeros(batch.n_instances)
    for b in map(int, np.flatnonzero(((batch.alpha == 0) | some_free) & ~smooth)):
        thresholds = batch.thresholds(b)
        over = soft_threshold(correlation[b].astype(np.float64), thresholds, batch.positive)
        is_free = thresholds == 0
        free, others = np.flatnonzero(is_free), over[~is_free]
        violation = float(np.linalg.norm(over[free]))
        left = float(radius_left(batch.radius[b], float(others @ others)))
        if violation > left:
            shrinkage = 1.0 - left / violation
            key = int(batch.root_of[b]), free.tobytes()
            if key not in spans:
                rows = batch.unpenalised_rows(b, free)
                spans[key] = Unpenalised.of(rows.T, batch.positive)
            span = spans[key]
            if shrinkage < 1.0:
                freed[b] = u[b] - shrinkage * span.projection(u[b][:, None])[:, 0]
            else:
                freed[b] = span.clear(u[b][:, None])[:, 0]
                doubts[b] = span.doubt
            moved[b] = True
    return freed, moved, doubts


def dual_value(batch: Batch, point: FloatArray, correlation: RealArray | None = None) -> FloatArray:
    """Dual objective (B,) at feasible points (B, k)."""
    squared = batch.loss == "squared"
    inner, square = np.sum(batch.c * point, axis=1), np.sum(point**2, axis=1)
    value: FloatArray = dual_objective(inner, square, batch.s, squared)
    if not squared:
        return value
    smooth = np.flatnonzero(batch.radius > 0)
    if smooth.size:
        part = batch.take(smooth)
        seen = correlate(part, point[smooth]) if correlation is None else correlation[smooth]
        thresholds = np.stack([part.thresholds(b) for b in range(part.n_instances)])
        over = soft_threshold(seen.astype(np.float64), thresholds, batch.positive)
        value[smooth] -= 0.5 * np.sum(over**2, axis=1) / part.radius**2
    return value


def certify_batch(
    batch: Batch,
    coef: Coefficients,
    u: FloatArray,
    correlation: RealArray | None = None,
    n_threads: int = 1,
) -> Certificate:
    """Certificate of coefficients with the help of dual candidates.

    Coefficients are (B, n). Any candidates u (B, k) give a valid proof, feasible or not; good ones
    give a tight one. `correlation` (B, n) is R u, where the caller has it already.
    """
    point, scale, unsure = feasible_dual(batch, u, correlation, n_threads)
    unmoved = bool(np.all(scale == 1.0))
    return Certificate(
        primal=primal_value(batch, coef, n_threads),
        dual=dual_value(batch, point, correlation if unmoved else None) - unsure,
        null=null_value(batch),
        point=point,
        scale=scale,
    )
