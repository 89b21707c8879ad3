"""Numbers in a readable form."""

from __future__ import annotations

from typing import Any

import numpy as np


def number(value: float | None, digits: int = 3) -> str:
    """A number with so many digits that mean something; thousands are grouped."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    size = abs(value)
    if size < 1e-3:
        return f"{value:.{max(digits - 2, 0)}e}"
    if size >= 1000:
        return f"{rounded(value, digits):,.0f}"
    return f"{rounded(value, digits):.{digits}g}" if size < 10**digits else f"{value:.0f}"


def rounded(value: float, digits: int) -> float:
    """A number rounded to so many significant digits."""
    return float(f"{value:.{digits - 1}e}")


def seconds(value: float | None, extrapolated: bool = False, at_least: bool = False) -> str:
    """Seconds, in milliseconds where there are few; extrapolations and bounds are marked."""
    if value is None:
        return "-"
    mark = ">= " if at_least else "~ " if extrapolated else ""
    return f"{mark}{1e3 * value:.2g} ms" if value < 0.1 else f"{mark}{number(value)} s"


def factor(value: float | None, at_least: bool = False) -> str:
    """How many times."""
    if value is None:
        return "-"
    return f"{'>= ' if at_least else ''}{number(value)} x"


def count(value: float | None) -> str:
    """A whole number with its thousands grouped."""
    return "-" if value is None else f"{value:,.0f}"


def percent(value: float | None) -> str:
    """A share as a percentage."""
    if value is None:
        return "-"
    return f"{100 * value:.3g} %"


def share(value: float | None) -> str:
    """A score between 0 and 1."""
    return "-" if value is None else f"{value:.4f}"


def listed(values: Any) -> str:
    """One, two and three."""
    words = [str(value) for value in np.atleast_1d(np.asarray(values, dtype=object))]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def quoted(value: float, unit: str = "") -> str:
    """A figure of the paper, with all its digits."""
    return f"{value:,.10g}{unit}"
