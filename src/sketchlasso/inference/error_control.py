"""Cutoff, features per half-sample and error rate of stability selection: two decide the third.

The error rate is a bound on the expected number of falsely selected features.

A feature is called noise here if the base procedure selects it on a half-sample with a
probability of at most theta = q / p. With B complementary pairs, cutoff tau and q features per
half-sample, the expected number of noise features that are selected is at most

    none        q^2 / (p (2 tau - 1))                                      Meinshausen, Buehlmann
    unimodal    q^2 / p * C(tau, B)                                        Shah, Samworth
    r-concave   p * min( D(theta^2, 2 tau - 1, B, -1/2), D(theta, tau, 2B, -1/4) )

    C(tau, B) = 1 / (2 (2 tau - 1 - 1/(2B)))         for tau <= 3/4
                4 (1 - tau + 1/(2B)) / (1 + 1/B)     for tau >  3/4

where D(eta, t, B, r) is the largest P(Z >= t) of an r-concave Z on {0, 1/B, ..., 1} whose mean
is at most eta.

N. Meinshausen and P. Buehlmann, "Stability selection", JRSS B 72 (2010). R. D. Shah and
R. J. Samworth, "Variable selection with error control: another look at stability selection",
JRSS B 75 (2013): equations 8 and 9, and appendix A.4 for D.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, sqrt
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.inference.checks import check_choice
from sketchlasso.types import FloatArray, is_number, is_whole

Assumption: TypeAlias = Literal["none", "unimodal", "r-concave"]

# Cutoffs such as 0.6 are multiples of 1 / (2B) up to this many steps.
ROUNDING = 1e-9
# log a of the tail's parameter: from nearly all mass at zero to an even spread.
LOG_RANGE = (-30.0, 30.0)


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
        What is assumed about how often noise features are selected. ``"none"`` is the bound of
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
    ErrorControl(cutoff=0.75, q=31, pfer=0.9806...)
    >>> error_control(1000, q=30, pfer=1.0, assumption="none").cutoff
    0.95
    """
    p = _whole("n_features", n_features)
    pairs = _whole("n_pairs", n_pairs, 2)
    check_choice("assumption", assumption, get_args(Assumption))
    if cutoff is not None and q is not None and pfer is not None:
        raise InvalidInputError(
            f"cutoff={cutoff!r}, q={q!r} and pfer={pfer!r} were all given, but any two of them "
            "decide the third; leave one out."
        )
    if pfer is None and (cutoff is None or q is None):
        pfer = 1.0
    if q is None and cutoff is None:
        cutoff = 0.75
    if pfer is not None and not (is_number(pfer) and 0 < pfer < np.inf):
        accepted = "a number > 0 of falsely selected features"
        raise unaccepted("pfer", pfer, accepted, "pass for example 1")
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

    q = bisect_right(range(1, largest_share(p, pairs, assumption) + 1), pfer, key=bound)
    if q == 0:
        raise InvalidInputError(
            f"pfer={pfer:g} with cutoff={cutoff:g} leaves no feature per half-sample for {p} "
            "feature(s), but at least one is needed; pass a larger pfer or a larger cutoff."
        )
    return ErrorControl(cutoff, q, bound(q))


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
        f"q={q!r} with pfer={pfer:g} is not possible for {p} features: the bound is {best:.3g} "
        "even at a cutoff of 1; pass a smaller q or a larger pfer."
    )


def _whole(name: str, value: object, least: int = 1) -> int:
    if not is_whole(value) or value < least:
        raise unaccepted(name, value, f"an integer >= {least}")
    return int(value)


def _check_cutoff(cutoff: Any, pairs: int, assumption: Assumption) -> None:
    least = lowest_cutoff(pairs, assumption)
    open_end = assumption == "none"
    above = is_number(cutoff) and (cutoff > least if open_end else cutoff >= least - ROUNDING)
    if not above or cutoff > 1:
        start = "above" if open_end else "from"
        raise InvalidInputError(
            f"cutoff={cutoff!r} was given, but a share {start} {least:g} to 1 is accepted for "
            f"assumption={assumption!r} and n_pairs={pairs!r}; pass one, or more pairs."
        )


def _check_q(q: object, p: int, pairs: int, assumption: Assumption) -> None:
    most = largest_share(p, pairs, assumption)
    if not is_whole(q) or not 1 <= q <= most:
        reason = ""
        if assumption == "unimodal":
            reason = f" (q / n_features <= {1 / sqrt(3):.3f})"
        elif assumption == "r-concave":
            reason = " (below half of the features)"
        raise InvalidInputError(
            f"q={q!r} was given, but an integer from 1 to {most} is accepted for {p} features and "
            f"assumption={assumption!r}{reason}; pass one."
        )


