"""A batch on a device: as many instances at a time as fit, with more working rows where needed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sketchlasso.errors import InvalidInputError
from sketchlasso.linalg.device import Device
from sketchlasso.linalg.rows import scale_rows
from sketchlasso.problem.batch import Batch
from sketchlasso.problem.formulas import null_value
from sketchlasso.solvers.device.chunk import Chunk
from sketchlasso.solvers.device.working import CORRELATION_BYTES, CORRELATION_SHARE, SharedFactor
from sketchlasso.solvers.solution import BatchLedger, Iterates, Status
from sketchlasso.types import FloatArray, IntArray, SparseRows

# Working rows at first, and the factor by which they grow where more are needed.
FIRST_ROWS_PER_RANK = 5
FEWEST_ROWS = 256
MORE_ROWS = 4


@dataclass(frozen=True, eq=False)
class Units:
    """Units in which no number of a batch leaves the range of single precision.

    With null = ||(c, s)|| and size the length of the longest row of R, w = (null / size) w' turns
    an instance into one with c / null, s / null, R / size, alpha / size and radius / size. Its
    optimum is that of the original over null; dual points do not change. Both are rounded to
    powers of two, so that the conversion is exact.
    """

    size: float  # unit of the rows
    null: FloatArray  # (B,): units of the responses

    @classmethod
    def of(cls, batch: Batch) -> Units:
        """The units in which a batch is neither large nor small."""
        P = np.asarray(batch.P, dtype=np.float64)
        largest = float(np.abs(P).max())
        # Squares of very small or large entries would underflow or overflow.
        length = largest * np.sqrt(np.max(np.sum((P / (largest or 1.0)) ** 2, axis=1)))
        if batch.roots is not None:
            length *= float(np.linalg.norm(batch.roots, axis=(1, 2)).max())
        return cls(float(_power_of_two(np.array(length))), _power_of_two(null_value(batch)))

    def scaled(self, batch: Batch) -> Batch:
        """The batch in these units, P in double precision."""
        return replace(
            batch,
            P=np.asarray(batch.P, dtype=np.float64) / self.size,
            c=batch.c / self.null[:, None],
            s=batch.s / self.null,
            alpha=batch.alpha / self.size,
            radius=batch.radius / self.size,
        )

    def take(self, instances: IntArray) -> Units:
        """The units of some of the instances."""
        return Units(self.size, self.null[instances])

    def start(self, warm: Iterates) -> Iterates:
        """Starting points in these units."""
        return replace(warm, coef=scale_rows(warm.coef, self.size / self.null))

    def coef(self, coef: SparseRows) -> SparseRows:
        """Coefficients (B, n) of the original batch from those of the scaled one."""
        return scale_rows(coef, self.null / self.size)


def _power_of_two(values: FloatArray) -> FloatArray:
    """The power of two (B,) next below each number; 1 for 0."""
    with np.errstate(divide="ignore"):
        exponent = np.floor(np.log2(values))
    return np.asarray(np.where(values > 0, np.exp2(np.where(values > 0, exponent, 0.0)), 1.0))


def solve_on_device(
    batch: Batch, device: Device, ledger: BatchLedger, warm: Iterates | None = None
) -> None:
    """Solve what a device can of a batch that `suits` devices; the rest stays open in its ledger.

    The ledger gets the proposals and their certificates in double precision. Instances without a
    penalty stay open as well.
    """
    open_ = np.flatnonzero(batch.alpha > 0)
    rows = min(batch.n_features, max(FEWEST_ROWS, FIRST_ROWS_PER_RANK * batch.rank))
    start = None if warm is None else warm.take(open_)
    units = Units.of(batch)
    batch = units.scaled(batch)
    with device.at_work():
        shared = SharedFactor.of(batch, device)
        while open_.size:
            open_ = _level(batch, shared, rows, open_, start, units, ledger)
            start, rows = ledger.iterates(open_), min(batch.n_features, MORE_ROWS * rows)


def _level(
    batch: Batch,
    shared: SharedFactor,
    rows: int,
    open_: IntArray,
    start: Iterates | None,
    units: Units,
    ledger: BatchLedger,
) -> IntArray:
    """Solve instances (b,) on `rows` working rows each; returns those that need more."""
    # Rows in both precisions and a copy, vectors over them, and a few k x k matrices.
    each = rows * (20 * batch.rank + 120) + 48 * batch.rank**2
    size = _chunk_size(batch, shared.device, each)
    crowded = []
    for first in range(0, len(open_), size):
        numbers = open_[first : first + size]
        own = units.take(numbers)
        chunk = Chunk(batch.take(numbers), shared, ledger.tol, rows)
        if start is not None:
            chunk.begin_at(own.start(start.take(np.arange(first, first + len(numbers)))))
        needs_more = chunk.run()
        found, values = chunk.iterates(), chunk.ledger
        ledger.keep(
            numbers,
            replace(found, coef=own.coef(found.coef)),
            own.null * values.primal,
            own.null * values.dual,
            found.dual,
        )
        ledger.rounds[numbers] += chunk.rounds
        solved = ledger.settle(numbers, Status.ITERATION_LIMIT)
        ledger.open[numbers[solved]] = False
        crowded.append(numbers[needs_more])
        ledger.report(0)
    return np.concatenate(crowded)


def _chunk_size(batch: Batch, device: Device, each: int) -> int:
    """Instances at a time that take `each` bytes besides the correlations with all rows."""
    n = batch.n_features
    if batch.penalty_factor.ndim == 2:
        each += 8 * n
    shared = 12 * n * batch.rank + (0 if batch.roots is None else 8 * batch.roots.size)
    correlations = CORRELATION_BYTES * n / CORRELATION_SHARE
    needed = max(correlations, (shared + each) / (1 - CORRELATION_SHARE))
    if needed > device.budget:
        raise InvalidInputError(
            f"device {device.name!r} may use {device.budget / 2**20:.0f} MiB, but one problem with "
            f"its shared factor needs {needed / 2**20:.0f} MiB; give it more memory, or use "
            "device='cpu'."
        )
    room = int((1 - CORRELATION_SHARE) * device.budget) - shared
    return max(1, min(batch.n_instances, room // each))
