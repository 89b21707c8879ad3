"""A batch on a device: as many instances at a time as fit, with more rows where they need them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sketchlasso.linalg.device import Device
from sketchlasso.problem.batch import Batch
from sketchlasso.problem.objective import null_value
from sketchlasso.solvers.algorithms.protocol import Iterates
from sketchlasso.solvers.device.chunk import Chunk, ChunkRun
from sketchlasso.solvers.device.tensors import suits
from sketchlasso.solvers.device.units import Units
from sketchlasso.solvers.device.working import CORRELATION_BYTES, CORRELATION_SHARE, SharedFactor
from sketchlasso.solvers.settings import Endings
from sketchlasso.types import BoolArray, FloatArray, IntArray, SparseRows

__all__ = ["DeviceRun", "chunk_room", "chunk_size", "solve_on_device"]

FIRST_ROWS_PER_RANK = 5
FEWEST_ROWS = 256
MORE_ROWS = 4


@dataclass(frozen=True, eq=False)
class DeviceRun:
    """Result of a solve on a device.

    Attributes
    ----------
    coef : csr_array of shape (B, n)
    dual_point : ndarray of shape (B, k)
        Feasible.
    primal, dual : ndarray of shape (B,)
        At w = 0 and the trivial bound 0 where nothing was found.
    rounds, steps : ndarray of shape (B,)
    solved : ndarray of shape (B,)
        Whether the tolerance was met, by a certificate in double precision.
    interrupted : bool
    """

    coef: SparseRows
    dual_point: FloatArray
    primal: FloatArray
    dual: FloatArray
    rounds: IntArray
    steps: IntArray
    solved: BoolArray
    interrupted: bool


def solve_on_device(
    batch: Batch,
    device: Device,
    tol: float,
    warm: Iterates | None = None,
    report: Callable[[int], None] | None = None,
    endings: Endings = (KeyboardInterrupt,),
) -> DeviceRun | None:
    """Solve a batch on a device; None where its method does not support the problems.

    Instances without a penalty are left alone.

    Parameters
    ----------
    batch : Batch
    device : Device
    tol : float
        Relative gap.
    warm : Iterates, optional
    report : callable, optional
        Called with the number of instances that are solved.
    endings : tuple of exception types
        Exceptions that end the solve with what it has found so far.
    """
    open_ = np.flatnonzero(batch.alpha > 0)
    if not suits(batch) or open_.size == 0:
        return None
    rows = min(batch.n_features, max(FEWEST_ROWS, FIRST_ROWS_PER_RANK * batch.rank))
    units = Units.of(batch)
    batch, warm = units.scaled(batch), None if warm is None else units.start(warm)
    found, interrupted = _Found(batch), False
    try:
        with device.at_work():
            shared = SharedFactor.of(batch, device)
            while open_.size:
                open_ = _level(batch, shared, tol, rows, open_, warm, found, report)
                warm, rows = found.iterates(), min(batch.n_features, MORE_ROWS * rows)
    except endings:
        interrupted = True
    return found.run(units, interrupted)


def _level(
    batch: Batch,
    shared: SharedFactor,
    tol: float,
    rows: int,
    open_: IntArray,
    warm: Iterates | None,
    found: _Found,
    report: Callable[[int], None] | None,
) -> IntArray:
    """Solve open instances on so many working rows each; returns those that need more."""
    # Rows in both precisions and a copy, vectors over them, and a few k x k matrices.
    each = rows * (20 * batch.rank + 120) + 48 * batch.rank**2
    size = chunk_size(batch, shared.device, each, "one problem with its shared factor")
    crowded = []
    for start in range(0, len(open_), size):
        numbers = open_[start : start + size]
        first = None if warm is None else warm.take(numbers)
        part = Chunk(batch.take(numbers), shared, tol, rows).run(first)
        found.take(numbers, part)
        crowded.append(numbers[part.crowded & ~part.solved])
        if report is not None:
            report(int(found.solved.sum()))
    return np.concatenate(crowded)


def chunk_size(batch: Batch, device: Device, each: int, what: str) -> int:
    """Instances at a time, `each` of so many bytes besides the correlations with all rows."""
    n, shared = batch.n_features, _shared_bytes(batch)
    if batch.penalty_factor.ndim == 2:
        each += 8 * n
    correlations = CORRELATION_BYTES * n / CORRELATION_SHARE
    device.refuse_small(int(max(correlations, (shared + each) / (1 - CORRELATION_SHARE))), what)
    return max(1, min(batch.n_instances, chunk_room(batch, device) // each))


def chunk_room(batch: Batch, device: Device) -> int:
    """Bytes for a chunk, besides the shared factor and the correlations with all rows."""
    return int((1 - CORRELATION_SHARE) * device.budget) - _shared_bytes(batch)


def _shared_bytes(batch: Batch) -> int:
    roots = 0 if batch.roots is None else 8 * batch.roots.size
    return 12 * batch.n_features * batch.rank + roots


class _Found:
    """Results of every instance of a batch so far."""

    def __init__(self, batch: Batch) -> None:
        size = batch.n_instances
        self.shape = (size, batch.n_features)
        self.dual_point = np.zeros((size, batch.rank))
        self.primal, self.dual = null_value(batch), np.zeros(size)
        self.rounds, self.steps = np.zeros(size, dtype=np.intp), np.zeros(size, dtype=np.intp)
        self.solved = np.zeros(size, dtype=bool)
        # Coefficients of chunks; those of a later one replace those of an earlier one.
        self._parts: list[tuple[IntArray, Any]] = []

    def take(self, numbers: IntArray, part: ChunkRun) -> None:
        """Take over the results of some instances."""
        for name in ("dual_point", "primal", "dual", "solved"):
            getattr(self, name)[numbers] = getattr(part, name)
        self.rounds[numbers] += part.rounds
        self.steps[numbers] += part.steps
        self._parts.append((numbers, part.coef))

    def coef(self) -> Any:
        """Coefficients (B, n) so far; zero where there are none."""
        if not self._parts:
            return sparse.csr_array(self.shape)
        numbers = np.concatenate([own for own, _ in self._parts])
        stacked = sparse.vstack([coef for _, coef in self._parts], format="csr")
        rows = np.full(self.shape[0], stacked.shape[0])
        rows[numbers] = np.arange(len(numbers))
        # A last row without coefficients, for instances that were not reached.
        blank = sparse.csr_array((1, self.shape[1]))
        joined = sparse.csr_array(sparse.vstack([stacked, blank], format="csr")[rows])
        self._parts = [(np.arange(self.shape[0]), joined)]
        return joined

    def iterates(self) -> Iterates:
        """Points to continue from."""
        return Iterates(self.coef(), self.dual_point.copy(), np.zeros_like(self.steps))

    def run(self, units: Units, interrupted: bool) -> DeviceRun:
        """All results in the original units."""
        return DeviceRun(
            coef=units.coef(self.coef()),
            dual_point=self.dual_point,
            primal=self.primal * units.null,
            dual=self.dual * units.null,
            rounds=self.rounds,
            steps=self.steps,
            solved=self.solved,
            interrupted=interrupted,
        )
