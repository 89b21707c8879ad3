"""Gram matrices that only grow: one of all rows, and those of row sets by downdating it.

The entries of a row set are sums over its training rows. Where most rows train they are the
total's less the held-out rows', so that a column costs a full pass once and a pass over the
held-out rows per fold. A column that keeps next to nothing of its weight would keep only
rounding: its entries are summed again.
"""

from __future__ import annotations

import threading

import numpy as np

from sketchlasso.exact.columns import Columns
from sketchlasso.exact.training import TrainingRows
from sketchlasso.types import FloatArray, IntArray

__all__ = ["TotalGram", "TrainingGram"]

# A column that keeps less than this share of its weight is not trusted to a downdate.
SAFE_SHARE = 1e-4
# A column whose spread is below this share of its sum of squares is constant up to rounding.
CONSTANT = 1e-12
# Columns that a Gram matrix has space for at first.
FIRST_ROOM = 256
# The Gram matrix of this many columns takes 2 GiB; no more columns enter.
MOST_COLUMNS = 16_000


class _Growing:
    """A symmetric matrix with room to grow; the leading (count, count) part counts."""

    def __init__(self, n_features: int) -> None:
        self.buffer = np.empty((FIRST_ROOM, FIRST_ROOM))
        self.columns = np.empty(0, dtype=np.intp)
        self.place = np.full(n_features, -1, dtype=np.intp)

    @property
    def count(self) -> int:
        """Columns held."""
        return len(self.columns)

    def missing(self, wanted: IntArray) -> IntArray:
        """Columns that are not here yet."""
        return wanted[self.place[wanted] < 0]

    def append(self, new: IntArray, lines: FloatArray) -> None:
        """Add columns with their Gram lines (new, old and new)."""
        before, after = self.count, self.count + len(new)
        if after > len(self.buffer):
            # Room for two thirds more: enough to copy seldom, not to hold twice the memory.
            room = max(after, 5 * len(self.buffer) // 3)
            grown = np.empty((room, room))
            grown[:before, :before] = self.buffer[:before, :before]
            self.buffer = grown
        self.buffer[before:after, :after] = lines
        self.buffer[:before, before:after] = lines[:, :before].T
        self.place[new] = np.arange(before, after)
        self.columns = np.concatenate([self.columns, new])


class TotalGram:
    """Gram matrix of the (shifted) columns over all rows, for the columns asked for so far."""

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
                everyone = np.concatenate([held.columns, absent])
                held.append(absent, self._columns.gram(absent, everyone))
            buffer, rows, columns = held.buffer, held.place[new], held.place[chosen]
        return buffer[np.ix_(rows, columns)]


class TrainingGram:
    """Centred Gram matrix of a row set, for the columns one chain of problems works with.

    Parameters
    ----------
    training : TrainingRows
    total : TotalGram or None
        Gram matrix of all rows to subtract the held-out rows from; None sums afresh.
    held_out : Columns or None
        The columns on the held-out rows; None where none is held out.
    """

    def __init__(
        self, training: TrainingRows, total: TotalGram | None, held_out: Columns | None
    ) -> None:
        self._training = training
        self._total = total
        self._held_out = held_out
        self._held = _Growing(training.columns.shape[1])
        self.rebuilt = 0

    @property
    def buffer(self) -> FloatArray:
        """Matrix (c, c), c >= p, whose leading (p, p) part is the Gram matrix."""
        return self._held.buffer

    @property
    def columns(self) -> IntArray:
        """The p columns, in the order of the matrix."""
        return self._held.columns

    @property
    def room(self) -> int:
        """How many more columns may be added."""
        return max(MOST_COLUMNS - self._held.count, 0)

    @property
    def place(self) -> IntArray:
        """Position of each of n columns, negative for those not held (n,)."""
        return self._held.place

    def include(self, wanted: IntArray) -> int:
        """Add the missing columns; returns how many."""
        new = self._held.missing(wanted)
        if len(new):
            everyone = np.concatenate([self._held.columns, new])
            lines = self._sums(new, everyone)
            inside = slice(self._held.count, len(everyone))
            before = np.diagonal(lines[:, inside]).copy()
            centre = self._training.shifted_sums
            lines -= np.outer(centre[new] / self._training.weight, centre[everyone])
            # What centring leaves of a constant column is rounding, not a column.
            constant = np.diagonal(lines[:, inside]) <= CONSTANT * before
            lines[constant] = 0.0
            lines[:, inside][:, constant] = 0.0
            self._held.append(new, lines)
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
