"""The cells of a column: numbers, text or missing values, and their faults."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sketchlasso.errors import Part
from sketchlasso.types import FloatArray

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-", ".", "missing"})

DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")
# Numbers that float() cannot read, such as $1,200 or 12 %.
DRESSED = re.compile(
    r"[-+]?[$€£¥]?\s?\d{1,3}([,.' ]\d{3})+([.,]\d+)?\s?[$€£¥%]?|"
    r"[-+]?[$€£¥]\s?\d+([.,]\d+)?|[-+]?\d+([.,]\d+)?\s?[$€£¥%]"
)
# Numbers with a unit, such as 12 kg; a few of them may also be categories, such as 4wd.
MEASURED = re.compile(r"[-+]?\d+([.,]\d+)?\s?[^\W\d_]{1,3}[²³23]?(/[^\W\d_]{1,3})?")
# More levels, or texts that rarely repeat, identify rows and are not categories.
MOST_LEVELS = 100
FEW_LEVELS = 10
DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}([T ].*)?|"
    r"\d{1,2}:\d{2}(:\d{2})?"
)
CORRECT: tuple[Part, ...] = ("correct cells that are not finite numbers",)

# The fault, and the parts of a sentence with the remedy.
Fault: TypeAlias = "tuple[str, tuple[Part, ...]]"


@dataclass(eq=False)
class Cells:
    """The cells of one column.

    `numbers` (m,) are NaN where a cell is text or missing; `texts` are the cells that are neither
    numbers nor missing, by row. `decimal_comma` says whether 1,5 may stand for 1.5, `dates`
    whether the file declares dates. `where` names a row in a sentence, such as line 3.
    """

    numbers: FloatArray
    texts: dict[int, str]
    decimal_comma: bool
    dates: bool
    where: Callable[[int], str]

    def __post_init__(self) -> None:
        """Read decimal commas, if all numbers of the column can have them."""
        known = self.numbers[np.isfinite(self.numbers)]
        if (
            self.decimal_comma
            and self.texts
            and np.all(known == np.round(known))
            and all(with_point(text) != text for text in self.texts.values())
        ):
            for row, text in self.texts.items():
                self.numbers[row] = float(with_point(text))
            self.texts = {}

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which rows (m,) have no value."""
        absent = np.isnan(self.numbers)
        absent[list(self.texts)] = False
        return absent

    @property
    def is_text(self) -> bool:
        """Whether the cells are text, apart from missing ones."""
        return bool(self.texts) and bool(np.isnan(self.numbers).all())

    @property
    def infinite(self) -> Fault | None:
        """The number of infinite cells and the remedy, or None."""
        rows = np.flatnonzero(np.isinf(self.numbers))
        if len(rows) == 0:
            return None
        return f"{counted(len(rows), 'infinite number')}, in {self.where(int(rows[0]))}", CORRECT

    def fault(self) -> Fault | None:
        """Return why the column cannot be used and the remedy, or None."""
        dated = [text for text in self.texts.values() if DATE.fullmatch(text)]
        if self.dates or (dated and 2 * len(dated) > len(self.texts)):
            shown = f" such as {shortened(dated[0])}" if dated else ""
            return f"dates{shown}", ("turn dates into numbers such as the year or the age in days",)
        if self.texts and not self.is_text:
            row, first = next(iter(self.texts.items()))
            cells = counted(len(self.texts), "cell", " of text among numbers")
            return f"{cells}, such as {shortened(first)} in {self.where(row)}", CORRECT
        if self.infinite is not None:
            return self.infinite
        levels = len(set(self.texts.values()))
        many = levels > MOST_LEVELS or (levels > FEW_LEVELS and 2 * levels > len(self.texts))
        if self.texts and all(is_dressed_number(text, many) for text in self.texts.values()):
            shown = shortened(next(iter(self.texts.values())))
            return (
                f"numbers written as text such as {shown}",
                ("write numbers with digits and a decimal point alone",),
            )
        if many:
            return (
                f"{levels} different texts in {len(self.texts)} rows",
                (f"group texts into levels of several rows each, at most {MOST_LEVELS}",),
            )
        if self.missing.all():
            return "no value at all", ()
        return None


def is_number(cell: str) -> bool:
    """Whether a cell is a finite or infinite number; a missing value is not."""
    return not is_missing(cell) and parses(cell)


def is_missing(cell: str) -> bool:
    """Whether a cell is empty or one of the words for a missing value."""
    return cell.strip().lower() in MISSING


def parses(word: str | bytes, kind: type[int] | type[float] = float) -> bool:
    """Whether Python reads a word as a number of this kind."""
    try:
        kind(word)
    except ValueError:
        return False
    return True


def is_dressed_number(cell: str, unit: bool = False) -> bool:
    """Whether a cell is a number with a currency, percent sign or thousands separators.

    With `unit`, 12 kg is one too.
    """
    return bool(DRESSED.fullmatch(cell) or (unit and MEASURED.fullmatch(cell)))


def with_point(cell: str) -> str:
    """Return a number with its decimal comma as a point, and any other cell unchanged."""
    return cell.replace(",", ".") if DECIMAL_COMMA.fullmatch(cell.strip()) else cell


def gaps_of(missing: NDArray[np.bool_], where: Callable[[int], str]) -> str:
    """Return how many values are missing and where the first is; "" if none is."""
    rows = np.flatnonzero(missing)
    if len(rows) == 0:
        return ""
    first = "" if len(rows) == 1 else "the first "
    return f"{counted(len(rows), 'missing value')}, {first}in {where(int(rows[0]))}"


def counted(count: int, thing: str, rest: str = "") -> str:
    """Return a number of things in words."""
    return f"{count} {thing}{'' if count == 1 else 's'}{rest}"


def shortened(value: object, most: int = 24) -> str:
    """Return a text in quotes, or any other value, cut if it is long."""
    text = str(value)
    text = text if len(text) <= most else text[: most - 3] + "..."
    return repr(text) if isinstance(value, str) else text
