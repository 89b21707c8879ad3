"""The square-root LASSO on the data themselves: objective, feasible dual, gap.

    minimise over w, b    || y - X w - b ||_W  +  alpha * sum_j f_j |w_j|                      (P)

    maximise over t       y'W t     subject to   ||t||_W <= 1,  |x_j'W t| <= alpha f_j,         (D)
                                                 1'W t = 0 (with an intercept)

(x_j'W t <= alpha f_j alone where w >= 0). Every direction d that unpenalised columns do not
see gives the feasible point a d with the largest a the constraints allow: :func:`lower_bounds`.
At the optimum d is the residual r; where w interpolates r is zero and points nowhere, and d comes
from what the optimum demands of the support A instead,

    x_j'W t = alpha f_j sign(w_j)   for j in A                                                  (S)

With rows scaled by the roots of their weights, Z_A the columns, b = alpha f sign(w), p the shortest
solution of Z_A'p = b and q the residual's direction less what Z_A sees of it, the points

    t = p + beta q,   0 <= beta <= sqrt(1 - ||p||^2)

meet these constraints whatever beta is (:func:`tight_points`): coefficients that are only nearly
optimal cost nothing, while the residual has to be scaled down until its worst violation is gone.

Rounding is counted once: a column may see rounding_of_sums(m) ||x_j|| ||d|| more than was computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from scipy import linalg, optimize

from sketchlasso.errors import InvalidInputError
from sketchlasso.linalg.rows import centre, lengths, rounding_of_sums
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

    `seen` (n, p) is x_j'W d of every column and direction, `factor` is (n,) or (n, p). A direction
    of length one is optimal for the null model at every alpha from this one up.
    """
    limits = np.where((factor > 0) & np.isfinite(factor), factor, np.inf)
    size = seen if positive else np.abs(seen)
    ratios = size / (limits[:, None] if limits.ndim == 1 else limits)
    return np.asarray(np.max(ratios, axis=0, initial=0.0))


def dual_bound(
    seen: FloatArray,
    length: FloatArray,
    inner: FloatArray,
    alphas: FloatArray,
    factor: FloatArray,
    rounding: FloatArray,
    positive: bool,
) -> FloatArray:
    """Dual values (p,) of directions d that unpenalised columns do not see, rounding counted.

    `seen` (n, p) is x_j'W d, `length` (p,) is ||d||_W, `inner` (p,) is y'W d. A column may see
    `rounding` (n,) times the length more than was computed.
    """
    size = (seen if positive else np.abs(seen)) + np.outer(rounding, length)
    return dual_of_ratio(largest_ratio(size, factor, positive=True), length, inner, alphas)


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

    def columns(self, chosen: Any) -> FloatArray:
        """The chosen columns (m, c), centred and scaled."""
        part = self.X[:, chosen]
        part = part if isinstance(part, np.ndarray) else part.toarray()
        return self.scale(np.asarray(part, dtype=np.float64))

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


@dataclass(frozen=True, eq=False)
class Unpenalised:
    """Columns of penalty zero, which a dual point must not correlate with."""

    columns: FloatArray  # (m, q): of length one
    basis: FloatArray  # (m, r): orthonormal, of their span
    positive: bool  # coefficients are >= 0: only a positive correlation is forbidden

    @classmethod
    def of(cls, columns: FloatArray, positive: bool) -> Unpenalised:
        """From columns (m, q) on scaled rows, centred where there is an intercept."""
        units = unit(columns)
        units = units[:, units.any(axis=0)]
        factors: Any = linalg.qr(units, mode="economic", pivoting=True, check_finite=False)
        Q, R = factors[:2]
        rank = int(np.sum(np.abs(np.diagonal(R)) > 1e-13))
        return cls(units, Q[:, :rank], positive)

    def projection(self, directions: FloatArray) -> FloatArray:
        """Projection (m, p) of directions (m, p) on the span, or on the cone where w >= 0."""
        if not self.positive:
            return np.asarray(self.basis @ (self.basis.T @ directions))
        rounding = rounding_of_sums(len(directions)) * np.linalg.norm(directions, axis=0)
        fits = np.zeros((self.columns.shape[1], directions.shape[1]))
        # SciPy's answer may be far off where only rounding is left to fit.
        for i in np.flatnonzero((self.columns.T @ directions > rounding).any(axis=0)):
            try:
                fits[:, i] = optimize.nnls(self.columns, directions[:, i])[0]
            except RuntimeError:  # no convergence: what remains is judged by what columns see
                continue
        return np.asarray(self.columns @ fits)

    def clear(self, directions: FloatArray) -> FloatArray:
        """Directions (m, p) without their projection, or zero where they would prove nothing.

        Twice: the first pass leaves the rounding of the removed part behind.
        """
        size = np.linalg.norm(directions, axis=0)
        for _ in range(2):
            directions = directions - self.projection(directions)
        left = np.linalg.norm(directions, axis=0)
        seen = self.columns.T @ directions
        worst = np.max(seen if self.positive else np.abs(seen), axis=0, initial=0.0)
        # What is left is rounding, or still correlates with an unpenalised column.
        lost = (left <= 1e-10 * size) | (worst > 1e-9 * left)
        return np.where(lost, 0.0, directions)


