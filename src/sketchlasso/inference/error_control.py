"""Two of cutoff, features per half-sample and error rate decide the third."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from numbers import Integral
from typing import Any, get_args

import numpy as np

from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.inference.error_bounds import (
    Assumption,
    grid_step,
    largest_share,
    lowest_cutoff,
    pfer_bound,
)

__all__ = ["ErrorControl", "error_control"]

DEFAULT_CUTOFF = 0.75
DEFAULT_PFER = 1.0


@dataclass(frozen=True)
class ErrorControl:
    """Parameters of stability selection that fit each other.

    Attributes
    ----------
    cutoff : float
        Share of half-samples in which a feature has to be selected.
    q : int
        Features selected on each half-sample.
    pfer : float
        Bound on the expected number of falsely selected features, at this cutoff and q.
    """

    cutoff: float
    q: int
    pfer: float


def error_control(
    n_features: int,
    *,
    cutoff: float | None = None,
    q: int | None = None,
    pfer: float | None = None,
    n_pairs: int = 50,
    assumption: Assumption = "unimodal",
) -> ErrorControl:
    """Compute the third of cutoff, q and per-family error rate from the other two.

    Parameters
    ----------
    n_features : int
        Number p of features.
    cutoff : float, optional
        Share of half-samples in which a feature has to be selected, above 0.5.
    q : int, optional
        Features selected on each half-sample.
    pfer : float, optional
        Largest acceptable bound on the expected number of falsely selected features. Where only
        one of the three is given, or none, `pfer` is 1 unless given, then `cutoff` 0.75.
    n_pairs : int
        Complementary pairs B; there are 2B half-samples.
    assumption : {"unimodal", "r-concave", "none"}
        What is assumed of how often noise features are selected. ``"none"`` is the bound of
        Meinshausen and Buehlmann, the others are the sharper ones of Shah and Samworth.

    Returns
    -------
    ErrorControl
        With the largest q, or the smallest cutoff, whose bound is at most `pfer`. Its `pfer` is
        the bound reached.

    Raises
    ------
    InvalidInputError
        All three were given, one is out of range, or no third value reaches the error rate.

    Examples
    --------
    >>> from sketchlasso.inference import error_control
    >>> error_control(1000, cutoff=0.75, pfer=1.0)
    ErrorControl(cutoff=0.75, q=31, pfer=0.9805...)
    >>> error_control(1000, q=30, pfer=1.0, assumption="none").cutoff
    0.95
    """
    p = _whole("n_features", n_features)
    pairs = _whole("n_pairs", n_pairs, 2)
    if assumption not in get_args(Assumption):
        raise InvalidInputError(
            Argument("assumption", assumption),
            " was given, but 'unimodal', 'r-concave' or 'none' is accepted; pass one of them.",
        )
    if cutoff is not None and q is not None and pfer is not None:
        raise InvalidInputError(
            Argument("cutoff", cutoff),
            ", ",
            Argument("q", q),
            " and ",
            Argument("pfer", pfer),
            " were all given, but any two of them decide the third; leave one out.",
        )
    if pfer is None and (cutoff is None or q is None):
        pfer = DEFAULT_PFER
    if q is None and cutoff is None:
        cutoff = DEFAULT_CUTOFF
    if pfer is not None:
        _check_pfer(pfer)
    if cutoff is not None:
        _check_cutoff(cutoff, pairs, assumption)
    if q is None:
        assert cutoff is not None and pfer is not None
        return _largest_q(p, float(cutoff), float(pfer), pairs, assumption)
    _check_q(q, p, pairs, assumption)
    if cutoff is not None:
        bound = pfer_bound(p, int(q), float(cutoff), pairs, assumption)
        return ErrorControl(float(cutoff), int(q), bound)
    assert pfer is not None
    return _smallest_cutoff(p, int(q), float(pfer), pairs, assumption)


def _largest_q(
    p: int, cutoff: float, pfer: float, pairs: int, assumption: Assumption
) -> ErrorControl:
    """Bisect: bounds grow with q."""

    def bound(q: int) -> float:
        return pfer_bound(p, q, cutoff, pairs, assumption)

    low, high = 0, largest_share(p, pairs, assumption)
    while low < high:
        middle = (low + high + 1) // 2
        if bound(middle) <= pfer:
            low = middle
        else:
            high = middle - 1
    if low == 0:
        raise InvalidInputError(
            Argument("pfer", pfer, "g"),
            " with ",
            Argument("cutoff", cutoff, "g"),
            f" leaves no feature per half-sample for {p} feature(s), but at least one is needed; "
            "pass a larger pfer or a larger cutoff.",
        )
    return ErrorControl(cutoff, low, bound(low))


def _smallest_cutoff(
    p: int, q: int, pfer: float, pairs: int, assumption: Assumption
) -> ErrorControl:
    """The formula where there is one, else the first of the multiples of 1 / (2B)."""
    if assumption == "none":
        cutoff = 0.5 * (q**2 / (pfer * p) + 1.0)
        if cutoff <= 1.0:
            return ErrorControl(cutoff, q, pfer_bound(p, q, cutoff, pairs, assumption))
    else:
        for step in range(grid_step(lowest_cutoff(pairs, assumption), pairs), 2 * pairs + 1):
            cutoff = step / (2 * pairs)
            bound = pfer_bound(p, q, cutoff, pairs, assumption)
            if bound <= pfer:
                return ErrorControl(cutoff, q, bound)
    best = pfer_bound(p, q, 1.0, pairs, assumption)
    raise InvalidInputError(
        Argument("q", q),
        " with ",
        Argument("pfer", pfer, "g"),
        f" is not possible for {p} features: the bound is {best:.3g} even at a cutoff of 1; pass "
        "a smaller q or a larger pfer.",
    )


def _whole(name: str, value: Any, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise InvalidInputError(
            Argument(name, value), f" was given, but an integer >= {least} is accepted; pass one."
        )
    return int(value)


def _check_pfer(pfer: Any) -> None:
    if (
        isinstance(pfer, bool)
        or not isinstance(pfer, int | float | np.number)
        or not 0 < pfer < float("inf")
    ):
        raise InvalidInputError(
            Argument("pfer", pfer),
            " was given, but a number > 0 of falsely selected features is accepted; pass for "
            "example 1.",
        )


def _check_cutoff(cutoff: Any, pairs: int, assumption: Assumption) -> None:
    least = lowest_cutoff(pairs, assumption)
    open_end = assumption == "none"
    inside = isinstance(cutoff, int | float | np.number) and not isinstance(cutoff, bool)
    inside = inside and (least < cutoff <= 1 if open_end else least - 1e-9 <= cutoff <= 1)
    if not inside:
        start = "above" if open_end else "from"
        raise InvalidInputError(
            Argument("cutoff", cutoff),
            f" was given, but a share {start} {least:g} to 1 is accepted for ",
            Argument("assumption", assumption),
            " and ",
            Argument("n_pairs", pairs),
            "; pass such a share, or more pairs.",
        )


def _check_q(q: Any, p: int, pairs: int, assumption: Assumption) -> None:
    most = largest_share(p, pairs, assumption)
    if isinstance(q, bool) or not isinstance(q, Integral) or not 1 <= int(q) <= most:
        reason = ""
        if assumption == "unimodal":
            reason = f" (q / n_features <= {1 / sqrt(3):.3f})"
        elif assumption == "r-concave":
            reason = " (below half of the features)"
        raise InvalidInputError(
            Argument("q", q),
            f" was given, but an integer from 1 to {most} is accepted for {p} features and ",
            Argument("assumption", assumption),
            f"{reason}; pass such a number.",
        )
