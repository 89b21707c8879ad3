"""The radius that equals the sketch's error at the solution it leads to.

    radius = factor * ||(A - QP')w(radius)|| / ||w(radius)||

over the training rows of the instance, less their mean where there is an intercept. The spectral
norm bounds the right-hand side for every w and is several times too large for a given w; a radius
of that size shrinks the coefficients more than their error warrants. The right-hand side falls as
the radius grows, so there is one fixed point; a secant in log(radius) finds it in a few
warm-started solves. It moves slowly with the penalty: every chain of penalties is searched at a
few of them only, and interpolated between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sketchlasso.data import DataMatrix, ImplicitRows
from sketchlasso.data.block_work import FEW_ENTRIES, centred_product, strip_of
from sketchlasso.data.storage import dense_product, fastest_form
from sketchlasso.instances import ProblemSet
from sketchlasso.sketches import Sketch
from sketchlasso.solvers import Iterates, Settings, Solver, solve_or_raise
from sketchlasso.types import BoolArray, FloatArray, IntArray

# Penalties of a chain at which the fixed point is searched, about.
ANCHORS = 8
EVALUATIONS = 4
SETTLED = 0.05
# The search needs the error at the solution to a few digits only.
SEARCH_TOL = 1e-4
# Coefficients multiplied with X at a time; more where each time is a pass over blocks.
COLUMNS = 64
BLOCK_COLUMNS = 512
# Slope of the search function where no second point is known, and the slopes to be expected.
FIRST_SLOPE = -1.0 / 0.7
STEEPEST, FLATTEST = -3.0, -0.5
# What to add to log(radius) where w = 0 was optimal, which only shows that it was too large.
TOO_LARGE = -float(np.log(4.0))


@dataclass(frozen=True, eq=False)
class _Moments:
    """Weight, mean and squared spread (b,) of columns over some rows."""

    weight: FloatArray
    mean: FloatArray
    spread: FloatArray

    def __add__(self, other: _Moments) -> _Moments:
        weight = self.weight + other.weight
        share = other.weight / np.where(weight > 0, weight, 1.0)
        apart = other.mean - self.mean
        return _Moments(
            weight,
            self.mean + share * apart,
            self.spread + other.spread + self.weight * share * apart**2,
        )


def realised_error(
    sketch: Sketch, A: DataMatrix, problems: ProblemSet, coef: Any, instances: IntArray
) -> FloatArray:
    """||(A - QP')w|| / ||w|| (b,) of coefficients w (b, n) of instances, on their training rows.

    A is what was sketched. NaN where the coefficients are zero.
    """
    errors = np.full(len(instances), np.nan)
    lengths = np.sqrt(np.asarray(coef.multiply(coef).sum(axis=1)).ravel())
    at_once = COLUMNS if A.blocks.in_memory else BLOCK_COLUMNS
    for block in np.array_split(np.flatnonzero(lengths), -(-len(instances) // at_once)):
        if block.size:
            with A.blas_limit():
                missed = _error_lengths(sketch, A, problems, coef[block], instances[block])
            errors[block] = missed / lengths[block]
    return errors


def _error_lengths(
    sketch: Sketch, A: DataMatrix, problems: ProblemSet, coef: Any, instances: IntArray
) -> FloatArray:
    """||(A - QP')w|| (b,) over each instance's training rows, less their mean: one pass.

    The mean is taken out where there is an intercept.
    """
    rows, row_set = problems.rows, problems.row_set[instances]
    A.meter.count(coef.shape[0])
    matrix = A.blocks
    numbers, place = np.unique(row_set, return_inverse=True)
    columns = tuple(np.flatnonzero(place == i) for i in range(len(numbers)))
    scaled = A.transform.unscale(coef)
    shift = A.transform.shift(scaled)
    inside = np.asarray(coef @ np.asarray(sketch.P, dtype=np.float64)).T
    factor: tuple[Any, Any]
    if isinstance(sketch.Q, ImplicitRows):
        factor, parts = A.inner_factor(sketch.Q.W), [None] * matrix.n_blocks
    else:
        factor, parts = (None, None), matrix.split(np.asarray(sketch.Q))
    weights = [matrix.split(rows[int(i)].all_weights(rows.n_samples)) for i in numbers]
    each = [(tuple(own[i] for own in weights), parts[i]) for i in range(matrix.n_blocks)]
    shared = (scaled.T.tocsc(), shift, inside, *factor, columns)
    found: _Moments = matrix.run_sum(_moments_of_block, shared, each)
    if problems.fit_intercept:
        return np.sqrt(found.spread)
    return np.sqrt(found.spread + found.weight * found.mean**2)


def _moments_of_block(
    entries: Any,
    coef: Any,
    shift: FloatArray,
    inside: FloatArray,
    V: Any,
    V_shift: Any,
    columns: tuple[IntArray, ...],
    weights: tuple[FloatArray, ...],
    Q: Any,
) -> _Moments:
    """Moments of a block, some rows at a time: its errors are longer than its own rows."""
    size = inside.shape[1]
    factor = fastest_form(entries, coef)
    found = _Moments(np.zeros(size), np.zeros(size), np.zeros(size))
    step = max(1, FEW_ENTRIES // size)
    for start in range(0, entries.shape[0], step):
        rows = slice(start, min(start + step, entries.shape[0]))
        part = strip_of(entries, rows.start, rows.stop)
        missed = dense_product(part, factor).astype(np.float64, copy=False)
        missed -= shift
        missed -= (centred_product(part, V, V_shift) if Q is None else Q[rows]) @ inside
        found = found + _moments(missed, columns, tuple(own[rows] for own in weights))
    return found


def _moments(
    missed: FloatArray, columns: tuple[IntArray, ...], weights: tuple[FloatArray, ...]
) -> _Moments:
    """Moments of errors (r, b) whose columns have weights (r,) of their own."""
    size = missed.shape[1]
    found = _Moments(np.zeros(size), np.zeros(size), np.zeros(size))
    for own, chosen in zip(weights, columns, strict=True):
        total = own.sum()
        part = missed[:, chosen]
        mean = own @ part / total if total > 0 else np.zeros(len(chosen))
        found.weight[chosen] = total
        found.mean[chosen] = mean
        found.spread[chosen] = own @ (part - mean) ** 2
    return found


def settle_radii(
    problems: ProblemSet,
    error: Callable[[Any, IntArray], FloatArray],
    chosen: BoolArray,
    solver: Solver,
    settings: Settings,
) -> tuple[FloatArray, Iterates | None, float]:
    """Radii (B,) at their fixed points where chosen (B,), as they are elsewhere, and the seconds.

    In between, solutions near those at these radii, where every instance was searched. `error`
    maps coefficients (b, n) of instances (b,) to the wanted multiple of their realised error.
    """
    batch = problems.batch
    radius = batch.radius.copy()
    searched = np.flatnonzero(chosen & (radius > 0) & _anchored(problems))
    if searched.size == 0:
        return radius, None, 0.0
    loose = replace(settings, tol=max(settings.tol, SEARCH_TOL), callback=None)
    part, seconds = batch.take(searched), 0.0
    warm: Iterates | None = None

    def error_at(tried: FloatArray) -> FloatArray:
        nonlocal warm, seconds
        # The first solves start from their neighbours, the others from themselves.
        chain = problems.chain[searched] if warm is None else None
        found = solve_or_raise(replace(part, radius=tried), solver, loose, warm, chain)
        warm = Iterates(found.coef, found.dual_point, np.zeros_like(found.steps))
        seconds += found.seconds
        return error(found.coef, searched)

    x, live = search_radii(radius[searched], error_at)
    _spread(problems, searched, x, live, chosen, radius)
    return radius, warm if len(searched) == batch.n_instances else None, seconds


def search_radii(
    start: FloatArray, error_at: Callable[[FloatArray], FloatArray]
) -> tuple[FloatArray, BoolArray]:
    """Logarithms (b,) of the radii that equal the errors they lead to, and where there are errors.

    A secant in x = log(radius) for h(x) = log(error at x) - x = 0, instance by instance. `error_at`
    maps radii (b,) to the wanted multiple of the errors (b,) at the solutions, NaN where the
    coefficients are zero.
    """
    x, slope = np.log(start), np.full(len(start), FIRST_SLOPE)
    before: tuple[FloatArray, FloatArray] | None = None
    for left in reversed(range(EVALUATIONS)):
        error = error_at(np.exp(x))
        live = np.isfinite(error) & (error > 0)
        h = np.where(live, np.log(np.where(live, error, 1.0)) - x, np.nan)
        if before is not None:
            slope = secant_slope(x - before[0], h - before[1], np.full(len(h), FIRST_SLOPE))
        before = x, h
        x = x + np.where(live, -h / slope, TOO_LARGE if left else 0.0)
        if live.any() and (np.abs(h[live]) < SETTLED).all():
            break
    return x, live


def _anchored(problems: ProblemSet) -> BoolArray:
    """Every few penalties of a chain, the last one included."""
    count = problems.shape[3]
    step = max(1, -(-count // ANCHORS))
    return (problems.alpha_index % step == 0) | (problems.alpha_index == count - 1)


def secant_slope(moved: FloatArray, change: FloatArray, otherwise: FloatArray) -> FloatArray:
    """Slopes (b,) of the search function from changes of x and h; `otherwise` where unknown."""
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.clip(change / moved, STEEPEST, FLATTEST)
    return np.where(np.isfinite(slope), slope, otherwise)


def _spread(
    problems: ProblemSet,
    searched: IntArray,
    x: FloatArray,
    live: BoolArray,
    chosen: BoolArray,
    radius: FloatArray,
) -> None:
    """Write the radii found, exp(x), into their chains, interpolated in log(alpha)."""
    chain, level = problems.chain, np.log(np.maximum(problems.batch.alpha, 1e-300))
    for number in np.unique(chain[searched]):
        here = np.flatnonzero((chain == number) & chosen)
        known = np.flatnonzero((chain[searched] == number) & live)
        if known.size == 0:
            known = np.flatnonzero(chain[searched] == number)
        order = known[np.argsort(level[searched[known]])]
        radius[here] = np.exp(np.interp(level[here], level[searched[order]], x[order]))
