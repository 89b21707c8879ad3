"""What a solve returns, how its instances ended, and how long it took."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from sketchlasso.errors import Argument, InaccurateWarning, Name, Part
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
        return "".join(map(str, _REMEDIES[self]))


_REMEDIES: dict[Status, tuple[Part, ...]] = {
    Status.SOLVED: ("The duality gap is below the tolerance.",),
    Status.INACCURATE: (
        "The gap is within a factor 100 of the tolerance but no longer shrinks; loosen ",
        Name("tol"),
        ", or scale the columns to comparable size.",
    ),
    Status.ITERATION_LIMIT: (
        "The iteration limit was reached before the tolerance; loosen ",
        Name("tol"),
        ", solve along a path of decreasing penalties, or raise max_rounds in Python.",
    ),
    Status.STALLED: (
        "The gap stopped shrinking above the tolerance; standardise columns of very different "
        "size, leave out unpenalised columns that nearly depend on others, loosen ",
        Name("tol"),
        " (to 1e-4 for float32 data), or try ",
        Argument("solver", "barrier"),
        ".",
    ),
    Status.NON_FINITE: (
        "The iterates became infinite or NaN: the data are scaled beyond what floating point "
        "can hold; rescale X and y.",
    ),
    Status.INTERRUPTED: (
        "The solve was interrupted; the coefficients are the best found until then.",
    ),
    Status.LEFT_OUT: (
        "The search for a penalty was decided before this one; give the penalties yourself to "
        "have them all solved.",
    ),
}
# How instances of a status that is not SOLVED ended, in a sentence.
_ENDED = {
    Status.INACCURATE: "just missed the tolerance",
    Status.ITERATION_LIMIT: "reached the iteration limit",
    Status.STALLED: "stalled",
    Status.NON_FINITE: "failed",
    Status.INTERRUPTED: "were interrupted",
    Status.LEFT_OUT: "were left out",
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


def _shortfalls(status: IntArray, relative_gap: FloatArray) -> list[Part]:
    """Parts of a message on the instances (B,) that fell short, with a remedy for each kind."""
    parts: list[Part] = []
    for kind, ended in _ENDED.items():
        of_kind = status == kind
        if of_kind.any():
            parts += [
                f"{' ' if parts else ''}{np.sum(of_kind)} of {len(status)} instances {ended} "
                f"(worst relative gap {relative_gap[of_kind].max():.1e}). ",
                *_REMEDIES[kind],
            ]
    return parts


def warn_of_ending(status: IntArray, relative_gap: FloatArray) -> None:
    """Issue an :class:`InaccurateWarning` with the gaps where an instance fell short."""
    tried = status != Status.LEFT_OUT
    status, relative_gap = status[tried], relative_gap[tried]
    if (status != Status.SOLVED).any():
        warn_user(InaccurateWarning(*_shortfalls(status, relative_gap)))


class Stopwatch:
    """Measures the `seconds` of a block."""

    def __enter__(self) -> Stopwatch:
        self._start = time.perf_counter()
        return self

    def __exit__(self, *error: Any) -> None:
        self.seconds = time.perf_counter() - self._start


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
        gap = self.relative_gap
        if self.solved.all():
            return f"all {len(gap)} instances solved, worst relative gap {gap.max():.1e}"
        return "".join(map(str, _shortfalls(self.status, gap)))


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
        Wall time of the solve. The first call on a machine also compiles.
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
    solver: str
    device: str = CPU
    finished_on_cpu: int = 0