def pfer_bound(p: int, q: int, cutoff: float, n_pairs: int, assumption: Assumption) -> float:
    """Bound on the expected number of noise features selected, of p; at most p."""
    if assumption == "none":
        margin = 2.0 * cutoff - 1.0
        return min(q**2 / (p * margin), float(p)) if margin > 0 else float(p)
    step = grid_step(cutoff, n_pairs)
    if assumption == "unimodal":
        return min(_unimodal(p, q, step, n_pairs), float(p))
    share = q / p
    return p * min(
        _tail(share**2 * n_pairs, step - n_pairs, n_pairs, -0.5),
        _tail(share * 2 * n_pairs, step, 2 * n_pairs, -0.25),
    )


def grid_step(cutoff: float, n_pairs: int) -> int:
    """The least number of the 2B half-samples that reaches a cutoff."""
    return ceil(cutoff * 2 * n_pairs - ROUNDING)


def largest_share(p: int, n_pairs: int, assumption: Assumption) -> int:
    """The largest q that a bound covers, for any cutoff.

    Unimodal: theta <= 1 / sqrt(3). r-concave: the mean theta has to leave room for a decreasing
    tail, ceil(4 B theta) + 1 < 2B.
    """
    if assumption == "none":
        return p
    if assumption == "unimodal":
        return int(p / sqrt(3.0))
    q = (2 * n_pairs - 2) * p // (4 * n_pairs)
    while q > 0 and ceil(4 * n_pairs * q / p - ROUNDING) + 1 >= 2 * n_pairs:
        q -= 1
    return q


def lowest_cutoff(n_pairs: int, assumption: Assumption) -> float:
    """The smallest cutoff that a bound covers; for "none" cutoffs have to exceed it."""
    return 0.5 + 1.0 / n_pairs if assumption == "unimodal" else 0.5


def _unimodal(p: int, q: int, step: int, n_pairs: int) -> float:
    """The bound at a cutoff of step / (2B); infinite where the theorem does not hold."""
    share, cutoff = q / p, step / (2 * n_pairs)
    least = 0.5 + min(share**2, 0.5 / n_pairs + 0.75 * share**2)
    if step < n_pairs + 2 or cutoff <= least or share > 1.0 / sqrt(3.0):
        return np.inf
    if cutoff <= 0.75:
        return q**2 / p / (2.0 * (2.0 * cutoff - 1.0 - 0.5 / n_pairs))
    return q**2 / p * 4.0 * (1.0 - cutoff + 0.5 / n_pairs) / (1.0 + 1.0 / n_pairs)


@lru_cache(maxsize=4096)
def _tail(mean: float, least: int, size: int, r: float) -> float:
    """Largest P(Z >= least) of an r-concave Z on {0, ..., size} with the given mean.

    The extremal probabilities are proportional to (a + i)^(1/r) for i = 0, ..., k, with a part
    of the next one at k + 1 that makes the mean right. With weights g_i = (a + i)^(1/r),

        P(Z < t) = (k + 1 - mean) * sum_{i < t} g_i / sum_{i <= k} (k + 1 - i) g_i

    and a runs from where that part is whole, a_{k+1}, to where it is zero, a_k: the a for which
    the mean over 0, ..., k is the one given.
    """
    first = ceil(2.0 * mean - ROUNDING) + 1
    if least < first:
        return 1.0
    # Where k + 1 < least no mass reaches it.
    places = range(max(first, least - 1), size)
    ends = [_flatness(mean, k, r) for k in (*places, size)]
    return max(
        1.0 - _least_below(low, high, mean, least, k, r)
        for k, high, low in zip(places, ends, ends[1:], strict=False)
    )


def _least_below(low: float, high: float, mean: float, least: int, k: int, r: float) -> float:
    """The least P(Z < least) for log a from `low` to `high`, both ends included."""
    arguments = (mean, least, k, r)
    at_ends = min(_below(low, *arguments), _below(high, *arguments))
    if _below(0.5 * (low + high), *arguments) >= at_ends:
        return at_ends
    found = minimize_scalar(_below, bounds=(low, high), args=arguments, method="bounded")
    return min(at_ends, float(found.fun))


def _weights(log_a: float, k: int, r: float) -> FloatArray:
    """(a + i)^(1/r) for i = 0, ..., k, divided by the first of them."""
    return np.asarray((1.0 + np.arange(k + 1) * np.exp(-log_a)) ** (1.0 / r))


def _flatness(mean: float, k: int, r: float) -> float:
    """The log a for which (a + i)^(1/r) on 0, ..., k has the given mean."""
    steps = np.arange(k + 1)

    def excess(log_a: float) -> float:
        weights = _weights(log_a, k, r)
        return float(weights @ steps / weights.sum()) - mean

    if excess(LOG_RANGE[0]) >= 0:
        return LOG_RANGE[0]
    return float(brentq(excess, *LOG_RANGE, xtol=1e-12))


def _below(log_a: float, mean: float, least: int, k: int, r: float) -> float:
    """P(Z < least) of the extremal distribution."""
    weights = _weights(log_a, k, r)
    whole = float((k + 1 - np.arange(k + 1)) @ weights)
    return (k + 1 - mean) * float(weights[:least].sum()) / whole
