"""The result of a solve."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from sketchlasso.linalg.device import CPU
from sketchlasso.problem.formulas import relative_gap
from sketchlasso.solvers.status import Status, ending_message, warn_of_ending
from sketchlasso.types import BoolArray, FloatArray, IntArray, SparseRows

__all__ = ["Certified", "Screened", "Solution"]


@dataclass(frozen=True, eq=False)
class Screened:
    """How many features each safe rule proved zero, per instance (B,).

    `gap_safe` counts what the rule removes at the final gap. A rule that is switched off
    counts zero.
    """

    paper: IntArray
    static: IntArray
    gap_safe: IntArray


class Certified(ABC):
    """Base of solutions with a certificate, one row per instance."""

    coef: SparseRows
    primal: FloatArray
    dual: FloatArray
    status: IntArray

    @property
    def gap(self) -> FloatArray:
        """Primal - dual (B,), never negative."""
        return np.maximum(self.primal - self.dual, 0.0)

    @property
    @abstractmethod
    def relative_gap(self) -> FloatArray:
        """Gap over objective (B,), defined by each kind of problem."""

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

    @property
    def relative_gap(self) -> FloatArray:
        """Gap / primal (B,), see :func:`~sketchlasso.problem.formulas.relative_gap`."""
        gap: FloatArray = relative_gap(self.primal, self.dual, self.null)
        return gap
