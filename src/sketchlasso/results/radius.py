"""The radius of an instance: a number, or a rule that finds one from the error of the sketch.

The realised error of a model w is ||(A - QP')w|| / ||w|| over its training rows, less their mean
where there is an intercept. The spectral norm bounds it for every w and is several times too large
for a given one; a radius of that size shrinks the coefficients more than their error warrants. The
realised radius is the one that equals the error of the model it leads to,

    radius = ||(A - QP')w(radius)|| / ||w(radius)||

The right-hand side falls as the radius grows, so there is one fixed point; a secant in log(radius)
finds it in a few solves. It moves slowly with the penalty, so it is found at one penalty of a grid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import numpy as np

from sketchlasso.data import DataMatrix, ImplicitRows
from sketchlasso.data.entries import (
    Moments,
    centred_product,
    dense_product,
    is_sparse,
    rows_of,
    strips,
)
from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.instances import ProblemSet
from sketchlasso.sketches import Sketch
from sketchlasso.types import BoolArray, FloatArray, IntArray

RadiusLike: TypeAlias = "float | str | RadiusPolicy"
# Multiples of the realised radius that cross-validation chooses from: text likes more of the
# ridge that the robust term is, tall data less; docs/accuracy.md has the table.
SEARCHED = (0.1, 0.3, 1.0, 3.0)
EVALUATIONS = 4
SETTLED = 0.05
# Coefficients multiplied with X at a time; more where each time is a pass over blocks.
COLUMNS = 64
BLOCK_COLUMNS = 512
# Slope of the search function where no second point is known, and the slopes to be expected.
FIRST_SLOPE = -1.0 / 0.7
STEEPEST, FLATTEST = -3.0, -0.5
# What to add to log(radius) where w = 0 was optimal, which only shows that it was too large.
TOO_LARGE = -float(np.log(4.0))


@dataclass(frozen=True)
class RadiusPolicy:
    """A rule for the radius.

    ``given``
        The number `factor`; 0 is the non-robust model.
    ``spectral``
        `factor` times a bound on ||X - QP'||_2. With a factor of 1 the objective is never below
        the full one: the paper's guarantee.
    ``realised``
        `factor` times the realised radius: ||(X - QP')w|| / ||w|| at the solution w that it leads
        to. Of several penalties it is found at the middle one, and serves all of them.

    Attributes
    ----------
    kind : {"given", "spectral", "realised"}
    factor : float
    """

    kind: Literal["given", "spectral", "realised"]
    factor: float = 1.0

    def __str__(self) -> str:
        if self.kind == "given":
            return f"{self.factor:g}"
        return self.kind if self.factor == 1.0 else f"{self.factor:g}*{self.kind}"

    def level(self, sketch: Sketch, realised: float) -> float:
        """The radius on a sketch, given the realised radius."""
        unit = {"given": 1.0, "spectral": sketch.radius, "realised": realised}
        return self.factor * unit[self.kind]

    @classmethod
    def parse(cls, value: RadiusLike) -> RadiusPolicy:
        """Read ``0.5``, ``"spectral"``, ``"realised"``, ``"0.3*spectral"``, ``"2*realised"``."""
        if isinstance(value, RadiusPolicy):
            return value
        try:
            if not isinstance(value, str):
                return cls._checked("given", float(value))
            factor, star, name = value.replace(" ", "").rpartition("*")
            if name == "spectral":
                return cls._checked("spectral", float(factor) if star else 1.0)
            if name == "realised":
                return cls._checked("realised", float(factor) if star else 1.0)
            return cls._checked("given", float(value))
        except (TypeError, ValueError):
            raise unaccepted(
                "radius",
                value,
                "a number >= 0, 'spectral', 'realised' or a multiple such as '0.3*spectral'",
            ) from None

    @classmethod
    def _checked(
        cls, kind: Literal["given", "spectral", "realised"], factor: float
    ) -> RadiusPolicy:
        if not 0 <= factor < np.inf:
            raise ValueError(factor)
        return cls(kind, factor)


def given_radius(radius: RadiusLike | Sequence[RadiusLike] | None) -> float:
    """The radius of a problem without a sketch, one number; 0 by default."""
    if radius is None:
        return 0.0
    policies = radius_policies(radius, None)
    if len(policies) != 1 or policies[0].kind != "given":
        raise unaccepted("radius", radius, "one number >= 0 where sketch=None")
    return policies[0].factor


def radius_policies(
    radii: RadiusLike | Sequence[RadiusLike] | None, sketch: Sketch | None, *, search: bool = False
) -> tuple[RadiusPolicy, ...]:
    """Return the policies asked for.

    By default the number the sketch was given, or realised; multiples of it to `search` from.
    """
    if sketch is not None and not isinstance(sketch, Sketch):
        raise InvalidInputError(
            f"sketch={repr(sketch)[:60]} was given, but a Sketch is needed; make one with "
            "sketch(X, method=...), or pass None where the full problem will do."
        )
    if radii is None:
        if sketch is not None and sketch.radius_kind == "given":
            return (RadiusPolicy("given", sketch.radius),)
        if search and (sketch is None or sketch.radius > 0):
            return tuple(RadiusPolicy("realised", factor) for factor in SEARCHED)
        return (RadiusPolicy("realised"),)
    one = isinstance(radii, str | RadiusPolicy) or not isinstance(radii, Sequence | np.ndarray)
    wanted: list[Any] = [radii] if one else list(cast(Sequence[RadiusLike], radii))
    if not wanted:
        raise InvalidInputError("radii is empty; give at least one radius, or leave it out.")
    return tuple(RadiusPolicy.parse(value) for value in wanted)


def realised_error(
    sketch: Sketch, A: DataMatrix, problems: ProblemSet, coef: Any, instances: IntArray
) -> FloatArray:
    """||(A - QP')w|| / ||w|| (b,) of coefficients w (b, n) of instances, on their training rows.

    A is what was sketched. NaN where the coefficients are zero.
    """
    errors = np.full(len(instances), np.nan)
    lengths = np.sqrt(np.asarray(coef.multiply(coef).sum(axis=1)).ravel())
    at_once = COLUMNS if A.X.local else BLOCK_COLUMNS
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
    found: Moments = matrix.run_sum(_moments_of_block, shared, each)
    return np.sqrt(found.spread if problems.fit_intercept else found.about(0.0))


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
) -> Moments:
    """Moments of a block, some rows at a time: its errors are longer than its own rows."""
    size = inside.shape[1]
    found = Moments(np.zeros(size), np.zeros(size), np.zeros(size))
    entries = entries.tocsr() if is_sparse(entries) else entries
    for rows in strips(entries.shape[0], 1, size):
        part = rows_of(entries, rows)
        missed = dense_product(part, coef).astype(np.float64, copy=False)
        missed -= shift
        missed -= (centred_product(part, V, V_shift) if Q is None else Q[rows]) @ inside
        found = found + _moments(missed, columns, tuple(own[rows] for own in weights))
    return found


def _moments(
    missed: FloatArray, columns: tuple[IntArray, ...], weights: tuple[FloatArray, ...]
) -> Moments:
    """Moments of errors (r, b) whose columns have weights (r,) of their own."""
    size = missed.shape[1]
    found = Moments(np.zeros(size), np.zeros(size), np.zeros(size))
    for own, chosen in zip(weights, columns, strict=True):
        total = own.sum()
        part = missed[:, chosen]
        mean = own @ part / total if total > 0 else np.zeros(len(chosen))
        found.weight[chosen] = total
        found.mean[chosen] = mean
        found.spread[chosen] = own @ (part - mean) ** 2
    return found


def search_radii(
    start: FloatArray,
    error_at: Callable[[FloatArray], FloatArray],
    evaluations: int = EVALUATIONS,
) -> tuple[FloatArray, BoolArray]:
    """Logarithms (b,) of the radii that equal the errors they lead to, and where there are errors.

    A secant in x = log(radius) for h(x) = log(error at x) - x = 0, instance by instance. `error_at`
    maps radii (b,) to the wanted multiple of the errors (b,) at the solutions, NaN where the
    coefficients are zero.
    """
    x, slope = np.log(start), np.full(len(start), FIRST_SLOPE)
    before: tuple[FloatArray, FloatArray] | None = None
    for left in reversed(range(evaluations)):
        error = error_at(np.exp(x))
        live = np.isfinite(error) & (error > 0)
        h = np.where(live, np.log(np.where(live, error, 1.0)) - x, np.nan)
        if before is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                slope = np.clip((h - before[1]) / (x - before[0]), STEEPEST, FLATTEST)
            slope = np.where(np.isfinite(slope), slope, FIRST_SLOPE)
        before = x, h
        x = x + np.where(live, -h / slope, TOO_LARGE if left else 0.0)
        if live.any() and (np.abs(h[live]) < SETTLED).all():
            break
    return x, live
