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
from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.instances import ProblemSet
from sketchlasso.sketches import Sketch
from sketchlasso.types import FloatArray, IntArray

RadiusLike: TypeAlias = "float | str | RadiusPolicy"
# Multiples of the realised radius that cross-validation chooses from: text likes more of the
# ridge that the robust term is, tall data less; docs/accuracy.md has the table.
SEARCHED = (0.1, 0.3, 1.0, 3.0)
EVALUATIONS = 4
SETTLED = 0.05
# Entries of coefficients or errors that are held at a time.
ENTRIES = 2**24
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

    def level(self, sketch: Sketch) -> float:
        """The radius on a sketch; zero where it is realised, which no sketch tells alone."""
        unit = {"given": 1.0, "spectral": sketch.radius, "realised": 0.0}
        return self.factor * unit[self.kind]

    @classmethod
    def parse(cls, value: RadiusLike) -> RadiusPolicy:
        """Read ``0.5``, ``"spectral"``, ``"realised"``, ``"0.3*spectral"``, ``"2*realised"``."""
        if isinstance(value, RadiusPolicy):
            return value
        text, kind = str(value).replace(" ", ""), "given"
        for name in ("spectral", "realised"):
            if text == name or text.endswith(f"*{name}"):
                text, kind = text[: -len(name) - 1] or "1", name
        try:
            factor = float(text)
        except ValueError:
            factor = np.nan
        if not 0 <= factor < np.inf:
            raise unaccepted(
                "radius",
                value,
                "a number >= 0, 'spectral', 'realised' or a multiple such as '0.3*spectral'",
            )
        return cls(kind, factor)  # type: ignore[arg-type]


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

    A is what was sketched. The mean over the training rows is taken out where there is an
    intercept. NaN where the coefficients are zero.
    """
    m, rows = A.shape[0], problems.rows
    errors = np.full(len(instances), np.nan)
    used = np.flatnonzero(coef.multiply(coef).sum(axis=1))
    at_once = max(1, ENTRIES // max(A.shape))
    for start in range(0, len(used), at_once):
        part = used[start : start + at_once]
        w = coef[part].toarray().T
        inside = np.asarray(sketch.P, dtype=np.float64).T @ w
        with A.blas_limit():
            if isinstance(sketch.Q, ImplicitRows):
                missed = A.matmat(w - sketch.Q.W @ inside)
            else:
                missed = A.matmat(w) - np.asarray(sketch.Q) @ inside
        for number, missing, own in zip(part, missed.T.astype(np.float64), w.T, strict=True):
            weights = rows[int(problems.row_set[instances[number]])].all_weights(m)
            if problems.fit_intercept:
                missing = missing - weights @ missing / weights.sum()
            errors[number] = np.sqrt(weights @ missing**2) / np.linalg.norm(own)
    return errors


def search_radii(
    start: FloatArray,
    error_at: Callable[[FloatArray], FloatArray],
    evaluations: int = EVALUATIONS,
) -> FloatArray:
    """The radii (b,) that equal the errors they lead to, found from a start (b,).

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
    return np.exp(x)
