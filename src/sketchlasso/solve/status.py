"""How a solve can end, and what to do about it."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Status"]


class Status(IntEnum):
    """End of one instance; `Status(x).remedy` says what to change."""

    SOLVED = 0
    INACCURATE = 1
    ITERATION_LIMIT = 2
    STALLED = 3
    NON_FINITE = 4
    INTERRUPTED = 5

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
        "The iteration limit came before the tolerance; raise max_rounds, loosen tol, "
        "or solve along a path of decreasing alpha."
    ),
    Status.STALLED: (
        "The gap stopped shrinking above the tolerance: (a) columns of very different size, "
        "so standardise; (b) float32 data, so loosen tol to 1e-4; (c) try solver='barrier'."
    ),
    Status.NON_FINITE: (
        "The iterates became infinite or NaN: the data are scaled beyond what floating point "
        "can hold; rescale X and y."
    ),
    Status.INTERRUPTED: (
        "The solve was interrupted; the coefficients are the best found until then."
    ),
}
