"""What a delimited text file looks like: its separator, and whether names come first."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = [
    "MISSING",
    "find_separator",
    "has_header",
    "is_dressed_number",
    "is_number",
    "with_point",
]

# In this order: a decimal comma must not win over the separator beside it.
SEPARATORS = ("\t", ";", "|", ",")
DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")
# $1,200 or 12 %: people read numbers where float() does not.
DRESSED = re.compile(
    r"[-+]?[$€£¥]?\s?\d{1,3}([,.' ]\d{3})+([.,]\d+)?\s?[$€£¥%]?|"
    r"[-+]?[$€£¥]\s?\d+([.,]\d+)?|[-+]?\d+([.,]\d+)?\s?[$€£¥%]"
)
QUOTED = re.compile(r'"[^"]*"')
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-", ".", "missing"})


def find_separator(lines: Sequence[str]) -> str:
    """Return the separator that every line has equally often, else the most frequent, else ','.

    Parameters
    ----------
    lines : sequence of str
        The first lines of a file.
    """
    bare = [QUOTED.sub("", line) for line in lines if line.strip()]
    counts = {mark: [line.count(mark) for line in bare] for mark in SEPARATORS}
    for mark, found in counts.items():
        if found and found[0] > 0 and len(set(found)) == 1:
            return mark
    most = max(SEPARATORS, key=lambda mark: sum(counts[mark]))
    return most if sum(counts[most]) else ","


def has_header(first: Sequence[str], second: Sequence[str] | None) -> bool:
    """Tell whether the first record holds names.

    It does if nothing in it is a number, if a number stands below some text of it, or if it
    counts 0, 1, 2, ... as tables without names are written by some programs.
    """
    numbers = [is_number(cell) for cell in first]
    if not any(numbers):
        return True
    if len(first) > 2 and all(cell.strip() == str(i) for i, cell in enumerate(first)):
        return True
    if second is None or len(second) != len(first):
        return False
    pairs = zip(first, second, strict=True)
    return any(
        not is_number(above) and above.strip().lower() not in MISSING and is_number(below)
        for above, below in pairs
    )


def is_number(cell: str) -> bool:
    """Tell whether a cell reads as a finite or infinite number; missing values do not."""
    if cell.strip().lower() in MISSING:
        return False
    try:
        float(cell)
    except ValueError:
        return False
    return True


def is_dressed_number(cell: str) -> bool:
    """Whether a cell is a number with a currency, a percent sign or marks between thousands."""
    return DRESSED.fullmatch(cell) is not None


def with_point(cell: str) -> str:
    """Return a cell with a point for a decimal comma; one that is no such number as it is."""
    return cell.replace(",", ".") if DECIMAL_COMMA.fullmatch(cell.strip()) else cell
