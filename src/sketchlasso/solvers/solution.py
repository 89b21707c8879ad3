"""What a solve returns, how its instances ended, and how long it took."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from enum import IntEnum
from types import TracebackType

import numpy as np
from numba.core import event

from sketchlasso.errors import InaccurateWarning
from sketchlasso.linalg.device import CPU
from sketchlasso.problem.dual import Bounds
from sketchlasso.types import BoolArray, FloatArray, IntArray, SparseRows
from sketchlasso.warn import warn_user

# A gap within this factor of the tolerance counts as inaccurate, not as stalled.
ALMOST = 100.0


class Status(IntEnum):
    """End of one instance; `Status(x).remedy` says what to change."""

    SOLVED = 0
    INACCURATE = 1
    ITERATION_LIMIT = 2
    STALLED = 3
    NON_FINITE = 4
    INTERRUPTED = 5
    LEFT_OUT = 6

    @property
    def remedy(self) -> str:
        """One sentence: what happened and which argument helps."""
        return _REMEDIES[self]


_REMEDIES = {
    Status.SOLVED: "The duality gap is below the tolerance.",
    Status.INACCURATE: (
        "The gap is within a factor 100 of the tolerance but no longer shrinks; "
        "loosen tol, or scale the columns to comparable size."
    ),
    Status.ITERATION_LIMIT: (
        "The iteration limit was reached before the tolerance; raise max_rounds, loosen tol, "
        "or solve along a path of decreasing alpha."
    ),
    Status.STALLED: (
        "The gap stopped shrinking above the tolerance: (a) columns of very different size, "
        "so standardise; (b) float32 data, so loosen tol to 1e-4; (c) unpenalised columns that "
        "nearly depend on each other, so leave one of them out; (d) try the solver 'barrier'."
    ),
    Status.NON_FINITE: (
        "The iterates became infinite or NaN: the data are scaled beyond what floating point "
        "can hold; rescale X and y."
    ),
    Status.INTERRUPTED: (
        "The solve was interrupted; the coefficients are the best found until then."
    ),
    Status.LEFT_OUT: (
        "The search for a penalty was decided before this one; give the penalties yourself to "
        "have them all solved."
    ),
}


def status_of(gap: FloatArray, tol: float, otherwise: IntArray | Status) -> IntArray:
    """Status (B,) of instances by their certified relative gaps (B,).

    This is the only code that calls an instance solved. `otherwise`, (B,) or one for all, says why
    the search ended; it is the status of a gap far above the tolerance.
    """
    status = np.full(len(gap), otherwise, dtype=np.intp)
    status[gap <= ALMOST * tol] = int(Status.INACCURATE)
    status[gap <= tol] = int(Status.SOLVED)
    return status


def ending_message(status: IntArray, relative_gap: FloatArray) -> str:
    """One line on how instances (B,) ended, with a remedy where something fell short."""
    total = len(status)
    if (status == Status.SOLVED).all():
        return f"all {total} instances solved, worst relative gap {relative_gap.max():.1e}"
    parts = [
        f"{np.sum(status == kind)} of {total} {kind.name.lower()} "
        f"(worst relative gap {relative_gap[status == kind].max():.1e}): {kind.remedy}"
        for kind in Status
        if kind != Status.SOLVED and (status == kind).any()
    ]
    return " ".join(parts)


def warn_of_ending(status: IntArray, relative_gap: FloatArray) -> None:
    """Issue an :class:`InaccurateWarning` with the gaps where an instance fell short."""
    tried = status != Status.LEFT_OUT
    status, relative_gap = status[tried], relative_gap[tried]
    if (status != Status.SOLVED).any():
        warn_user(InaccurateWarning(ending_message(status, relative_gap)))


class Stopwatch:
    """Measures a block: `seconds` without compilation, and `compile_seconds`."""

    def __enter__(self) -> Stopwatch:
        self.compile_seconds = 0.0
        self._stack = ExitStack()
        self._stack.enter_context(event.install_timer("numba:compile", self._compiled))
        self._start = time.perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        total = time.perf_counter() - self._start
        self._stack.close()
        self.seconds = max(total - self.compile_seconds, 0.0)

    def _compiled(self, seconds: float) -> None:
        self.compile_seconds = seconds


@dataclass(frozen=True, eq=False)
class Screened:
    """How many features each safe rule proved zero, per instance (B,).

    `gap_safe` counts what the rule removes at the final gap. A rule that is switched off
    counts zero.
    """

    paper: IntArray
    static: IntArray
    gap_safe: IntArray


class Certified(Bounds):
    """Base of solutions with a certificate, one row per instance."""

    coef: SparseRows
    status: IntArray

    @property
    def n_nonzero(self) -> IntArray:
        """Non-zero coefficients (B,) of each instance."""
        return np.diff(self.coef.indptr).astype(np.intp)

    @property
    def solved(self) -> BoolArray:
        """Whether each instance reached the tolerance (B,)."""
        return np.asarray(self.status == Status.SOLVED)

    def warn_if_unsolved(self) -> None:
        """Issue an :class:`InaccurateWarning` with the gaps where an instance fell short."""
        warn_of_ending(self.status, self.relative_gap)

    def message(self) -> str:
        """One line on how the instances ended, with a remedy where something fell short."""
        return ending_message(self.status, self.relative_gap)


@dataclass(frozen=True, eq=False)
class Solution(Certified):
    """Solutions of a batch, one row per instance.

    Attributes
    ----------
    coef : csr_array of shape (B, n)
    dual_point : ndarray of shape (B, k)
        Feasible dual point that proves the gap.
    primal, dual : ndarray of shape (B,)
        Objective at the coefficients, and the proven lower bound on it.
    null : ndarray of shape (B,)
        Objective at w = 0.
    status : ndarray of shape (B,)
        Values of :class:`Status`.
    rounds, steps : ndarray of shape (B,)
        Rounds of the driver and inner iterations spent.
    screened : Screened
    seconds : float
        Wall time of the solve, compilation left out.
    compile_seconds : float
        Time spent compiling kernels during this call; zero once they are cached on disk.
    solver : str
    device : str
        Where it was solved.
    finished_on_cpu : int
        Instances that the device could not certify and the CPU finished.
    """

    coef: SparseRows
    dual_point: FloatArray
    primal: FloatArray
    dual: FloatArray
    null: FloatArray
    status: IntArray
    rounds: IntArray
    steps: IntArray
    screened: Screened
    seconds: float
    compile_seconds: float
    solver: str
    device: str = CPU
    finished_on_cpu: int = 0
