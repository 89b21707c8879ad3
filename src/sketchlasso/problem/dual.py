"""The k-dimensional dual with its one constraint, the gap that certifies a solution, and alpha_max.

Square-root loss:

    maximise over u in R^k    c'u + s sqrt(1 - ||u||^2)    subject to   ||S(R u)||_2 <= radius

S is the soft threshold at alpha f_j. Squared loss:

    maximise over u in R^k    c'u - ||u||^2/2 + s^2/2 - ||S(R u)||^2 / (2 radius^2)

with S(R u) = 0 as a constraint when radius = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize

from sketchlasso.kernels.dense import feasible_scale, smallest_penalty
from sketchlasso.linalg.rows import stack_rows
from sketchlasso.linalg.threads import map_slices
from sketchlasso.problem.batch import Batch
from sketchlasso.problem.formulas import (
    best_on_ray,
    dual_objective,
    magnitude,
    null_dual,
    null_value,
    primal_value,
    relative_gap,
    response_length,
    soft_threshold,
)
from sketchlasso.problem.full_problem import Unpenalised
from sketchlasso.types import BoolArray, Coefficients, FloatArray, RealArray, SparseRows

TILE = 8


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

    strip = 64  # threads share the features in multiples of it

    def multiply(strips: slice) -> None:
        features = slice(strips.start * strip, strips.stop * strip)
        np.matmul(padded, batch.P[features].T, out=whole[:, features])

    # Our own threads, not those of BLAS, which keep spinning for milliseconds afterwards.
    map_slices(multiply, -(-batch.n_features // strip), n_threads)
    correlation: RealArray = whole[: len(lifted)]
    if batch.excluded is not None:
        owner = np.repeat(np.arange(batch.n_instances), np.diff(batch.excluded.indptr))
        correlation[owner, batch.excluded.indices] = 0.0
    return correlation


def feasible_dual(
    batch: Batch, u: FloatArray, correlation: RealArray | None = None, n_threads: int = 1
) -> tuple[FloatArray, FloatArray]:
    """Bring any u (B, k) into the dual's domain, moving as little as a scaling allows.

    Where unpenalised features break their constraint u first loses the part that they see. Then u
    is scaled by the a that is best for the dual objective under ||S(a R u)|| <= radius. Returns the
    points (B, k) and the scalings a (B,), NaN where unpenalised features moved the point as well.
    """
    if correlation is None:
        correlation = correlate(batch, u)
    scale = _scales(batch, u, correlation, n_threads)
    point = u * scale[:, None]
    freed, moved = _free_unpenalised(batch, u, correlation)
    if moved.any():
        part, other = batch.take(np.flatnonzero(moved)), freed[moved]
        seen = correlate(part, other)
        other *= _scales(part, other, seen, cleared=part.radius == 0)[:, None]
        # Scaling alone is a valid answer too where the radius leaves unpenalised features room.
        better = (part.radius == 0) | (dual_value(part, other) > dual_value(part, point[moved]))
        use = np.flatnonzero(moved)[better]
        point[use], scale[use] = other[better], np.nan
    return point, scale


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
    scale, factor = np.ones(batch.n_instances), batch.penalty_factor

    def find(part: slice) -> None:
        buffer = np.empty((2, batch.n_features))
        for b in range(part.start, part.stop):
            if squared and batch.radius[b] > 0:
                continue
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
) -> tuple[FloatArray, BoolArray]:
    """Shrink the part of u seen by features of threshold zero until it fits the radius.

    What the penalised features use of the radius is left to them. Returns the points, and which of
    them moved.
    """
    # Instances of one row set share the rows of their unpenalised features.
    spans: dict[tuple[int, bytes], Unpenalised] = {}
    moved = np.zeros(batch.n_instances, dtype=bool)
    smooth = (batch.radius > 0) if batch.loss == "squared" else moved
    some_free = bool((batch.penalty_factor == 0).any())
    freed = u.copy()
    for b in map(int, np.flatnonzero(((batch.alpha == 0) | some_free) & ~smooth)):
        thresholds = batch.thresholds(b)
        over = soft_threshold(correlation[b].astype(np.float64), thresholds, batch.positive)
        is_free = thresholds == 0
        free, others = np.flatnonzero(is_free), over[~is_free]
        violation = float(np.linalg.norm(over[free]))
        left = float(np.sqrt(max(batch.radius[b] ** 2 - others @ others, 0.0)))
        if violation <= left:
            continue
        key = int(batch.root_of[b]), free.tobytes()
        if key not in spans:
            spans[key] = Unpenalised.of(batch.unpenalised_rows(b, free).T, batch.positive)
        if left > 0:
            shrinkage = 1.0 - left / violation
            freed[b] = u[b] - shrinkage * spans[key].projection(u[b][:, None])[:, 0]
        else:
            freed[b] = spans[key].clear(u[b][:, None])[:, 0]
        moved[b] = True
    return freed, moved


def dual_value(batch: Batch, point: FloatArray, correlation: RealArray | None = None) -> FloatArray:
    """Dual objective (B,) at feasible points (B, k)."""
    squared = batch.loss == "squared"
    inner, square = np.sum(batch.c * point, axis=1), np.sum(point**2, axis=1)
    value: FloatArray = dual_objective(inner, square, batch.s, squared)
    smooth = np.flatnonzero(batch.radius > 0)
    if squared and smooth.size:
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
    """Certificate of coefficients with the help of dual candidates; it proves gaps on a sketch.

    Coefficients are (B, n). Any candidates u (B, k) give a valid proof, feasible or not; good ones
    give a tight one. `correlation` (B, n) is R u, where the caller has it already.
    """
    point, scale = feasible_dual(batch, u, correlation, n_threads)
    unmoved = bool(np.all(scale == 1.0))
    return Certificate(
        primal=primal_value(batch, coef, n_threads),
        dual=dual_value(batch, point, correlation if unmoved else None),
        null=null_value(batch),
        point=point,
        scale=scale,
    )


def alpha_max(batch: Batch) -> FloatArray:
    """lambda_max (B,) of every instance: it depends on the radius.

    With no unpenalised feature, zero is optimal exactly when

        || S(R c / sqrt(||c||^2 + s^2)) ||_2 <= radius

    so alpha_max is the root of a decreasing convex function. Unpenalised features are
    fitted first. The batch's own `alpha` plays no role. For the squared loss the radius
    does not matter: alpha_max = max_j |R c|_j / f_j.

    Parameters
    ----------
    batch : Batch

    Returns
    -------
    ndarray of shape (B,)
    """
    # Eight million correlations, which are (instances, n), at a time.
    step = max(1, 2**23 // batch.n_features)
    largest = []
    for start in range(0, batch.n_instances, step):
        part = batch.take(slice(start, start + step))
        null = null_model(part)
        largest.append(largest_penalties(part, correlate(part, null.dual), spent=null.spent))
    return np.concatenate(largest)


def largest_penalties(
    batch: Batch, correlation: RealArray, n_threads: int = 1, spent: FloatArray | float = 0.0
) -> FloatArray:
    """alpha_max (B,) from the correlations (B, n) of the null model's dual points.

    `spent` (B,) is what unpenalised features use up of radius^2; without any it is zero.
    """
    left = np.sqrt(np.maximum(batch.radius**2 - spent, 0.0))
    if batch.loss == "squared":
        left = np.zeros_like(left)
    largest, factor = np.zeros(batch.n_instances), batch.penalty_factor

    def find(part: slice) -> None:
        buffer = np.empty((2, batch.n_features))
        for b in range(part.start, part.stop):
            own = factor if factor.ndim == 1 else factor[b]
            # The correlation of an excluded feature is zero already.
            largest[b] = smallest_penalty(correlation[b], own, batch.positive, left[b], buffer)

    map_slices(find, batch.n_instances, n_threads)
    return largest


@dataclass(frozen=True, eq=False)
class NullModel:
    """The best model that uses unpenalised features only."""

    coef: SparseRows  # (B, n)
    dual: FloatArray  # (B, k): its dual point, optimal as long as alpha >= alpha_max
    spent: FloatArray  # (B,): share of radius^2 that they use up in the dual constraint


def null_model(batch: Batch) -> NullModel:
    """Fit the unpenalised features of every instance; w = 0 where there are none."""
    remainder = batch.c.copy()
    pieces = [(np.empty(0, dtype=np.intp), np.empty(0))] * batch.n_instances
    rows: dict[int, FloatArray] = {}
    some_free = bool((batch.penalty_factor == 0).any())
    for b in range(batch.n_instances) if some_free else ():
        free = np.flatnonzero(batch.factor_row(b) == 0)
        if free.size:
            rows[b] = R = batch.rows(b, free)
            coef = _fit_unpenalised(batch, b, R)
            pieces[b] = (free, coef)
            remainder[b] -= R.T @ coef
            # What rounding leaves of an exact fit points nowhere: no penalty is needed at all.
            size = np.linalg.norm(batch.c[b]) + np.linalg.norm(R) * np.linalg.norm(coef)
            if np.linalg.norm(remainder[b]) <= 16 * np.finfo(np.float64).eps * size:
                remainder[b] = 0.0
    dual = null_dual(remainder, batch.s) if batch.loss == "sqrt" else remainder
    spent = np.zeros(batch.n_instances)
    for b, R in rows.items():
        spent[b] = np.sum(magnitude(R @ dual[b], batch.positive) ** 2)
    return NullModel(stack_rows(pieces, batch.n_features), dual, spent)


def _fit_unpenalised(batch: Batch, b: int, R: FloatArray) -> FloatArray:
    """Minimise the loss plus the ridge term over a few unpenalised coefficients.

    The optimum is a ridge solution whose ridge t satisfies t = radius * loss / ||w||
    (t = radius^2 for the squared loss), a scalar equation with one sign change.
    """
    c, s, radius = batch.c[b], float(batch.s[b]), float(batch.radius[b])

    def ridge(t: float) -> FloatArray:
        stacked = np.vstack([R.T, np.sqrt(t) * np.eye(len(R))])
        target = np.concatenate([c, np.zeros(len(R))])
        if batch.positive:
            return np.asarray(optimize.nnls(stacked, target)[0])
        return np.asarray(np.linalg.lstsq(stacked, target, rcond=None)[0])

    if batch.loss == "squared" or radius == 0.0:
        return ridge(radius**2)
    length = float(response_length(c[None], s)[0])
    if np.linalg.norm(magnitude(R @ c, batch.positive)) <= radius * length:
        return np.zeros(len(R))

    def imbalance(log_t: float) -> float:
        w = ridge(float(np.exp(log_t)))
        loss = float(response_length((c - R.T @ w)[None], s)[0])
        return float(np.exp(log_t)) * float(np.linalg.norm(w)) - radius * loss

    # Beyond the last one rounding would take all of w.
    scale = np.log(np.sum(R**2))
    low, high = scale - 60.0, scale + 20.0
    if imbalance(low) >= 0:
        return ridge(float(np.exp(low)))
    if imbalance(high) <= 0:
        return ridge(float(np.exp(high)))
    return ridge(float(np.exp(optimize.brentq(imbalance, low, high, xtol=1e-14))))