def lower_bounds(
    view: FullView,
    directions: FloatArray,
    response: FloatArray,
    alphas: FloatArray,
    factor: FloatArray,
    sizes: FloatArray,
    free: Unpenalised | None,
    positive: bool,
) -> tuple[FloatArray, FloatArray]:
    """What directions (m, p) on scaled rows prove for penalties (p,), and what columns see (n, p).

    This is what proves a gap on X. The response (m, p) or (m, 1) is centred and scaled, the factor
    and the `sizes` ||x_j||_W are (n,), and `free` are the columns of factor zero.
    """
    directions = view.centre(directions)
    if free is not None:
        directions = view.centre(free.clear(directions))
    length, inner = lengths(directions), np.sum(response * directions, axis=0)
    seen = view.correlate(directions)
    slack = rounding_of_sums(len(directions)) * sizes
    return dual_bound(seen, length, inner, alphas, factor, slack, positive), seen


def tight_points(
    columns: FloatArray, importance: FloatArray, target: FloatArray, residual: FloatArray
) -> list[FloatArray]:
    """Points (m,) with columns't = target, the best for good coefficients first, or none.

    Columns (m, s) and residual (m,) have rows scaled by the roots of their weights and are centred
    where there is an intercept; the residual has length one. The importance (s,) decides which of
    dependent columns are kept, and which count at all.
    """
    norms = lengths(columns)
    largest = importance.max(initial=0.0)
    # Columns with a smaller part in the fit are taken for zeros.
    used = np.flatnonzero((norms > 0) & (importance > 1e-9 * largest))
    if len(used) == 0:
        return [residual]
    sizes = importance[used] / largest
    factors: Any = linalg.qr(
        columns[:, used] / norms[used] * sizes, mode="economic", pivoting=True, check_finite=False
    )
    Q, R, order = factors
    pivots = np.abs(np.diagonal(R))
    # A column with a smaller share of its length has no direction of its own.
    fails = pivots <= 1e-10 * sizes[order[: len(pivots)]]
    rank = int(np.argmax(fails)) if fails.any() else len(pivots)
    kept, basis = used[order[:rank]], Q[:, :rank]
    wanted = target[kept] / norms[kept] * sizes[order[:rank]]
    p = basis @ linalg.solve_triangular(R[:rank, :rank], wanted, trans="T", check_finite=False)
    if not np.isfinite(p).all():
        return []
    # Twice: the first pass leaves the rounding of what it removes.
    rest = residual - basis @ (basis.T @ residual)
    rest -= basis @ (basis.T @ rest)
    room = 1.0 - float(p @ p)
    longest = [p + np.sqrt(room) * unit(rest[:, None])[:, 0]] if room > 0 else []
    return [*longest, p, p + rest]


def unit(directions: FloatArray) -> FloatArray:
    """Directions (m, p) of length one; those that are zero stay so."""
    largest = np.abs(directions).max(axis=0, initial=0.0)
    directions = directions / np.where(largest > 0, largest, 1.0)
    length = np.linalg.norm(directions, axis=0)
    return np.asarray(directions / np.where(length > 0, length, 1.0))
