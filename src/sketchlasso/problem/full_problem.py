"""The square-root LASSO on the data themselves: objective, feasible dual, gap.

    minimise over w, b    || y - X w - b ||_W  +  alpha * sum_j f_j |w_j|                      (P)

    maximise over t       y'W t     subject to   ||t||_W <= 1,  |x_j'W t| <= alpha f_j,         (D)
                                                 1'W t = 0 (with an intercept)

(x_j'W t <= alpha f_j alone where w >= 0). Every direction d that unpenalised columns do not
see gives the feasible point a d with the largest a the constraints allow. At the optimum d is
the residual r; where w interpolates r is zero and points nowhere, and d comes from what the
optimum demands of the support A instead,

    x_j'W t = alpha f_j sign(w_j)   for j in A                                                  (S)

as :mod:`sketchlasso.problem.tight_points` explains.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from sketchlasso.errors import InvalidInputError
from sketchlasso.linalg.rows import centre
from sketchlasso.problem.formulas import relative_gap
from sketchlasso.types import FloatArray

# One number, or one per problem.
Values = TypeVar("Values", float, FloatArray)
# Below this share of ||y|| the residual's direction is not trusted alone.
SMALL_RESIDUAL = 1e-3
# Entries of the support's columns up to which the equations of its signs are solved.
MOST_SIGN_ENTRIES = 4_000_000


@dataclass(frozen=True)
class FullValues:
    """Objective of (P) at some coefficients and of (D) at a feasible point."""

    primal: float
    dual: float
    null: float  # the objective at w = 0, the scale of what counts as zero

    @cached_property
    def relative_gap(self) -> float:
        """See :func:`~sketchlasso.problem.formulas.relative_gap`."""
        arrays = (np.array([value]) for value in (self.primal, self.dual, self.null))
        return float(relative_gap(*arrays)[0])

    def joined(self, other: FullValues) -> FullValues:
        """The better objective and the better bound of two certificates of one problem."""
        return FullValues(min(self.primal, other.primal), max(self.dual, other.dual), self.null)


def full_primal(length: Values, alpha: Values, l1: Values) -> Values:
    """||r||_W + alpha sum_j f_j |w_j| from its parts, shapes alike."""
    return length + alpha * l1


def largest_ratio(seen: FloatArray, factor: FloatArray, positive: bool = False) -> FloatArray:
    """max_j |x_j'W d| / f_j (p,) over the penalised columns; without |.| where w >= 0.

    `seen` (n, p) is x_j'W d of every column and direction, `factor` is (n,). A direction of length
    one is optimal for the null model at every alpha from this one up.
    """
    penalised = (factor > 0) & np.isfinite(factor)
    if not penalised.all():
        seen, factor = seen[penalised], factor[penalised]
    size = seen if positive else np.abs(seen)
    return np.asarray(np.max(size / factor[:, None], axis=0, initial=0.0))


def dual_of_ratio(
    worst: FloatArray, length: FloatArray, inner: FloatArray, alpha: FloatArray
) -> FloatArray:
    """Dual values (p,) at a d with the largest a for which that is feasible in (D).

    `worst` (p,) is the :func:`largest_ratio` of every direction d; a negative one limits nothing.
    `length` (p,) is ||d||_W, `inner` (p,) is y'W d.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # NaN stays NaN here, and zero is the scale that is always allowed.
        limit = np.minimum(1.0 / length, np.where(worst <= 0, np.inf, alpha / worst))
    scale = np.where(np.isfinite(limit), limit, 0.0)
    return np.maximum(scale * inner, 0.0)


def face_level(alpha: Any, error: Any, steepness: Any) -> Any:
    """Lambda = alpha ||r|| of the solution whose support and signs are known, a face.

    With Z the columns of the support, e = f sign(w), H = (Z'Z)^-1 and b the least-squares
    solution, the solution is w = b - lambda H e, and ||r||^2 = C + lambda^2 e'H e gives

        lambda = alpha sqrt( C / (1 - alpha^2 e'H e) )

    with `error` C, the squared length of the least-squares residual, and `steepness` e'H e. All
    are numbers or arrays of one shape. NaN where the penalty leaves no room: alpha^2 e'H e >= 1.
    """
    room = 1.0 - np.square(alpha) * steepness
    with np.errstate(divide="ignore", invalid="ignore"):
        return alpha * np.sqrt(error / np.where(room > 0, room, np.nan))


@dataclass(frozen=True, eq=False)
class FullView:
    """X and responses with rows scaled by the roots of their weights."""

    X: Any  # array, sparse matrix or BlockMatrix (m, n)
    weights: FloatArray  # (m,)
    fit_intercept: bool  # whether weighted means are taken off
    # Whether entries of X are known up to rounding only, as after a standardisation.
    rounded: bool

    @cached_property
    def root(self) -> FloatArray:
        """Roots (m,) of the weights."""
        return np.sqrt(self.weights)

    @property
    def size(self) -> float:
        """Entries of X that a product touches."""
        return float(getattr(self.X, "nnz", self.X.shape[0] * self.X.shape[1]))

    def scale(self, values: FloatArray) -> FloatArray:
        """Values (m, p) on the rows, less their weighted mean, scaled."""
        if self.fit_intercept:
            values, _ = centre(values, self.weights)
        return self.root[:, None] * values

    def entries(self, chosen: Any) -> FloatArray:
        """The chosen columns (m, c) as they are."""
        part = self.X[:, chosen]
        part = part if isinstance(part, np.ndarray) else part.toarray()
        return np.asarray(part, dtype=np.float64)

    def columns(self, chosen: Any) -> FloatArray:
        """The chosen columns (m, c), centred and scaled."""
        return self.scale(self.entries(chosen))

    def centre(self, directions: FloatArray) -> FloatArray:
        """Directions on scaled rows less what an intercept sees of them."""
        if not self.fit_intercept:
            return directions
        ones = unit(self.root[:, None])[:, 0]
        for _ in range(2):
            directions = directions - np.outer(ones, ones @ directions)
        return directions

    def correlate(self, directions: FloatArray) -> FloatArray:
        """What the columns see (n, p) of centred directions (m, p) on scaled rows."""
        with np.errstate(over="ignore", invalid="ignore"):
            seen = np.asarray(self.X.T @ (self.root[:, None] * directions))
        if not np.isfinite(seen).all():
            column = int(np.argwhere(~np.isfinite(seen))[0, 0])
            raise InvalidInputError(
                f"column {column} of X holds numbers that are not finite or too large for sums of "
                "them, so that nothing can be proved; scale that column down."
            )
        return seen


def unit(directions: FloatArray) -> FloatArray:
    """Directions (m, p) of length one; those that are zero stay so."""
    largest = np.abs(directions).max(axis=0, initial=0.0)
    directions = directions / np.where(largest > 0, largest, 1.0)
    length = np.linalg.norm(directions, axis=0)
    return np.asarray(directions / np.where(length > 0, length, 1.0))
