"""The radius that equals the sketch's error at the solution it leads to.

    radius = factor * ||(A - QP')w(radius)|| / ||w(radius)||

over the training rows of the instance, less their mean where there is an intercept. The spectral
norm bounds the right-hand side for every w and is several times too large for the w at hand; a
radius that size shrinks the coefficients for errors they do not make. The right-hand side falls
as the radius grows, so there is one fixed point; a secant in log(radius) finds it in a few
warm-started solves. It moves slowly with the penalty: every chain of penalties is searched at a
few of them only, and interpolated between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sketchlasso.data import DataMatrix, ImplicitRows
from sketchlasso.data.block_work import (
    FEW_ENTRIES,
    centred_product,
    strip_of,
)
from sketchlasso.data.storage import dense_product, fastest_form
from sketchlasso.instances import ProblemSet, RowSets
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
# Where even w = 0 was optimal the radius is too large to say more: what to add to its logarithm.
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


def error_lengths(
    sketch: Sketch,
    A: DataMatrix,
    rows: RowSets,
    coef: Any,
    row_set: IntArray,
    fit_intercept: bool,
) -> FloatArray:
    """Return ||(A - QP')w|| over each instance's training rows, less their mean: one pass.

    Parameters
    ----------
    sketch : Sketch
    A : DataMatrix of shape (m, n)
        What was sketched.
    rows : RowSets
    coef : csr_array of shape (b, n)
    row_set : ndarray of shape (b,)
        The row set of each instance.
    fit_intercept : bool
        Whether the mean is taken out.

    Returns
    -------
    ndarray of shape (b,)
    """
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
    squares = found.spread if fit_intercept else found.spread + found.weight * found.mean**2
    return np.sqrt(squares)


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


@dataclass(frozen=True, eq=False)
class RealisedError:
    """Measures ||(A - QP')w|| / ||w|| of instances on their own training rows.

    Attributes
    ----------
    sketch : Sketch
    A : DataMatrix
        What was sketched.
    problems : ProblemSet
    """

    sketch: Sketch
    A: DataMatrix
    problems: ProblemSet

    def __call__(self, coef: Any, instances: IntArray) -> FloatArray:
        """Error (b,) of coefficients (b, n) of so many instances; NaN where they are zero."""
        errors = np.full(len(instances), np.nan)
        lengths = np.sqrt(np.asarray(coef.multiply(coef).sum(axis=1)).ravel())
        problems = self.problems
        at_once = COLUMNS if self.A.blocks.in_memory else BLOCK_COLUMNS
        for block in np.array_split(np.flatnonzero(lengths), -(-len(instances) // at_once)):
            if block.size:
                with self.A.blas_limit():
                    missed = error_lengths(
                        self.sketch,
                        self.A,
                        problems.rows,
                        coef[block],
                        problems.row_set[instances[block]],
                        problems.fit_intercept,
                    )
                errors[block] = missed / lengths[block]
        return errors


def settle_radii(
    problems: ProblemSet,
    error: RealisedError,
    factor: FloatArray,
    chosen: BoolArray,
    solver: Solver,
    settings: Settings,
) -> tuple[FloatArray, Iterates | None, float]:
    """Radii (B,) at their fixed points where chosen, as they are elsewhere, and the seconds.

    In between, solutions near those at these radii, where every instance was searched.

    Parameters
    ----------
    problems : ProblemSet
        With radii to start from.
    error : RealisedError
    factor : ndarray of shape (B,)
        Multiple of the realised error that is wanted.
    chosen : ndarray of shape (B,)
        Which instances follow the rule.
    solver : str
    settings : Settings
        Of the solve to come; the search needs a looser tolerance.
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
        return factor[searched] * error(found.coef, searched)

    _spread(problems, searched, search_radii(radius[searched], error_at), chosen, radius)
    return radius, warm if len(searched) == batch.n_instances else None, seconds


def search_radii(start: FloatArray, error_at: Callable[[FloatArray], FloatArray]) -> RadiusSearch:
    """Search the radii (b,) that equal the errors they lead to.

    Parameters
    ----------
    start : ndarray of shape (b,)
        Radii > 0.
    error_at : callable
        From radii (b,) to the wanted multiple of the errors (b,) at the solutions; NaN where
        the coefficients are zero.
    """
    search = RadiusSearch(np.log(start))
    for number in range(EVALUATIONS):
        search.update(error_at(search.radius), last=number + 1 == EVALUATIONS)
        if search.settled:
            break
    return search


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


class RadiusSearch:
    """A secant in x = log(radius) for h(x) = log(error at x) - x = 0, instance by instance."""

    def __init__(self, start: FloatArray) -> None:
        self.x = start
        self.before: tuple[FloatArray, FloatArray] | None = None
        self.live = np.zeros(len(start), dtype=bool)
        self.settled = False

    @property
    def radius(self) -> FloatArray:
        """The radii (b,) at the present place."""
        return np.exp(self.x)

    def update(self, error: FloatArray, last: bool) -> None:
        """Take the errors at the present radii (NaN: the coefficients were zero), and move."""
        self.live = np.isfinite(error) & (error > 0)
        h = np.where(self.live, np.log(np.where(self.live, error, 1.0)) - self.x, np.nan)
        self.settled = bool((np.abs(h[self.live]) < SETTLED).all() and self.live.any())
        slope = np.full(len(h), FIRST_SLOPE)
        if self.before is not None:
            slope = secant_slope(self.x - self.before[0], h - self.before[1], slope)
        self.before = self.x, h
        self.x = self.x + np.where(self.live, -h / slope, 0.0 if last else TOO_LARGE)


def _spread(
    problems: ProblemSet,
    searched: IntArray,
    search: RadiusSearch,
    chosen: BoolArray,
    radius: FloatArray,
) -> None:
    """Write the radii found into their chains, interpolated in log(alpha)."""
    chain, level = problems.chain, np.log(np.maximum(problems.batch.alpha, 1e-300))
    for number in np.unique(chain[searched]):
        here = np.flatnonzero((chain == number) & chosen)
        known = np.flatnonzero((chain[searched] == number) & search.live)
        if known.size == 0:
            known = np.flatnonzero(chain[searched] == number)
        order = known[np.argsort(level[searched[known]])]
        radius[here] = np.exp(np.interp(level[here], level[searched[order]], search.x[order]))
