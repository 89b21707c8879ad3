"""The search of :mod:`sketchlasso.solve.sizes` for penalties, all instances in lock-step.

Every instance follows the walk of the kernel `search_size` on its own working rows: down by a fixed
ratio until more coefficients than asked are non-zero, then bisection. The probes of all instances
are solved together, in double precision.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy import sparse

from sketchlasso.kernels.support import (
    ALL_AT_ONCE,
    CLOSE,
    LOST_DIGITS,
    NEARLY_EXACT,
    SMALLEST_SHARE,
    STEP_DOWN,
    TOGETHER,
)
from sketchlasso.linalg.device import Device
from sketchlasso.problem.batch import Batch
from sketchlasso.solve.device.chunk import gathered
from sketchlasso.solve.device.newton import solve_rows
from sketchlasso.solve.device.run import chunk_size
from sketchlasso.solve.device.tensors import Rows, Tensor
from sketchlasso.solve.device.units import Units
from sketchlasso.solve.device.working import DeviceBatch, SharedFactor
from sketchlasso.types import FloatArray

__all__ = ["DeviceSearch", "search_on_device"]

PROBE_TOL = 1e-9
PROBE_STEPS = 30
PROBES = 400


@dataclass(frozen=True, eq=False)
class DeviceSearch:
    """Penalties that were found, and points to start from.

    Attributes
    ----------
    alpha : ndarray of shape (B,)
        Zero where no penalty leaves a non-zero coefficient.
    coef : csr_array of shape (B, n)
    dual : ndarray of shape (B, k)
    """

    alpha: FloatArray
    coef: sparse.csr_array[Any, tuple[int, int]]
    dual: FloatArray


def search_on_device(
    batch: Batch, size: int, device: Device, *, rows: int, rounds: int, entry: float, share: float
) -> DeviceSearch:
    """Search every instance's penalty for `size` non-zeros.

    Parameters
    ----------
    batch : Batch
    size : int
    device : Device
    rows, rounds, entry, share
        The constants of :mod:`sketchlasso.solve.sizes`: working rows that join at a time, rounds
        of the search, how far a row must exceed its threshold to join, and the penalty, as a
        share of the largest, where an exact fit is met.
    """
    units = Units.of(batch)
    with device.at_work():
        found = _searched(units.scaled(batch), size, device, rows, rounds, entry, share)
    return replace(found, alpha=found.alpha * units.size, coef=units.coef(found.coef))


def _searched(
    batch: Batch, size: int, device: Device, rows: int, rounds: int, entry: float, share: float
) -> DeviceSearch:
    shared = SharedFactor.of(batch, device)
    # Working rows grow with the rounds, though those of few instances to the end.
    each = min(rounds * rows, batch.n_features) * (24 * batch.rank + 100) + 60 * batch.rank**2
    step = chunk_size(batch, device, each, "one search with its shared factor")
    parts = []
    for start in range(0, batch.n_instances, step):
        # The penalty plays no role; with 1 the thresholds are the penalty factors.
        chunk = batch.take(slice(start, start + step))
        chunk = replace(chunk, alpha=np.ones(chunk.n_instances))
        parts.append(_Search(chunk, shared, size, rows, entry, share).run(rounds))
    coef: Any = sparse.csr_array(sparse.vstack([part.coef for part in parts]))
    return DeviceSearch(
        np.concatenate([part.alpha for part in parts]),
        coef,
        np.concatenate([part.dual for part in parts]),
    )


@dataclass(eq=False)
class _Walk:
    """Where the walks (b,) stand; `w` (b, p) and `u` (b, k) are the best so far."""

    number: Tensor
    low: Tensor
    high: Tensor
    alpha: Tensor
    largest: Tensor
    found: Tensor
    exact: Tensor
    w: Tensor
    u: Tensor

    def take(self, which: Tensor) -> _Walk:
        return _Walk(*(getattr(self, field.name)[which] for field in fields(self)))


class _Search:
    """The search of a chunk of instances."""

    def __init__(
        self, batch: Batch, shared: SharedFactor, size: int, rows: int, entry: float, share: float
    ) -> None:
        self.data = DeviceBatch(batch, shared, relative=True)
        self.torch, self.size = shared.device.torch, size
        self.batch, self.rows, self.entry, self.share = batch, rows, entry, share
        self.start = self.data.null_dual()
        self.u = self.start.clone()
        nothing = self.data.s * 0
        self.alpha, self.largest = nothing.clone(), nothing.clone()
        width = min(rows, batch.n_features)
        self.w = nothing.new_zeros((self.data.size, width))
        self.index = self.torch.zeros_like(self.w, dtype=self.torch.int64)

    def run(self, rounds: int) -> DeviceSearch:
        """Rounds of search on working rows, until no row outside would enter."""
        which = self.torch.arange(self.data.size, device=self.u.device)
        count = self.rows
        for number in range(rounds):
            count = min(count, self.batch.n_features)
            support = self.index[which] if number else None
            chosen = self.data.choose(self.u[which], which, support, count)
            if number == 0:
                self.largest = _largest_penalties(chosen.rows, self.u)
                live = self.largest > 0
            else:
                live = self._entering(chosen, which)
            left = live.nonzero().squeeze(1)
            if len(left) == 0:
                break
            which = which[left]
            self._widen(count)
            open_ = self._walk(which, chosen.index[left], chosen.rows.take(left))
            which = which[open_]
            if len(which) == 0:
                break
            count += self.rows
        return self._result()

    def _entering(self, chosen: Any, which: Tensor) -> Tensor:
        """Whether a row that was not known exceeds its threshold at the point found (b,)."""
        known = self.index[which]
        place = self.torch.searchsorted(known.contiguous(), chosen.index).clamp(
            max=known.shape[1] - 1
        )
        fresh = known.gather(1, place) != chosen.index
        level = chosen.rows.see(self.u[which])
        level = level if self.data.nonnegative else level.abs()
        floor = (self.alpha[which] * (1.0 + self.entry)).unsqueeze(1) * chosen.rows.thresholds
        return (fresh & (level > floor)).any(1)

    def _widen(self, count: int) -> None:
        extra = count - self.index.shape[1]
        if extra > 0:
            pad = self.torch.nn.functional.pad
            # Repeats of the last feature keep the order, and carry no coefficient.
            self.index = self.torch.cat([self.index, self.index[:, -1:].expand(-1, extra)], dim=1)
            self.w = pad(self.w, (0, extra))

    def _walk(self, which: Tensor, index: Tensor, rows: Rows) -> Tensor:
        """Walk from the largest penalty; returns which searches may have to be repeated."""
        largest = self.largest[which]
        nothing = largest * 0
        walk = _Walk(
            number=self.torch.arange(len(which), device=which.device),
            low=nothing,
            high=largest.clone(),
            alpha=largest.clone(),
            largest=largest,
            found=nothing.clone(),
            exact=nothing > 0,
            w=rows.thresholds.new_zeros(rows.thresholds.shape),
            u=self.start[which].clone(),
        )
        self.index[which] = index
        again = self.torch.ones(len(which), dtype=self.torch.bool, device=which.device)
        for _ in range(PROBES):
            walk.alpha = (walk.low * walk.high).sqrt().where(walk.low > 0, STEP_DOWN * walk.alpha)
            self._probe(rows, walk)
            result, ended, few = _ending(walk, self.size)
            done = ended.nonzero().squeeze(1)
            own = which[walk.number[done]]
            # No penalty above an exact fit has a non-zero: one for the driver to begin with.
            lost = walk.exact & (walk.found == 0)
            self.alpha[own] = (self.share * walk.largest).where(lost, result)[done]
            fresh = self._nearly_exact(rows, walk)
            self.w[own] = (walk.w * ~fresh.unsqueeze(1))[done]
            begun = self.start[which[walk.number]]
            self.u[own] = begun.where(fresh.unsqueeze(1), walk.u)[done]
            again[walk.number[done]] = (few & ~lost)[done]
            if len(done) == len(ended):
                break
            if len(done):
                left = (~ended).nonzero().squeeze(1)
                walk, rows = walk.take(left), rows.take(left)
        return again.nonzero().squeeze(1)

    def _probe(self, rows: Rows, walk: _Walk) -> None:
        """Solve at the present penalties, and go on from there or from the best point."""
        posed = replace(rows, thresholds=walk.alpha.unsqueeze(1) * rows.thresholds)
        found = solve_rows(posed, walk.u, walk.w, PROBE_TOL, PROBE_STEPS)
        rest = rows.c - rows.combine(found.w)
        square = rest.square().sum(1) + rows.s.square()
        total = rows.c.square().sum(1) + rows.s.square()
        vanished = ~(square > LOST_DIGITS * total)
        count = (found.w != 0).sum(1).to(walk.found.dtype)
        over = vanished | (count > self.size)
        walk.low, walk.exact = walk.alpha.where(over, walk.low), vanished.where(over, walk.exact)
        walk.high, walk.found = walk.high.where(over, walk.alpha), walk.found.where(over, count)
        wide = over.unsqueeze(1)
        walk.w = walk.w.where(wide, found.w)
        dual = rest / square.sqrt().clamp(min=1e-300).unsqueeze(1)
        walk.u = walk.u.where(wide, dual)

    def _nearly_exact(self, rows: Rows, walk: _Walk) -> Tensor:
        """Where the residual (b,) is so small that its direction is rounding."""
        rest = rows.c - rows.combine(walk.w)
        square, own = rest.square().sum(1), rows.s.square()
        return square + own < NEARLY_EXACT * (rows.c.square().sum(1) + own)

    def _result(self) -> DeviceSearch:
        which = self.torch.arange(self.data.size, device=self.u.device)
        return DeviceSearch(
            alpha=self.alpha.cpu().numpy(),
            coef=gathered([(which, self.index, self.w)], self.data.size, self.batch.n_features),
            dual=self.u.cpu().numpy(),
        )


def _ending(walk: _Walk, size: int) -> tuple[Tensor, Tensor, Tensor]:
    """Penalties (b,) to return, which walks are at their end, and which with no more than asked."""
    small = walk.alpha * STEP_DOWN < SMALLEST_SHARE * walk.largest
    small &= walk.low == 0
    near = walk.low > CLOSE * walk.high
    close = near & ((walk.found == size) | walk.exact)
    together = walk.low > TOGETHER * walk.high
    at_once = (walk.found == 0) & (walk.low > ALL_AT_ONCE * walk.largest)
    result = walk.high.clone()
    result = (STEP_DOWN * walk.largest).where(at_once & ~walk.exact, result)
    result = walk.low.where(together & ~walk.exact, result)
    result = walk.high.where(close, result)
    few = close | walk.exact | ~(together | at_once)
    return result, small | close | together | at_once, few


def _largest_penalties(rows: Rows, u: Tensor) -> Tensor:
    """Smallest alpha (b,) with ||(|R u| - alpha f)_+|| <= radius, Newton from the left.

    Twin of the kernel `smallest_penalty`; the strongest rows are enough, for no other exceeds
    the threshold at the answer.
    """
    seen = rows.see(u)
    size = seen.clamp(min=0.0) if rows.nonnegative else seen.abs()
    f, room = rows.thresholds, rows.radius
    real = f.isfinite() & (size > 0)
    f = f.where(real, f.new_ones(()))
    size = size * real
    largest = (size / f).amax(1)
    alpha = ((size - room.unsqueeze(1)) / f).amax(1).clamp_(min=0.0)
    for _ in range(200):
        over = (size - alpha.unsqueeze(1) * f).clamp_(min=0.0)
        norm = over.norm(dim=1)
        beyond = norm > room * (1.0 + 1e-14)
        step = (norm - room) * norm / (over * f).sum(1)
        moved = (alpha + step).minimum(largest).where(beyond & (room > 0), alpha)
        if bool((moved == alpha).all()):
            break
        alpha = moved
    return largest.where(room <= 0, alpha)
