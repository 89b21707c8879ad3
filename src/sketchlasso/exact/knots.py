"""Gram matrices that only grow, and solutions of a chain along the knots of its path on them.

The entries of a row set are sums over its training rows. Where most rows train they are the
total's less the held-out rows', so that a column costs a full pass once and a pass over the
held-out rows per fold. A column that keeps next to nothing of its weight would keep only
rounding: its entries are summed again.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from sketchlasso.exact.columns import Columns, TrainingRows
from sketchlasso.exact.point import Target
from sketchlasso.kernels.gram_path import GramFace, GramProblem, blank_solutions, walk_gram
from sketchlasso.problem.terms import spread_factors
from sketchlasso.types import BoolArray, FloatArray, IntArray

# With more active columns a knot costs more than a penalty of another solver.
MOST_ACTIVE = 1000
NO_COLUMNS = np.empty(0, dtype=np.int64)
# A column that keeps less than this share of its weight is not trusted to a downdate.
SAFE_SHARE = 1e-4
# A column whose spread is below this share of its sum of squares is constant up to rounding.
CONSTANT = 1e-12
# Columns that a Gram matrix has space for at first.
FIRST_ROOM = 256
# The Gram matrix of this many columns takes 2 GiB; more enter only in place of others.
MOST_COLUMNS = 16_000


class _Growing:
    """A symmetric matrix with room to grow.

    Attributes
    ----------
    buffer : ndarray of shape (c, c), c >= count
        Its leading (count, count) part is the matrix.
    columns : ndarray of shape (count,)
        In the order of the matrix.
    place : ndarray of shape (n,)
        Position of each of n columns, negative for those not held.
    """

    def __init__(self, n_features: int) -> None:
        self.buffer = np.empty((FIRST_ROOM, FIRST_ROOM))
        self.columns = np.empty(0, dtype=np.intp)
        self.place = np.full(n_features, -1, dtype=np.intp)

    @property
    def count(self) -> int:
        """Columns held."""
        return len(self.columns)

    def missing(self, wanted: IntArray) -> IntArray:
        """The wanted columns that the matrix does not hold."""
        return wanted[self.place[wanted] < 0]

    def append(self, new: IntArray, lines: FloatArray) -> None:
        """Add columns with their Gram lines (new, old and new)."""
        before, after = self.count, self.count + len(new)
        if after > len(self.buffer):
            # Two thirds more: copies stay rare, and memory is not doubled.
            room = max(after, 5 * len(self.buffer) // 3)
            grown = np.empty((room, room))
            grown[:before, :before] = self.buffer[:before, :before]
            self.buffer = grown
        self.buffer[before:after, :after] = lines
        self.buffer[:before, before:after] = lines[:, :before].T
        self.place[new] = np.arange(before, after)
        self.columns = np.concatenate([self.columns, new])

    def keep(self, kept: BoolArray) -> None:
        """Forget the columns that are not marked (count,); the others change their places."""
        places = np.flatnonzero(kept)
        # In place: a row moves up to one that has moved already, or stays.
        for row, place in enumerate(places):
            self.buffer[row, : len(places)] = self.buffer[place, places]
        self.columns = self.columns[places]
        self.place[:] = -1
        self.place[self.columns] = np.arange(len(places))


class TotalGram:
    """Gram matrix of the (shifted) columns over all rows, for the columns requested so far."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._held = _Growing(columns.shape[1])
        self._lock = threading.Lock()

    def lines(self, new: IntArray, chosen: IntArray) -> FloatArray:
        """Entries of new and chosen columns (new, chosen)."""
        held = self._held
        with self._lock:
            absent = held.missing(np.union1d(new, chosen))
            if len(absent):
                every = np.concatenate([held.columns, absent])
                held.append(absent, self._columns.gram(absent, every))
            buffer, rows, columns = held.buffer, held.place[new], held.place[chosen]
        return buffer[np.ix_(rows, columns)]


class TrainingGram(_Growing):
    """Centred Gram matrix of a row set, for the columns that one chain of problems uses.

    It is the `total` of all rows less that of the columns on the `held_out` rows (None where no
    row is held out). Without a total it is summed from the training rows.
    """

    def __init__(
        self, training: TrainingRows, total: TotalGram | None, held_out: Columns | None
    ) -> None:
        super().__init__(training.columns.shape[1])
        self._training = training
        self._total = total
        self._held_out = held_out
        self.rebuilt = 0

    @property
    def room(self) -> int:
        """How many more columns may be added."""
        return max(MOST_COLUMNS - self.count, 0)

    def include(self, wanted: IntArray) -> int:
        """Add the missing columns; returns how many."""
        new = self.missing(wanted)
        if len(new):
            every = np.concatenate([self.columns, new])
            lines = self._sums(new, every)
            inside = slice(self.count, len(every))
            before = np.diagonal(lines[:, inside]).copy()
            centre = self._training.shifted_sums
            lines -= np.outer(centre[new] / self._training.weight, centre[every])
            # What centring leaves of a constant column is rounding, not a column.
            constant = np.diagonal(lines[:, inside]) <= CONSTANT * before
            lines[constant] = 0.0
            lines[:, inside][:, constant] = 0.0
            self.append(new, lines)
        return len(new)

    def _sums(self, new: IntArray, chosen: IntArray) -> FloatArray:
        """Gram lines before centring (new, chosen)."""
        training = self._training
        if self._total is None:
            return training.columns.gram(new, chosen, training.gram_weights)
        lines = self._total.lines(new, chosen)
        if self._held_out is None:
            return lines
        before = np.diagonal(lines[:, len(chosen) - len(new) :]).copy()
        lines -= self._held_out.gram(new, chosen)
        after = np.diagonal(lines[:, len(chosen) - len(new) :])
        unsafe = after < SAFE_SHARE * before
        if unsafe.any():
            again = training.columns.gram(new[unsafe], chosen, training.gram_weights)
            lines[unsafe] = again
            inside = np.flatnonzero(unsafe) + len(chosen) - len(new)
            lines[:, inside] = again[:, len(chosen) - len(new) :].T
            self.rebuilt += int(unsafe.sum())
        return lines


