"""Bounds on the expected number of falsely selected features in stability selection.

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

from functools import lru_cache
from math import ceil, sqrt
from typing import Literal, TypeAlias

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from sketchlasso.types import FloatArray

__all__ = ["Assumption", "grid_step", "largest_share", "lowest_cutoff", "pfer_bound"]

Assumption: TypeAlias = Literal["none", "unimodal", "r-concave"]

# Cutoffs such as 0.6 are multiples of 1 / (2B) up to this many steps.
ROUNDING = 1e-9
# log a of the tail's parameter: from nearly all mass at zero to an even spread.
LOG_RANGE = (-30.0, 30.0)


def pfer_bound(p: int, q: int, cutoff: float, n_pairs: int, assumption: Assumption) -> float:
    """Bound on the expected number of noise features selected; at most p.

    Parameters
    ----------
    p : int
        Features.
    q : int
        Features selected on each half-sample.
    cutoff : float
        Share of half-samples that a selected feature needs.
    n_pairs : int
        Complementary pairs B.
    assumption : {"none", "unimodal", "r-concave"}
    """
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
        (1.0 - _least_below(low, high, mean, least, k, r))
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
