"""How a solve can end, and what to do about it."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from sketchlasso.errors import InaccurateWarning
from sketchlasso.types import FloatArray, IntArray
from sketchlasso.warn import warn_user

__all__ = ["Status", "ending_message", "status_of", "warn_of_ending"]

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
        "so standardise; (b) float32 data, so loosen tol to 1e-4; (c) try the solver 'barrier'."
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
