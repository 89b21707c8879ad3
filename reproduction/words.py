"""Numbers in a readable form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def number(value: float | None, digits: int = 3) -> str:
    """A number with so many digits that mean something; thousands are grouped."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    if abs(value) < 1e-3:
        return f"{value:.{max(digits - 2, 0)}e}"
    rounded = float(f"{value:.{digits - 1}e}")
    return f"{rounded:,.0f}" if abs(value) >= 10**digits else f"{rounded:,.{digits}g}"


def seconds(value: float | None, extrapolated: bool = False, at_least: bool = False) -> str:
    """Seconds, in milliseconds where there are few; extrapolations and bounds are marked."""
    if value is None:
        return "-"
    mark = ">= " if at_least else "~ " if extrapolated else ""
    return f"{mark}{1e3 * value:.2g} ms" if value < 0.1 else f"{mark}{number(value)} s"


def factor(value: float | None, at_least: bool = False) -> str:
    """How many times."""
    return "-" if value is None else f"{'>= ' if at_least else ''}{number(value)} x"


def count(value: float | None) -> str:
    """A whole number with its thousands grouped."""
    return "-" if value is None else f"{value:,.0f}"


def percent(value: float | None) -> str:
    """A share as a percentage."""
    return "-" if value is None else f"{100 * value:.3g} %"


def share(value: float | None) -> str:
    """A score between 0 and 1."""
    return "-" if value is None else f"{value:.4f}"


def listed(values: Sequence[Any]) -> str:
    """One, two and three."""
    words = [str(value) for value in values]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def quoted(value: float, unit: str = "") -> str:
    """A figure of the paper, with all its digits."""
    return f"{value:,.10g}{unit}"
