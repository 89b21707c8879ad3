"""Cutoff, features per half-sample and error rate of stability selection: two decide the third.

The error rate is a bound on the expected number of falsely selected features: of noise, which a
half-sample selects with a probability of at most theta = q / p. With B complementary pairs, cutoff
tau and q features per half-sample it is

    none        q^2 / (p (2 tau - 1))                                      Meinshausen, Buehlmann
    unimodal    q^2 / p * C(tau, B)                                        Shah, Samworth

    C(tau, B) = 1 / (2 (2 tau - 1 - 1/(2B)))         for tau <= 3/4
                4 (1 - tau + 1/(2B)) / (1 + 1/B)     for tau >  3/4

N. Meinshausen and P. Buehlmann, "Stability selection", JRSS B 72 (2010). R. D. Shah and
R. J. Samworth, "Variable selection with error control: another look at stability selection",
JRSS B 75 (2013): equations 8 and 9.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Literal, TypeAlias, get_args

import numpy as np

from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.inference.checks import check_choice
from sketchlasso.types import is_number, is_whole

Assumption: TypeAlias = Literal["none", "unimodal"]

# Cutoffs such as 0.6 are multiples of 1 / (2B) up to this many steps.
ROUNDING = 1e-9


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
    assumption : {"unimodal", "none"}
        What is assumed about how often noise features are selected. ``"none"`` is the bound of
        Meinshausen and Buehlmann, ``"unimodal"`` the sharper one of Shah and Samworth.

    Returns
    -------
    ErrorControl
        With the largest q, or the smallest cutoff, whose bound is at most `pfer`. Its `pfer` is
        the bound reached.

    Examples
    --------
    >>> from sketchlasso.inference import error_control
    >>> error_control(1000, cutoff=0.75, pfer=1.0)
    ErrorControl(cutoff=0.75, q=31, pfer=0.9806...)
    >>> error_control(1000, q=30, pfer=1.0, assumption="none").cutoff
    0.95
    """
    for name, value, least in (("n_features", n_features, 1), ("n_pairs", n_pairs, 2)):
        if not is_whole(value) or value < least:
            raise unaccepted(name, value, f"an integer >= {least}")
    check_choice("assumption", assumption, get_args(Assumption))
    p, pairs = int(n_features), int(n_pairs)
    if cutoff is not None and q is not None and pfer is not None:
        raise InvalidInputError(
            f"cutoff={cutoff!r}, q={q!r} and pfer={pfer!r} were all given, but any two of them "
            "decide the third; leave one out."
        )
    limit = 1.0 if pfer is None else pfer
    if not (is_number(limit) and 0 < limit < np.inf):
        accepted = "a number > 0 of falsely selected features"
        raise unaccepted("pfer", pfer, accepted, "pass for example 1")
    most = p if assumption == "none" else int(p / sqrt(3.0))
    if q is not None and not (is_whole(q) and 1 <= q <= most):
        raise InvalidInputError(
            f"q={q!r} was given, but an integer from 1 to {most} is accepted for {p} features and "
            f"assumption={assumption!r}; pass one."
        )
    if q is not None and cutoff is None:
        cutoff = _smallest_cutoff(p, int(q), float(limit), pairs, assumption)
    level = _checked_cutoff(0.75 if cutoff is None else cutoff, pairs, assumption)

    def bound(q: int) -> float:
        return pfer_bound(p, q, level, pairs, assumption)

    size = bisect_right(range(1, most + 1), limit, key=bound) if q is None else int(q)
    if size == 0:
        raise InvalidInputError(
            f"pfer={limit:g} with cutoff={level:g} leaves no feature per half-sample for {p} "
            "feature(s), but at least one is needed; pass a larger pfer or a larger cutoff."
        )
    return ErrorControl(level, size, bound(size))


def _checked_cutoff(cutoff: float, pairs: int, assumption: Assumption) -> float:
    least = 0.5 if assumption == "none" else 0.5 + 1.0 / pairs
    above = is_number(cutoff) and cutoff >= least - ROUNDING
    if not above or cutoff > 1 or (assumption == "none" and cutoff <= least):
        start = "above" if assumption == "none" else "from"
        raise InvalidInputError(
            f"cutoff={cutoff!r} was given, but a share {start} {least:g} to 1 is accepted for "
            f"assumption={assumption!r} and n_pairs={pairs!r}; pass one, or more pairs."
        )
    return float(cutoff)


def _smallest_cutoff(p: int, q: int, pfer: float, pairs: int, assumption: Assumption) -> float:
    """The smallest cutoff, by the formula or among the multiples of 1 / (2B)."""
    if assumption == "none":
        cutoff = 0.5 * (q**2 / (pfer * p) + 1.0)
        if cutoff <= 1.0:
            return cutoff
    else:
        for step in range(pairs + 2, 2 * pairs + 1):
            if pfer_bound(p, q, step / (2 * pairs), pairs, assumption) <= pfer:
                return step / (2 * pairs)
    best = pfer_bound(p, q, 1.0, pairs, assumption)
    raise InvalidInputError(
        f"q={q!r} with pfer={pfer:g} is not possible for {p} features: the bound is {best:.3g} "
        "even at a cutoff of 1; pass a smaller q or a larger pfer."
    )


def pfer_bound(p: int, q: int, cutoff: float, n_pairs: int, assumption: Assumption) -> float:
    """Bound on the expected number of noise features selected, of p; at most p."""
    if assumption == "none":
        margin = 2.0 * cutoff - 1.0
        return min(q**2 / (p * margin), float(p)) if margin > 0 else float(p)
    share, step = q / p, grid_step(cutoff, n_pairs)
    cutoff = step / (2 * n_pairs)
    least = 0.5 + min(share**2, 0.5 / n_pairs + 0.75 * share**2)
    if step < n_pairs + 2 or cutoff <= least or share > 1.0 / sqrt(3.0):
        return float(p)  # the theorem does not hold
    if cutoff <= 0.75:
        bound = q**2 / p / (2.0 * (2.0 * cutoff - 1.0 - 0.5 / n_pairs))
    else:
        bound = q**2 / p * 4.0 * (1.0 - cutoff + 0.5 / n_pairs) / (1.0 + 1.0 / n_pairs)
    return min(bound, float(p))


def grid_step(cutoff: float, n_pairs: int) -> int:
    """The least number of the 2B half-samples that reaches a cutoff."""
    return ceil(cutoff * 2 * n_pairs - ROUNDING)
