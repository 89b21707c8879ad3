"""The search of :mod:`sketchlasso.solvers.sizes` for penalties, all instances in lock-step.

Every instance walks down the penalties on its own working rows, and again on more rows where a row
outside would enter, in double precision.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from sketchlasso.kernels.support import (
    ENTRY,
    SEARCH_ROUNDS,
    SHARE_OF_INTERPOLATION,
    rows_at_a_time,
)
from sketchlasso.linalg.device import Device
from sketchlasso.problem.batch import Batch
from sketchlasso.problem.formulas import largest_penalty, magnitude
from sketchlasso.solvers.algorithms.protocol import Iterates
from sketchlasso.solvers.device.chunk import gathered, widened
from sketchlasso.solvers.device.run import Units, chunk_room, chunk_size
from sketchlasso.solvers.device.tensors import Rows, Tensor
from sketchlasso.solvers.device.walk import Walked, walk_down
from sketchlasso.solvers.device.working import DeviceBatch, SharedFactor
from sketchlasso.types import BoolArray, FloatArray, SparseRows

# Spare slots of a walk beyond the size, and the factor by which they grow.
SPARE_SLOTS = 14
MORE_SLOTS = 4


# Penalties (B,) that were found, zero where none leaves a non-zero coefficient, points to start
# from, and whether each search came to its end (B,); the CPU has to search the others.
Searched: TypeAlias = tuple[FloatArray, Iterates, BoolArray]


def search_on_device(batch: Batch, size: int, device: Device) -> Searched:
    """Search every instance's penalty for `size` non-zeros."""
    units = Units.of(batch)
    with device.at_work():
        alpha, start, found = _searched(units.scaled(batch), size, device)
    return alpha * units.size, replace(start, coef=units.coef(start.coef)), found


def _searched(batch: Batch, size: int, device: Device) -> Searched:
    shared = SharedFactor.of(batch, device)
    each = _kept_bytes(batch, size) + _walk_bytes(batch, rows_at_a_time(size), size + SPARE_SLOTS)
    step = chunk_size(batch, device, each, "search")
    parts = []
    for start in range(0, batch.n_instances, step):
        # The penalty plays no role; with 1 the thresholds are the penalty factors.
        chunk = batch.take(slice(start, start + step))
        chunk = replace(chunk, alpha=np.ones(chunk.n_instances))
        parts.append(_DeviceSizeSearch(chunk, shared, size).run())
    alpha, coef, dual, found = zip(*parts, strict=True)
    rows: Any = sparse.csr_array(sparse.vstack(coef))
    points = Iterates(rows, np.concatenate(dual), np.zeros(batch.n_instances, dtype=np.intp))
    return np.concatenate(alpha), points, np.concatenate(found)


def _kept_bytes(batch: Batch, size: int) -> int:
    """Memory that an instance takes during the whole search."""
    # Features and coefficients, and copies of both when they are widened.
    factors = 8 * batch.n_features if batch.penalty_factor.ndim == 2 else 0
    rows = min(SEARCH_ROUNDS * rows_at_a_time(size), batch.n_features)
    return 32 * rows + 40 * batch.rank + factors


def _walk_bytes(batch: Batch, rows: int, slots: int) -> int:
    """Memory that the walk of an instance takes."""
    rows, slots = min(rows, batch.n_features), min(slots, rows)
    # Rows with two packed copies, vectors over them, the rows in slots, and matrices of slots.
    return rows * (24 * batch.rank + 200) + slots * (24 * batch.rank + 400) + 48 * slots**2


class _DeviceSizeSearch:
    """The search of a chunk of instances."""

    def __init__(self, batch: Batch, shared: SharedFactor, size: int) -> None:
        self.data = DeviceBatch(batch, shared, relative=True)
        self.torch, self.batch, self.size = shared.device.torch, batch, size
        kept = self.data.size * _kept_bytes(batch, size)
        self.room = chunk_room(batch, shared.device) - kept
        self.u = self.data.null_dual()
        nothing = self.data.s * 0
        self.alpha, self.largest = nothing.clone(), nothing.clone()
        self.found = nothing == 0
        width = min(rows_at_a_time(size), batch.n_features)
        self.w = nothing.new_zeros((self.data.size, width))
        self.index = self.torch.zeros_like(self.w, dtype=self.torch.int64)

    def run(self) -> tuple[FloatArray, SparseRows, FloatArray, BoolArray]:
        """Rounds of search on working rows, until no row outside would enter.

        Returns penalties (b,), coefficients (b, n), dual points (b, k) and which are found (b,).
        """
        every = which = self.torch.arange(self.data.size, device=self.u.device)
        for number in range(SEARCH_ROUNDS):
            count = min((number + 1) * rows_at_a_time(self.size), self.batch.n_features)
            self.index, self.w = widened(self.index, self.w, count)
            at_a_time = self._at_a_time(count, self.size + SPARE_SLOTS)
            parts = [self._round(part, count, number) for part in which.split(at_a_time)]
            which = self.torch.cat(parts)
            if len(which) == 0:
                break
        coef = gathered([(every, self.index, self.w)], self.data.size, self.batch.n_features)
        alpha, dual, found = (part.cpu().numpy() for part in (self.alpha, self.u, self.found))
        return alpha, coef, dual, found

    def _at_a_time(self, rows: int, slots: int) -> int:
        """Walks that there is memory for."""
        return max(1, self.room // _walk_bytes(self.batch, rows, slots))

    def _round(self, which: Tensor, count: int, number: int) -> Tensor:
        """Search on `count` working rows; returns which searches may have to be repeated."""
        known = self.index[which] if number else None
        chosen = self.data.choose(self.u[which], which, known, count)
        if number == 0:
            self.largest[which] = largest_penalty(
                magnitude(chosen.rows.see(self.u[which]), self.data.positive),
                chosen.rows.thresholds,
                chosen.rows.radius,
            )
            live = self.largest[which] > 0
        else:
            live = self._entering(chosen, which)
        left = live.nonzero().squeeze(1)
        if len(left) == 0:
            return left
        which = which[left]
        walked = self._walk(chosen.rows.take(left), self.largest[which])
        end = SHARE_OF_INTERPOLATION * self.largest[which]
        self.alpha[which] = walked.alpha.where(walked.alpha.isfinite(), end)
        self.index[which], self.w[which] = chosen.index[left], walked.w
        self.u[which], self.found[which] = walked.u, walked.found
        return which[(walked.few & walked.found).nonzero().squeeze(1)]

    def _walk(self, rows: Rows, largest: Tensor) -> Walked:
        """Walk down, with more slots where there are too few."""
        width, slots = rows.thresholds.shape[1], self.size + SPARE_SLOTS
        walked = walk_down(rows, largest, self.size, slots)
        while bool(walked.crowded.any()):
            slots *= MORE_SLOTS
            crowded = walked.crowded.nonzero().squeeze(1)
            for part in crowded.split(self._at_a_time(width, slots)):
                again = walk_down(rows.take(part), largest[part], self.size, slots)
                walked.write(part, again)
        return walked

    def _entering(self, chosen: Any, which: Tensor) -> Tensor:
        """Whether a row that was not known exceeds its threshold at the point found (b,)."""
        known = self.index[which]
        place = self.torch.searchsorted(known.contiguous(), chosen.index).clamp(
            max=known.shape[1] - 1
        )
        fresh = known.gather(1, place) != chosen.index
        level = magnitude(chosen.rows.see(self.u[which]), self.data.positive)
        floor = (self.alpha[which] * (1.0 + ENTRY)).unsqueeze(1)
        return (fresh & (level > floor * chosen.rows.thresholds)).any(1)