@dataclass(frozen=True, eq=False)
class Stretch:
    """Solutions along a stretch of the path, from larger to smaller penalties.

    Attributes
    ----------
    points : list of (ndarray of shape (s,), ndarray of shape (s,))
        Columns of X and their coefficients, one pair per solution; some may be zero.
    lambdas, squares, inner, worst, l1 : ndarray of shape (found,)
        lambda, ||r||^2, y'r, the largest |x_j'r| / f_j of the columns in use, and
        sum_j f_j |w_j|.
    knots : int
    """

    points: list[tuple[IntArray, FloatArray]]
    lambdas: FloatArray
    squares: FloatArray
    inner: FloatArray
    worst: FloatArray
    l1: FloatArray
    knots: int

    def __len__(self) -> int:
        return len(self.points)


class KeptFace:
    """Arrays of the kernel that are kept between walks.

    Attributes
    ----------
    count : int
        Active columns of the face where the last walk ended; -1 where it cannot be used.
    begun : int
        Those of the face where the next walk begins; -1 where there is none yet.
    """

    def __init__(self) -> None:
        self.count = self.begun = -1
        self._L = np.empty((0, 0))
        self._active, self._slopes = np.empty(0, dtype=np.int64), np.empty(0)

    def arrays(self, most: int, p: int) -> GramFace:
        """Room for `most` active columns among p; a new size forgets the face."""
        if len(self._active) != most:
            self._L = np.zeros((most, most))
            self._active, self._slopes = np.zeros(most, dtype=np.int64), np.zeros(most)
            self.begun = -1
        return GramFace(
            self._L,
            self._active,
            self._slopes,
            np.zeros(most),
            np.zeros(most),
            np.empty(p),
            np.empty(p),
            np.empty(p, dtype=bool),
            np.empty(p),
        )


class KnotWalk:
    """A place on the path of one response on one row set, and the way down from there.

    The walk only proposes solutions: it uses the columns that the Gram matrix holds, to the
    precision of that matrix.

    Attributes
    ----------
    exact_end : tuple of ndarrays of shape (s,) or None
        Where the last walk came to the exact fit that ends the path, before its first penalty: the
        columns of X, their coefficients, and those of the dual direction.
    """

    def __init__(self, target: Target, gram: TrainingGram) -> None:
        self._target, self._gram = target, gram
        self._v = target.training.correlate(target.y)
        self._support, self._signs, self._level = NO_COLUMNS, np.empty(0), np.inf
        # The face where the last walk ended, and its stretch.
        self._face = KeptFace()
        self._ended: Stretch | None = None
        self.exact_end: tuple[IntArray, FloatArray, FloatArray] | None = None

    @staticmethod
    def possible(target: Target) -> bool:
        """Whether every column has a penalty, so that the path starts at zero."""
        return len(target.free) == 0 and target.null > 0

    def find(self, penalties: FloatArray, squared: bool) -> Stretch:
        """Solutions for a leading part of decreasing penalties (a,); the place stays.

        Penalties are values of alpha, or of lambda where `squared`.
        """
        columns = self._gram.columns
        rows = int(np.count_nonzero(self._target.training.weights))
        most = min(len(columns), rows, MOST_ACTIVE)
        out = blank_solutions(len(penalties), most)
        done, knots, ended = 0, 0, -1
        self.exact_end = None
        if most > 0 and len(self._support) <= most:
            arrays = self._face.arrays(most, len(columns))
            done, knots, ended, exact = walk_gram(
                self._problem(squared),
                arrays,
                self._face.begun,
                self._gram.place[self._support],
                self._signs,
                self._level,
                penalties,
                out,
            )
            if exact and done == 0:
                active, b, z = (part[:ended] for part in (arrays.active, arrays.b, arrays.z))
                self.exact_end = columns[active], b, z
        points = [
            (columns[out.indices[i, :count]], out.values[i, :count].copy())
            for i, count in enumerate(out.counts[:done].tolist())
        ]
        lambdas, squares, inner, worst, l1 = out.facts[:done].T
        stretch = Stretch(points, lambdas, squares, inner, worst, l1, knots)
        # Only a walk that came to its last penalty ends on the face of its last solution.
        whole = done == len(penalties)
        self._face.begun, self._ended = -1, stretch
        self._face.count = ended if whole else -1
        return stretch

    def _problem(self, squared: bool) -> GramProblem:
        columns = self._gram.columns
        return GramProblem(
            self._gram.buffer,
            self._v[columns],
            self._target.null**2,
            self._target.factor[columns] * spread_factors(columns),
            self._target.positive,
            squared,
        )

    def move_to(self, stretch: Stretch, number: int) -> None:
        """Go to one of the solutions of a stretch."""
        support, values = stretch.points[number]
        self._support, self._signs = support[values != 0], np.sign(values[values != 0])
        self._level = float(stretch.lambdas[number])
        there = stretch is self._ended and number == len(stretch) - 1
        # Coefficients that have just reached zero are still on the face, but not in the support.
        there = there and len(self._support) == self._face.count
        self._face.begun = self._face.count if there else -1
