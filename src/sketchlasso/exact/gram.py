"""Gram matrices of row sets: of all columns at once, or of the columns a path needs.

The entries of a row set are sums over its training rows. Where rows are held out they are the
total's less those of the rows held out; where the row sets are folds, whose held-out rows are
different ones, the total is the sum of these parts, so that all folds together cost one product.
A column that keeps next to nothing of its weight would keep only rounding: it is summed again.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from sketchlasso.exact.columns import Columns, TrainingRows
from sketchlasso.linalg.threads import map_items
from sketchlasso.types import FloatArray, IntArray

# A column that keeps less than this share of its weight is not trusted to a downdate.
SAFE_SHARE = 1e-4
# A column whose spread is below this share of its sum of squares is constant up to rounding.
CONSTANT = 1e-12
# Columns that a Gram matrix has space for at first; memory that is not used costs nothing.
FIRST_ROOM = 2000
# The Gram matrix of this many columns takes 2 GiB; more never enter.
MOST_COLUMNS = 16_000
# Rows of all matrices that are finished at a time, so that they fit the cache.
ROWS = 64


class GrowingMatrix:
    """A symmetric matrix over some columns, with room to grow.

    Entries of `columns` (count,) are the leading part of `buffer` (c, c), in their order; `place`
    (n,) is the position of each of all columns, negative for those not held.
    """

    def __init__(self, n_features: int) -> None:
        room = min(n_features, FIRST_ROOM)
        self.buffer = np.empty((room, room))
        self.columns = np.empty(0, dtype=np.intp)
        self.place = np.full(n_features, -1, dtype=np.intp)

    def missing(self, wanted: IntArray) -> IntArray:
        """The wanted columns that the matrix does not hold."""
        return wanted[self.place[wanted] < 0]

    def append(self, new: IntArray, lines: FloatArray) -> None:
        """Add columns with their Gram lines (new, old and new)."""
        before, after = len(self.columns), len(self.columns) + len(new)
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


class TotalGram(GrowingMatrix):
    """Gram matrix of the (shifted) columns over all rows, for the columns requested so far."""

    def __init__(self, columns: Columns) -> None:
        super().__init__(columns.shape[1])
        self._all = columns
        self._lock = threading.Lock()

    def lines(self, new: IntArray, chosen: IntArray) -> FloatArray:
        """Entries of new and chosen columns (new, chosen)."""
        with self._lock:
            absent = self.missing(np.union1d(new, chosen))
            if len(absent):
                every = np.concatenate([self.columns, absent])
                self.append(absent, self._all.gram(absent, every))
            return self.buffer[np.ix_(self.place[new], self.place[chosen])]


class TrainingGram(GrowingMatrix):
    """Centred Gram matrix of a row set, for the columns that one path uses.

    It is the `total` of all rows less that of the columns on the `held_out` rows (None where no
    row is held out). Without a total it is summed from the training rows. A `whole` one holds all
    columns from the start.
    """

    def __init__(
        self,
        training: TrainingRows,
        total: TotalGram | None = None,
        held_out: Columns | None = None,
        whole: FloatArray | None = None,
    ) -> None:
        self._training, self._total, self._held_out = training, total, held_out
        self.whole = whole is not None
        if whole is None:
            super().__init__(training.columns.shape[1])
        else:
            self.buffer = whole
            self.columns = self.place = np.arange(len(whole))

    def include(self, wanted: IntArray) -> int:
        """Add the missing columns, as far as there is room; returns how many."""
        room = max(MOST_COLUMNS - len(self.columns), 0)
        new = self.missing(np.unique(wanted))[:room]
        if len(new):
            every = np.concatenate([self.columns, new])
            lines = self._sums(new, every)
            inside = slice(len(self.columns), len(every))
            before = np.diagonal(lines[:, inside]).copy()
            sums = self._training.shifted_sums
            lines -= np.outer(sums[new], sums[every] / self._training.weight)
            # What centring leaves of a constant column is rounding, not a column.
            constant = np.diagonal(lines[:, inside]) <= CONSTANT * before
            lines[constant] = 0.0
            lines[:, inside][:, constant] = 0.0
            self.append(new, lines)
        return len(new)

    def _sums(self, new: IntArray, chosen: IntArray) -> FloatArray:
        """Gram lines before centring (new, chosen); the new columns are the last of the chosen."""
        training = self._training
        if self._total is None:
            return training.columns.gram(new, chosen, training.gram_weights)
        lines = self._total.lines(new, chosen)
        if self._held_out is None:
            return lines
        inside = np.arange(len(chosen) - len(new), len(chosen))
        before = np.diagonal(lines[:, inside]).copy()
        lines -= self._held_out.gram(new, chosen)
        unsafe = np.diagonal(lines[:, inside]) < SAFE_SHARE * before
        if unsafe.any():
            again = training.columns.gram(new[unsafe], chosen, training.gram_weights)
            lines[unsafe] = again
            lines[:, inside[unsafe]] = again[:, inside].T
        return lines


def whole_grams(trainings: Sequence[TrainingRows], n_threads: int) -> list[FloatArray]:
    """Centred Gram matrices (n, n) of all columns on every row set.

    Row sets that differ only in the rows they hold out share the products of these rows.
    """
    columns = trainings[0].columns
    base = np.max([training.weights for training in trainings], axis=0)
    alike = all(((one.weights == base) | (one.weights == 0)).all() for one in trainings)
    held_out = [np.flatnonzero((one.weights == 0) & (base > 0)) for one in trainings]
    times = np.bincount(np.concatenate(held_out), minlength=len(base))
    if not (alike and times.any()):
        grams = map_items(lambda one: columns.whole_gram(one.gram_weights), trainings, n_threads)
        _finish(trainings, grams, [], n_threads)
        return grams
    # Where parts share rows, all rows are a part of their own.
    disjoint = (times <= 1).all()
    rest = np.flatnonzero((base > 0) & (times == 0) if disjoint else base > 0)
    *grams, last = map_items(
        lambda rows: columns.rows(rows).whole_gram(base[rows]), [*held_out, rest], n_threads
    )
    _finish(trainings, grams, [*grams, last] if disjoint else [last], n_threads)
    return grams


def _finish(
    trainings: Sequence[TrainingRows],
    grams: list[FloatArray],
    total: list[FloatArray],
    n_threads: int,
) -> None:
    """Make products centred Gram matrices, in place, from their lower triangles.

    Where there are parts of a `total`, the products are those of the rows held out.
    """
    n = len(grams[0])

    def finish(first: int) -> list[FloatArray]:
        """Finish some rows up to the diagonal; the diagonals before centring."""
        part, stop = slice(first, first + ROWS), min(first + ROWS, n)
        whole = sum(one[part, :stop] for one in total)
        before = []
        for training, gram in zip(trainings, grams, strict=True):
            lines, sums = gram[part, :stop], training.shifted_sums
            if total:
                np.subtract(whole, lines, out=lines)
            before.append(np.diagonal(lines, first).copy())
            lines -= np.outer(sums[part], sums[:stop] / training.weight)
            gram[:first, part] = lines[:, :first].T
            corner = lines[:, first:]
            corner[:] = np.tril(corner) + np.tril(corner, -1).T
        return [*before, np.diagonal(whole, first)] if total else before

    diagonals = map_items(finish, range(0, n, ROWS), n_threads)
    before = [np.concatenate(own) for own in zip(*diagonals, strict=True)]
    for training, gram, own in zip(trainings, grams, before, strict=False):
        if total:
            _sum_again(training, gram, np.flatnonzero(own < SAFE_SHARE * before[-1]))
        constant = np.diagonal(gram) <= CONSTANT * own
        if constant.any():
            gram[constant] = 0.0
            gram[:, constant] = 0.0


def _sum_again(training: TrainingRows, gram: FloatArray, unsafe: IntArray) -> None:
    """Replace the lines of some columns by sums over the training rows."""
    if len(unsafe):
        sums = training.shifted_sums
        lines = training.columns.gram(unsafe, np.arange(len(gram)), training.weights)
        lines = lines - np.outer(sums[unsafe], sums / training.weight)
        gram[unsafe], gram[:, unsafe] = lines, lines.T
