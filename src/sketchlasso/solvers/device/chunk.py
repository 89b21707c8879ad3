"""Rounds on a device: choose rows, certify in double precision, solve what is open, repeat."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from sketchlasso.problem.batch import Batch
from sketchlasso.problem.formulas import null_value
from sketchlasso.solvers.device.newton import solve_rows
from sketchlasso.solvers.device.tensors import Tensor, certificate
from sketchlasso.solvers.device.working import DeviceBatch, SharedFactor
from sketchlasso.solvers.solution import Iterates, Ledger, Status
from sketchlasso.types import BoolArray, IntArray, SparseRows

# Rounds of a chunk; what is not solved by then is left to the CPU.
ROUNDS = 10
# Switch to double precision where a round leaves a gap above this share of the last one.
SLOW = 0.3
# Single precision is not asked for a finer restricted gap.
SINGLE_TOL = 2e-5


class Chunk:
    """Instances (b,) that are solved together; `ledger` has their certificates."""

    def __init__(self, batch: Batch, shared: SharedFactor, tol: float, rows: int) -> None:
        self.data, self.count = DeviceBatch(batch, shared), rows
        self.batch, self.torch = batch, shared.device.torch
        self.ledger = Ledger(null_value(batch), tol)
        b, k = batch.n_instances, batch.rank
        place = self.data.c.device
        self.u = self.data.null_dual()
        self.index = self.torch.zeros((b, 1), dtype=self.torch.int64, device=place)
        self.w = self.torch.zeros((b, 1), dtype=self.torch.float64, device=place)
        self.point = self.torch.zeros((b, k), dtype=self.torch.float64, device=place)
        self.best: list[tuple[Tensor, Tensor, Tensor]] = []
        self.trusted = False
        self.slow = np.zeros(b, dtype=bool)
        self.rounds = np.zeros(b, dtype=np.intp)

    def run(self) -> BoolArray:
        """Rounds until every instance is certified, needs more rows, or makes no progress.

        Returns which need more rows (b,).
        """
        numbers = np.arange(self.batch.n_instances)
        crowded = np.zeros(len(numbers), dtype=bool)
        for number in range(ROUNDS):
            which = self._tensor(numbers)
            support = self._support(which) if self.trusted else None
            chosen = self.data.choose(self.u[which], which, support, self.count)
            w = coefficients_on(chosen.index, self.index[which], self.w[which])
            open_ = self._record(numbers, which, chosen, w, number)
            if self.trusted and self.count < self.batch.n_features:
                # As many as were taken enter, so there may be many more.
                entering = chosen.entering.cpu().numpy()
                crowded[numbers] = open_ & (entering >= 0.8 * self.count)
                open_ &= ~crowded[numbers]
            if not open_.any() or number == ROUNDS - 1:
                break
            left = self._tensor(np.flatnonzero(open_))
            numbers = numbers[open_]
            self._improve(numbers, chosen.index[left], chosen.rows.take(left), w[left], number)
            self.trusted = True
        return crowded

    def begin_at(self, warm: Iterates) -> None:
        """Take over dual points and coefficients."""
        self.trusted = True
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

    def iterates(self) -> Iterates:
        """The coefficients (b, n) of the best primal and the point (b, k) of the best dual."""
        size = len(self.u)
        latest = self.torch.full((size,), -1, device=self.u.device, dtype=self.torch.int64)
        for number, (which, _, _) in enumerate(self.best):
            latest[which] = number
        pieces = [
            (which, index, w * (latest[which] == number).unsqueeze(1))
            for number, (which, index, w) in enumerate(self.best)
        ]
        coef = gathered(pieces, size, self.batch.n_features)
        return Iterates(coef, self.point.cpu().numpy(), self.ledger.steps)

    def _tensor(self, numbers: IntArray) -> Tensor:
        return self.data.shared.device.tensor(numbers, self.torch.int64)

    def _support(self, which: Tensor) -> Tensor:
        """Features (b, q) with coefficients; unused places repeat the strongest."""
        index, size = self.index[which], self.w[which].abs()
        strongest = index.gather(1, size.argmax(1, keepdim=True))
        return index.where(size > 0, strongest)

    def _record(
        self, numbers: IntArray, which: Tensor, chosen: Any, w: Tensor, number: int
    ) -> BoolArray:
        """Certify in double precision, and keep what is better; returns what is not solved (b,)."""
        before = self.ledger.gap(numbers)
        primal, dual, scale = certificate(chosen.rows, w, self.u[which], chosen.cap)
        values = self.torch.stack([primal, dual]).cpu().numpy()
        improved = self.ledger.offer(numbers, *values)
        better, tighter = (self._tensor(np.flatnonzero(where)) for where in improved)
        self.point[which[tighter]] = (scale.unsqueeze(1) * self.u[which])[tighter]
        self.best.append((which[better], chosen.index[better], w[better]))
        self.slow[numbers] |= self.ledger.gap(numbers) > SLOW * before
        self.rounds[numbers] = number
        return ~self.ledger.settle(numbers, Status.ITERATION_LIMIT)

    def _improve(self, numbers: IntArray, index: Tensor, rows: Any, w: Tensor, number: int) -> None:
        """Solve open instances on their rows: in single precision while that helps."""
        fine = 0.3 * self.ledger.tol
        single = ~self.slow[numbers] & (self.ledger.gap(numbers) > 3 * SINGLE_TOL)
        width = max(self.index.shape[1], index.shape[1])
        self.index, self.w = widened(self.index, self.w, width)
        finest = fine * (0.1 if number > 2 else 1.0)
        for part, dtype, tol, steps in (
            (single, self.torch.float32, max(fine, SINGLE_TOL), 60),
            # Fits without a residual take hundreds of steps.
            (~single, self.torch.float64, finest, 500),
        ):
            if not part.any():
                continue
            some, own = self._tensor(np.flatnonzero(part)), self._tensor(numbers[part])
            found_w, found_u, spent = solve_rows(
                rows.take(some).to(dtype), self.u[own].to(dtype), w[some].to(dtype), tol, steps
            )
            usable = found_u.isfinite().all(1) & found_w.isfinite().all(1)
            keep = usable.nonzero().squeeze(1)
            self.u[own[keep]] = found_u[keep].double()
            self.ledger.steps[numbers[part]] += spent.cpu().numpy().astype(np.intp)
            self.index[own[keep]], self.w[own[keep]] = widened(
                index[some][keep], found_w[keep].double(), width
            )


def widened(index: Tensor, w: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Features (b, q) and their coefficients with at least `width` places.

    Repeats of the last feature fill up, with coefficients of zero: features stay in order.
    """
    import torch

    extra = width - index.shape[1]
    if extra <= 0:
        return index, w
    repeats = index[:, -1:].expand(-1, extra)
    return torch.cat([index, repeats], dim=1), torch.nn.functional.pad(w, (0, extra))


