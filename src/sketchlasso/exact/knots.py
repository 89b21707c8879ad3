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
from scipy.linalg.blas import dger

from sketchlasso.exact.columns import Columns, TrainingRows
from sketchlasso.exact.point import Target
from sketchlasso.kernels.gram_path import (
    BLIND,
    BLIND_AT,
    DEPENDENT,
    FACTOR,
    FIT,
    MOVE,
    SLOPE,
    GramPath,
    blank_face,
    blank_solutions,
    column_rows,
    walk_gram,
)
from sketchlasso.problem.terms import spread_factors
from sketchlasso.types import BoolArray, FloatArray, IntArray

# With more active columns knots cost more than penalties of another solver: with a Gram matrix of
# all columns, and with one that grows unless there are only few rows, whose paths end early.
MOST_ACTIVE = 1000
MOST_ACTIVE_GROWING = 200
FEW_ROWS = 500
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
    """A symmetric matrix with room to grow."""

    def __init__(self, n_features: int) -> None:
        # (c, c): the leading (count, count) part is the matrix.
        self.buffer = np.empty((FIRST_ROOM, FIRST_ROOM))
        # The columns (count,) in the order of the matrix, and the position of each of all columns
        # (n,), negative for those not held.
        self.columns = np.empty(0, dtype=np.intp)
        self.place = np.full(n_features, -1, dtype=np.intp)

    @property
    def count(self) -> int:
        """Columns held."""
        return len(self.columns)

    def missing(self, wanted: IntArray) -> IntArray:
        """The wanted columns that the matrix does not hold."""
        return wanted[self.place[wanted] < 0]

    def _make_room(self, needed: int) -> None:
        """Have space for some columns; what the buffer holds stays."""
        if needed > len(self.buffer):
            # Two thirds more: copies stay rare, and memory is not doubled.
            room = max(needed, 5 * len(self.buffer) // 3)
            grown = np.empty((room, room))
            grown[: self.count, : self.count] = self.buffer[: self.count, : self.count]
            self.buffer = grown

    def append(self, new: IntArray, lines: FloatArray) -> None:
        """Add columns with their Gram lines (new, old and new), which may become the buffer."""
        before, after = self.count, self.count + len(new)
        if before == 0 and after >= FIRST_ROOM:
            self.buffer = np.ascontiguousarray(lines)
        else:
            self._make_room(after)
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
        every = np.arange(len(buffer))
        if np.array_equal(rows, every) and np.array_equal(columns, every):
            return buffer.copy()
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
            # In place, as a matrix of all columns is large to make.
            scale = -1.0 / self._training.weight
            lines = dger(scale, centre[every], centre[new], a=lines.T, overwrite_a=1).T
            # What centring leaves of a constant column is rounding, not a column.
            constant = np.diagonal(lines[:, inside]) <= CONSTANT * before
            if constant.any():
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
        return lines


@dataclass(frozen=True, eq=False)
class Stretch:
    """Solutions along a stretch of the path, from larger to smaller penalties."""

    # Columns of X (s,) and their coefficients (s,), one pair per solution; some may be zero.
    points: list[tuple[IntArray, FloatArray]]
    lambdas: FloatArray  # (found,), as all below
    squares: FloatArray  # ||r||^2
    inner: FloatArray  # y'r
    worst: FloatArray  # the largest |x_j'r| / f_j of the columns in use
    l1: FloatArray  # sum_j f_j |w_j|
    knots: int

    def __len__(self) -> int:
        return len(self.points)


def begin_face(path: GramPath, support: IntArray, signs: FloatArray) -> int:
    """Factor the face of a support (s,) with its signs; return s, or -1 if columns depend."""
    count, own = len(support), path.G[np.ix_(support, support)]
    try:
        factor = np.linalg.cholesky(own)
    except np.linalg.LinAlgError:
        return -1
    if not (np.diagonal(factor) ** 2 > DEPENDENT * np.diagonal(own)).all():
        return -1
    path.L[:count, :count], path.active[:count] = factor, support
    path.parts[SLOPE, :count] = signs * path.columns[FACTOR, support]
    return count


def bar_columns(path: GramPath, count: int) -> None:
    """Bar the active columns and those of length zero from entering."""
    squares = np.diagonal(path.G)[: path.columns.shape[1]]
    path.columns[BLIND_AT] = BLIND * np.sqrt(np.maximum(squares, 0.0) * path.total)
    path.columns[BLIND_AT, ~(squares > 0.0)] = np.inf
    path.columns[BLIND_AT, path.active[:count]] = np.inf


class KnotWalk:
    """A place on the path of one response on one row set, and the way down from there.

    The walk only proposes solutions: it uses the columns that the Gram matrix holds, to the
    precision of that matrix. A `whole` one holds all columns.
    """

    def __init__(self, target: Target, gram: TrainingGram, whole: bool) -> None:
        self._target, self._gram = target, gram
        self._rows = int(np.count_nonzero(target.training.weights))
        grows = not whole and self._rows > FEW_ROWS
        self._most_active = min(MOST_ACTIVE, MOST_ACTIVE_GROWING) if grows else MOST_ACTIVE
        self._v = target.training.correlate(target.y)
        self._support, self._signs, self._level = NO_COLUMNS, np.empty(0), np.inf
        # The face where the last walk ended, its active columns (-1 where it cannot be used), and
        # its stretch; and the active columns where the next walk begins (-1: not factored yet).
        self._face, self._count = blank_face(0), -1
        self._ended: Stretch | None = None
        self._begun = -1
        # Where the last walk met the exact fit that ends the path, before its first penalty: the
        # columns of X (s,), their coefficients (s,), and those of the dual direction (s,).
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
        most = min(len(columns), self._rows, self._most_active)
        out = blank_solutions(len(penalties), most)
        done, knots, ended = 0, 0, -1
        self.exact_end = None
        if most > 0 and len(self._support) <= most:
            path = self._path(most, squared)
            begun = self._begun
            if begun < 0:
                begun = begin_face(path, self._gram.place[self._support], self._signs)
            bar_columns(path, begun)
            done, knots, ended, exact = walk_gram(path, begun, self._level, penalties, out)
            if exact and done == 0:
                b, z = path.parts[[FIT, MOVE], :ended]
                self.exact_end = columns[path.active[:ended]], b, z
        points = [
            (columns[out.indices[i, :count]], out.values[i, :count].copy())
            for i, count in enumerate(out.counts[:done].tolist())
        ]
        lambdas, squares, inner, worst, l1 = out.facts[:done].T
        stretch = Stretch(points, lambdas, squares, inner, worst, l1, knots)
        # Only a walk that came to its last penalty ends on the face of its last solution.
        whole = done == len(penalties)
        self._begun, self._ended = -1, stretch
        self._count = ended if whole else -1
        return stretch

    def _path(self, most: int, squared: bool) -> GramPath:
        """The problem, and the face with space for `most` active columns."""
        columns = self._gram.columns
        if len(self._face[0]) != most:
            self._face, self._begun = blank_face(most), -1
        factor = self._target.factor[columns] * spread_factors(columns)
        return GramPath(
            self._gram.buffer,
            column_rows(self._v[columns], factor),
            *self._face,
            self._target.null**2,
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
        there = there and len(self._support) == self._count
        self._begun = self._count if there else -1
