"""Columns of penalty zero, which a dual point must not correlate with.

Directions are cleared of them by a projection. Rounding leaves correlations of size eps behind,
which columns that nearly depend on each other amplify: a bound counts what is in doubt against
itself. A column may be left out of the basis of their span only if it is proved to depend on the
others. Where it only seems to, nothing is proved: coefficients of size 1 / eps may fit the rest.

Columns that were standardised and rows of a sketch are different: they are known up to rounding
only. Those that depend on each other up to that rounding are taken for dependent.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, optimize

from sketchlasso.errors import InvalidInputError
from sketchlasso.linalg.dependence import depend_exactly
from sketchlasso.linalg.rows import centre, lengths, rounding_of_sums
from sketchlasso.problem.batch import ROUNDING_OF_SKETCH
from sketchlasso.types import FloatArray

# A direction that keeps no more than this share of its length keeps rounding only.
LOST_SHARE = 1e-10
# A cleared direction correlates with no unpenalised column by more than this.
CLEARED_SHARE = 1e-12
# Nothing is proved where a cleared direction may be further than this from a feasible one.
MOST_DOUBT = 1e-6


@dataclass(frozen=True, eq=False)
class UnpenalisedColumns:
    """Columns of penalty zero and the projection on their span, or on their cone."""

    columns: FloatArray  # (m, q): rows scaled by the root of their weights, of length one or zero
    basis: FloatArray  # (m, r): orthonormal, of their span
    inverse: FloatArray  # (q, r): columns @ inverse = basis
    hidden: FloatArray  # (q,): rounding of what the columns see of a direction of length one
    complete: bool  # whether the basis is proved to span them all
    positive: bool  # coefficients are >= 0: only a positive correlation is forbidden

    @cached_property
    def distance(self) -> float:
        """How far a cleared direction of length one may be from a feasible one.

        Rounding hides correlations of size eps, which columns that nearly depend on each other
        amplify.
        """
        if not self.complete:
            return np.inf
        return float(np.linalg.norm(self.hidden @ np.abs(self.inverse)))

    @property
    def in_doubt(self) -> bool:
        """Whether that distance counts."""
        return self.distance > CLEARED_SHARE

    def doubt(self, products: FloatArray) -> FloatArray:
        """By how much z'd (p,) may differ between those two directions.

        The products (p, r) are z'basis of p vectors z (m,). With z = columns b up to a part that
        both directions see alike, it is what rounding hides of b.
        """
        return np.asarray(np.abs(products @ self.inverse.T) @ self.hidden)

    def clear(self, directions: FloatArray) -> FloatArray:
        """Directions (m, p) without their projection, or zero where they would prove nothing."""
        return np.zeros_like(directions) if self.distance > MOST_DOUBT else self.project(directions)

    def project(self, directions: FloatArray) -> FloatArray:
        """Directions (m, p) with their projection on these columns removed.

        Twice: the first pass leaves the rounding of the removed part behind, which scaling
        to the boundary would amplify. Where nothing else is left the direction becomes zero.
        """
        size = np.linalg.norm(directions, axis=0)
        for _ in range(2):
            directions = directions - self.projection(directions)
        left = np.linalg.norm(directions, axis=0)
        lost = left <= LOST_SHARE * size
        if self.positive:
            # The fit may stop early, and a point that is not feasible proves nothing.
            seen = np.max(self.columns.T @ directions, axis=0, initial=0.0)
            lost |= seen > CLEARED_SHARE * left
        return np.where(lost, 0.0, directions)

    def projection(self, directions: FloatArray) -> FloatArray:
        """Projection (m, p) of directions (m, p) on the span, or on the cone where w >= 0."""
        if not self.positive:
            return np.asarray(self.basis @ (self.basis.T @ directions))
        fits = [self._nonnegative_fit(direction) for direction in directions.T]
        return np.asarray(self.columns @ np.column_stack(fits))

    def _nonnegative_fit(self, direction: FloatArray) -> FloatArray:
        rounding = rounding_of_sums(len(direction)) * np.linalg.norm(direction)
        if not (self.columns.T @ direction > rounding).any():
            # Only rounding is left to fit, and SciPy's answer to that may be far off.
            return np.zeros(self.columns.shape[1])
        try:
            return np.asarray(optimize.nnls(self.columns, direction)[0])
        except RuntimeError:  # no convergence: what remains is judged by what it correlates with
            return np.zeros(self.columns.shape[1])


def outward(seen: FloatArray, unsure: FloatArray, positive: bool) -> FloatArray:
    """Sizes (...,) that correlations (...,), unsure by (...,), may have at most.

    They are used like correlations. Where w >= 0 only the upper side counts.
    """
    return np.asarray((seen if positive else np.abs(seen)) + unsure)


def unpenalised_columns(
    entries: FloatArray, weights: FloatArray, centred: bool, positive: bool, rounded: bool
) -> UnpenalisedColumns:
    """Prepare the clearing of columns.

    The entries (m, q) are those given, of any finite length; the weights are (m,). Where `centred`
    an intercept is a column too, and where `rounded` entries are known up to rounding only.
    Refuses columns that the weights make overflow.
    """
    root = np.sqrt(weights)[:, None]
    columns = root * (centre(entries, weights)[0] if centred else entries)
    if not np.isfinite(columns).all():
        raise InvalidInputError(
            "a column of X that has no penalty overflows when its rows are weighted; divide X or "
            "sample_weight by a constant so that their products are finite."
        )
    sizes, rounding = lengths(columns), rounding_of_sums(len(columns))
    # What an intercept takes off is rounded too.
    whole = lengths(root * entries) if centred else sizes
    hidden = rounding * np.divide(whole, sizes, out=np.zeros_like(sizes), where=sizes > 0)
    # Only what rounding explains may be a dependence.
    basis, inverse, columns = _span(columns, sizes, rounding)
    rank, used = basis.shape[1], weights > 0
    complete = (
        rounded
        or rank in (columns.shape[1], int(used.sum()) - centred)
        or _is_complete(entries[used], columns, sizes, rank, centred)
    )
    return UnpenalisedColumns(columns, basis, inverse, hidden, complete, positive)


def unpenalised_rows(rows: FloatArray, positive: bool, rounded: bool = True) -> UnpenalisedColumns:
    """Prepare the clearing of unpenalised features of a sketch, whose rows (q, k) are given."""
    columns = rows.T
    if not rounded:
        return unpenalised_columns(columns, np.ones(len(columns)), False, positive, rounded=False)
    basis, inverse, columns = _span(columns, lengths(columns), ROUNDING_OF_SKETCH)
    hidden = np.full(len(rows), rounding_of_sums(rows.shape[1]))
    return UnpenalisedColumns(columns, basis, inverse, hidden, True, positive)


def _span(
    columns: FloatArray, sizes: FloatArray, negligible: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Basis (m, r), inverse (q, r), and columns (m, q) divided by their sizes (q,).

    Singular values up to a negligible share of the largest are taken for zero.
    """
    columns = columns / np.where(sizes > 0, sizes, 1.0)
    basis, values, coordinates = np.linalg.svd(columns, full_matrices=False)
    kept = values > negligible * values.max(initial=0.0)
    return basis[:, kept], coordinates[kept].T / values[kept], columns


def _is_complete(
    entries: FloatArray, columns: FloatArray, sizes: FloatArray, rank: int, centred: bool
) -> bool:
    """Whether `rank` columns are proved to span all of them.

    The columns (m, q) are the entries (used rows, q), centred and divided by their sizes (q,).
    """
    factors: Any = linalg.qr(columns, mode="r", pivoting=True, check_finite=False)
    R, order = factors
    basis, others = order[:rank], order[rank:]
    weights = linalg.solve_triangular(R[:rank, :rank], R[:rank, rank:], check_finite=False)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        weights = weights * (sizes[others] / sizes[basis][:, None])
    return depend_exactly(entries, basis, others, weights, centred)
