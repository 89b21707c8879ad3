"""Rounds on a device: choose rows, certify in double precision, solve what is open, repeat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sketchlasso.problem.batch import Batch
from sketchlasso.problem.objective import null_value
from sketchlasso.solvers.device.newton import solve_rows
from sketchlasso.solvers.device.tensors import Tensor, certificate, relative_gap
from sketchlasso.solvers.device.working import DeviceBatch, SharedFactor
from sketchlasso.types import BoolArray, FloatArray, IntArray, SparseRows

__all__ = ["Chunk", "ChunkRun", "gathered"]

ROUNDS = 10
# Newton steps of a round: fits without a residual take hundreds, in double precision only.
SINGLE_STEPS, DOUBLE_STEPS = 60, 500
# Switch to double precision where a round leaves a gap above this share of the last one.
SLOW = 0.3
# The finest restricted gap that single precision is asked for.
SINGLE_TOL = 2e-5
# With this share of the rows entering, more are needed.
CROWDED = 0.8


@dataclass(frozen=True, eq=False)
class ChunkRun:
    """Result of a chunk.

    Attributes
    ----------
    coef : csr_array of shape (b, n)
    dual_point : ndarray of shape (b, k)
        Feasible.
    primal, dual : ndarray of shape (b,)
    rounds, steps : ndarray of shape (b,)
    solved : ndarray of shape (b,)
        Whether the tolerance was met, by a certificate in double precision.
    crowded : ndarray of shape (b,)
        Whether more working rows are needed.
    """

    coef: SparseRows
    dual_point: FloatArray
    primal: FloatArray
    dual: FloatArray
    rounds: IntArray
    steps: IntArray
    solved: BoolArray
    crowded: BoolArray


class Chunk:
    """Instances that are solved together.

    The best primal and the best dual are kept apart: they may come from different rounds.
    """

    def __init__(self, batch: Batch, shared: SharedFactor, tol: float, rows: int) -> None:
        self.data, self.tol, self.count = DeviceBatch(batch, shared), tol, rows
        self.batch, self.torch = batch, shared.device.torch
        b, k = batch.n_instances, batch.rank
        place = self.data.c.device
        self.null = shared.device.tensor(null_value(batch), self.torch.float64)
        self.u = self.data.null_dual()
        self.index = self.torch.zeros((b, 1), dtype=self.torch.int64, device=place)
        self.w = self.torch.zeros((b, 1), dtype=self.torch.float64, device=place)
        self.primal = self.null.new_full((b,), float("inf"))
        self.dual = -self.primal
        self.point = self.torch.zeros((b, k), dtype=self.torch.float64, device=place)
        self.gap = self.primal.clone()
        self.slow = self.torch.zeros(b, dtype=self.torch.bool, device=place)
        self.steps = self.torch.zeros(b, dtype=self.torch.int64, device=place)
        self.rounds = self.steps.clone()
        self.best: list[tuple[Tensor, Tensor, Tensor]] = []

    def run(self, warm: Any = None) -> ChunkRun:
        """Rounds until every instance is certified, needs more rows, or makes no progress."""
        if warm is not None:
            self._begin_at(warm)
        which = self.torch.arange(len(self.u), device=self.u.device)
        crowded = self.torch.zeros_like(self.slow)
        for number in range(ROUNDS):
            trusted = number > 0 or warm is not None
            support = self._support(which) if trusted else None
            chosen = self.data.choose(self.u[which], which, support, self.count)
            w = coefficients_on(chosen.index, self.index[which], self.w[which])
            self._record(which, chosen, w, number)
            open_ = ~(self.gap[which] <= self.tol)
            if trusted and self.count < self.batch.n_features:
                # As many as were taken enter, so there may be many more.
                crowded[which] = open_ & (chosen.entering >= CROWDED * self.count)
                open_ = open_ & ~crowded[which]
            if not bool(open_.any()) or number == ROUNDS - 1:
                break
            left = open_.nonzero().squeeze(1)
            which = which[left]
            self._improve(which, chosen.index[left], chosen.rows.take(left), w[left], number)
        return self._result(crowded)

    def _begin_at(self, warm: Any) -> None:
        """Take over dual points and coefficients."""
        tensor = self.data.shared.device.tensor
        # A copy: it is written to, and on the CPU a tensor may be the caller's own array.
        self.u = tensor(warm.dual, self.torch.float64).clone()
        counts = np.diff(warm.coef.indptr)
        width = max(int(counts.max(initial=0)), 1)
        place = np.arange(width) < counts[:, None]
        index = np.zeros((len(counts), width), dtype=np.int64)
        # Unused places repeat the first feature, with a coefficient of zero.
        index[place], values = warm.coef.indices, np.zeros((len(counts), width))
        index = np.where(place, index, index[:, :1])
        values[place] = warm.coef.data
        self.index, self.w = tensor(index), tensor(values)

    def _support(self, which: Tensor) -> Tensor:
        """Features (b, q) with coefficients; unused places repeat the strongest."""
        index, size = self.index[which], self.w[which].abs()
        strongest = index.gather(1, size.argmax(1, keepdim=True))
        return index.where(size > 0, strongest)

    def _record(self, which: Tensor, chosen: Any, w: Tensor, number: int) -> None:
        """Certify in double precision, and keep what is better."""
        primal, dual, scale = certificate(chosen.rows, w, self.u[which], chosen.cap)
        better = (primal < self.primal[which]).nonzero().squeeze(1)
        tighter = (dual > self.dual[which]).nonzero().squeeze(1)
        self.primal[which[better]] = primal[better]
        self.dual[which[tighter]] = dual[tighter]
        self.point[which[tighter]] = (scale.unsqueeze(1) * self.u[which])[tighter]
        self.best.append((which[better], chosen.index[better], w[better]))
        gap = relative_gap(self.primal[which], self.dual[which], self.null[which])
        self.slow[which] |= gap > SLOW * self.gap[which]
        self.gap[which] = gap
        self.rounds[which] = number

    def _improve(self, which: Tensor, index: Tensor, rows: Any, w: Tensor, number: int) -> None:
        """Solve open instances on their rows: in single precision while that helps."""
        fine = 0.3 * self.tol
        single = ~self.slow[which] & (self.gap[which] > 3 * SINGLE_TOL)
        width = self.index.shape[1]
        if index.shape[1] > width:
            pad = (0, index.shape[1] - width)
            pads = self.torch.nn.functional.pad
            self.index = pads(self.index, pad)
            self.w = pads(self.w, pad)
        finest = fine * (0.1 if number > 2 else 1.0)
        for part, dtype, tol, steps in (
            (single, self.torch.float32, max(fine, SINGLE_TOL), SINGLE_STEPS),
            (~single, self.torch.float64, finest, DOUBLE_STEPS),
        ):
            some = part.nonzero().squeeze(1)
            if len(some) == 0:
                continue
            own = which[some]
            found = solve_rows(
                rows.take(some).to(dtype),
                self.u[own].to(dtype),
                w[some].to(dtype),
                tol,
                steps,
            )
            usable = found.u.isfinite().all(1) & found.w.isfinite().all(1)
            keep = usable.nonzero().squeeze(1)
            self.u[own[keep]] = found.u[keep].double()
            self.steps[own] += found.steps.long()
            self._store(own[keep], index[some][keep], found.w[keep].double())

    def _store(self, which: Tensor, index: Tensor, w: Tensor) -> None:
        width = self.index.shape[1]
        self.index[which, : index.shape[1]] = index
        self.w[which, : index.shape[1]] = w
        if index.shape[1] < width:
            self.index[which, index.shape[1] :] = index[:, -1:]
            self.w[which, index.shape[1] :] = 0.0

    def _result(self, crowded: Tensor) -> ChunkRun:
        """All results as arrays; coefficients of the best primal of every instance."""
        n, size = self.batch.n_features, len(self.u)
        latest = self.torch.full((size,), -1, device=self.u.device, dtype=self.torch.int64)
        for number, (which, _, _) in enumerate(self.best):
            latest[which] = number
        pieces = [
            (which, index, w * (latest[which] == number).unsqueeze(1))
            for number, (which, index, w) in enumerate(self.best)
        ]

        def host(values: Tensor) -> Any:
            return values.cpu().numpy()

        return ChunkRun(
            coef=gathered(pieces, size, n),
            dual_point=host(self.point),
            primal=host(self.primal),
            dual=host(self.dual),
            rounds=host(self.rounds).astype(np.intp),
            steps=host(self.steps).astype(np.intp),
            solved=host(self.gap <= self.tol),
            crowded=host(crowded),
        )


def coefficients_on(index: Tensor, known: Tensor, values: Tensor) -> Tensor:
    """Coefficients (b, p) on sorted features `index` (b, p) of those known on others (b, q)."""
    import torch

    w = values.new_zeros(index.shape)
    place = torch.searchsorted(index.contiguous(), known).clamp(max=index.shape[1] - 1)
    return w.scatter_add_(1, place, values * (index.gather(1, place) == known))


def gathered(pieces: list[tuple[Tensor, Tensor, Tensor]], size: int, n: int) -> SparseRows:
    """Coefficients (size, n) from pieces of instances (b,), features (b, p) and values (b, p).

    Zeros are left out; no instance has non-zeros in two pieces, and features are in order.
    """
    owners, features, values = [], [], []
    for which, index, w in pieces:
        live = w != 0
        owners.append(which.unsqueeze(1).expand_as(index)[live].cpu().numpy())
        features.append(index[live].cpu().numpy())
        values.append(w[live].cpu().numpy())
    owner, feature, value = (np.concatenate(part) for part in (owners, features, values))
    order = np.argsort(owner, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=size))])
    return sparse.csr_array((value[order], feature[order], indptr), shape=(size, n))