def coefficients_on(index: Tensor, known: Tensor, values: Tensor) -> Tensor:
    """Coefficients (b, p) on sorted features `index` (b, p) of those known on others (b, q)."""
    import torch

    w = values.new_zeros(index.shape)
    place = torch.searchsorted(index.contiguous(), known).clamp(max=index.shape[1] - 1)
    return w.scatter_add_(1, place, values * (index.gather(1, place) == known))


def gathered(pieces: list[tuple[Tensor, Tensor, Tensor]], size: int, n: int) -> SparseRows:
    """Coefficients (size, n) from pieces of instances (b,), features (b, p) and values (b, p).

    Zeros are left out; no instance has non-zeros in two pieces, and features are in order. The
    pieces are joined on the device: three copies bring all of them to the host.
    """
    import torch

    owners, features, values = [], [], []
    for which, index, w in pieces:
        row, place = w.nonzero(as_tuple=True)
        owners.append(which[row])
        features.append(index[row, place])
        values.append(w[row, place])
    owner = torch.cat(owners)
    order = owner.argsort(stable=True)
    joined = torch.bincount(owner, minlength=size), torch.cat(features)[order]
    counts, feature, value = (part.cpu().numpy() for part in (*joined, torch.cat(values)[order]))
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return sparse.csr_array((value, feature, indptr), shape=(size, n))
