"""One column of a table: numbers, levels of a category, or what keeps it from being used."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchlasso.io.source import require
from sketchlasso.types import BoolArray, FloatArray

# Words for a missing value: in any column, and only where the other cells are numbers.
NA = ("", "na", "n/a", "#n/a", "<na>", "nan", "null")
NA_AMONG_NUMBERS = (*NA, "none", "missing", "?", "-", ".")
# More levels, or texts that rarely repeat, identify rows and are not categories.
MOST_LEVELS = 100
FEW_LEVELS = 10
DECIMAL_COMMA = r"^[-+]?(\d+,\d*|,\d+)([eE][-+]?\d+)?$"
CODE = r"^0\d+$"
PLAIN = r"^[-+]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][-+]?\d+)?$"
AT_ONCE = 1 << 20  # cells of several columns read together
DRESSED = r"^[-+]?[$€£¥]?\s?(\d{1,3}([,.' ]\d{3})+|\d+)([.,]\d+)?\s?[$€£¥%]?$"
MEASURED = r"^[-+]?\d+([.,]\d+)?\s?\pL{1,3}[²³23]?(/\pL{1,3})?$"
DATES = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y",
)  # fmt: skip
# Thousands separator and decimal mark.
NOTATIONS = ((",", "."), (".", ","), (" ", "."), (" ", ","), ("'", "."))


@dataclass(frozen=True)
class Cells:
    """How the cells of a table are read: see :func:`sketchlasso.io.read_table`.

    `comma` says whether a decimal comma may stand in columns whose cells all allow it.
    """

    na: tuple[str, ...] | None = None
    decimal: str | None = None
    thousands: str | None = None
    clean: bool = False
    comma: bool = False


@dataclass
class ParsedColumn:
    """The cells of a column (m,).

    Either `numbers`, NaN where one is missing, or `codes`, the places of cells among `levels` and
    -1 where one is missing. A `fault` is why the column cannot be used, `kind` which cure fits.
    """

    numbers: FloatArray | None = None
    codes: NDArray[np.intp] | None = None
    levels: tuple[str, ...] = ()
    clean: str | None = None
    note: str = ""
    fault: str = ""
    kind: str = ""

    @property
    def missing(self) -> BoolArray:
        """Which rows (m,) have no value."""
        if self.codes is not None:
            return self.codes < 0
        assert self.numbers is not None
        return np.isnan(self.numbers)

    def counts(self, rows: Any = slice(None)) -> Counter[str]:
        """How many rows have each level."""
        assert self.codes is not None
        found = np.bincount(self.codes[rows][self.codes[rows] >= 0], minlength=len(self.levels))
        return Counter(dict(zip(self.levels, found.tolist(), strict=True)))


def plain_columns(columns: Sequence[Any], cells: Cells) -> list[ParsedColumn | None]:
    """Read columns (m,) of text with plain numbers and empty cells alone; None for others."""
    pa, pc = require("pyarrow", "reading tables"), require("pyarrow.compute", "reading tables")
    found: list[ParsedColumn | None] = [None] * len(columns)
    texts = [j for j, values in enumerate(columns) if values.type == pa.string()]
    if not texts or cells.na is not None or cells.decimal not in (None, "."):
        return found
    m = len(columns[texts[0]])
    step = max(1, AT_ONCE // max(m, 1))
    for first in range(0, len(texts), step):
        block = texts[first : first + step]
        words = pa.concat_arrays([chunk for j in block for chunk in columns[j].chunks])
        fits = pc.match_substring_regex(words, PLAIN)
        numbers = _as_numbers(pc.if_else(fits, words, None).cast("float64")).reshape(-1, m)
        others = _mask(pc.and_(pc.invert(fits), pc.not_equal(words, ""))).reshape(-1, m)
        for j, values, rest in zip(block, numbers, others, strict=True):
            if not (rest.any() or np.isnan(values).all()):
                found[j] = ParsedColumn(values)
    return found


def parse_column(
    values: Any, cells: Cells, *, text: bool | None = None, clean: str | None = None
) -> ParsedColumn:
    """Read a column (m,) of an Arrow table as numbers or as a category.

    `text` says which of both it must be, where that is known, and `clean` how an earlier table
    turned its text into numbers.
    """
    pa, pc = require("pyarrow", "reading tables"), require("pyarrow.compute", "reading tables")
    kinds, kind = pa.types, values.type
    if kinds.is_dictionary(kind):
        values, kind = values.cast(kind.value_type), kind.value_type
    if kinds.is_temporal(kind):
        is_date = kinds.is_date(kind) or kinds.is_timestamp(kind)
        if not is_date or (clean is None and not cells.clean):
            fault = "dates" if is_date else f"{kind} values"
            return ParsedColumn(_nothing(values), fault=fault, kind="date" if is_date else "")
        seconds = pc.cast(values, pa.timestamp("s"), safe=False).cast("int64")
        days = pc.divide(seconds.cast("float64"), 86400.0)
        return ParsedColumn(_as_numbers(days), clean="date", note="read as days since 1970-01-01")
    if kinds.is_boolean(kind) and text is not True:
        values, kind = values.cast("uint8"), pa.uint8()
    is_number = kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind)
    if is_number or kinds.is_null(kind):
        if text is not True:
            return ParsedColumn(_as_numbers(values.cast("float64")))
        numbers = values if kinds.is_integer(kind) else values.cast("float64")
        if kinds.is_floating(kind) and pc.all(pc.equal(pc.floor(numbers), numbers)).as_py():
            numbers = numbers.cast("int64")
        values = numbers.cast("large_string")
    elif str(kind) not in ("string", "large_string", "string_view", "bool"):
        return ParsedColumn(_nothing(values), fault=f"{kind} values", kind="type")
    trimmed = pc.utf8_trim_whitespace(values.cast("large_string"))
    trimmed = trimmed.combine_chunks() if isinstance(trimmed, pa.ChunkedArray) else trimmed
    encoded = trimmed.dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.intp)
    return _parse_text(codes, encoded.dictionary, cells, text, clean)


def _parse_text(
    codes: NDArray[np.intp], words: Any, cells: Cells, text: bool | None, clean: str | None
) -> ParsedColumn:
    """Read a column of text, by its different `words` and their places (m,)."""
    pa, pc = require("pyarrow", "reading tables"), require("pyarrow.compute", "reading tables")
    lower = pc.utf8_lower(words)

    def is_one_of(known: tuple[str, ...]) -> BoolArray:
        return _mask(pc.is_in(lower, value_set=pa.array(known, pa.large_string())))

    asked = None if cells.na is None else ("", *(word.lower() for word in cells.na))
    absent, absent_number = is_one_of(asked or NA), is_one_of(asked or NA_AMONG_NUMBERS)
    values = _numbers(words, cells.thousands, cells.decimal or ".")
    is_number = ~np.isnan(values) & ~absent_number
    rest = ~is_number & ~absent_number
    is_code = _mask(pc.match_substring_regex(words, CODE)) & ~absent
    note = ""
    if text is None and is_code.any():
        text, note = True, f"has codes with leading zeros such as {words[is_code.argmax()]}"
    comma = text is not True and cells.comma and cells.decimal is None and rest.any()
    if comma and np.all(values[is_number] % 1 == 0) and _matches(words, rest, DECIMAL_COMMA):
        values[rest] = _numbers(words, None, ",")[rest]
        is_number, rest = is_number | rest, rest & False
    if text is not True and rest.any() and (cells.clean or clean):
        cleaned = _cleaned(words.filter(pa.array(is_number | rest)), cells, clean)
        if cleaned is not None:
            values[is_number | rest], how, note = cleaned
            return ParsedColumn(_at(values, codes, is_number | rest), clean=how, note=note)
    if text is None:
        text = not is_number.any() and bool((~absent).any())
    if not text:
        column = ParsedColumn(_at(values, codes, is_number))
        if rest.any():
            rows = np.flatnonzero(rest[codes] & (codes >= 0))
            column.fault = (
                f"{counted(len(rows), 'cell')} of text among numbers, such as "
                f"{shortened(words[codes[rows[0]]].as_py())} in row {rows[0] + 1}"
            )
            column.kind = "text"
        return column
    present = np.flatnonzero(~absent)
    levels = words.to_numpy(zero_copy_only=False)[present].astype(str)
    place = np.full(len(words) + 1, -1)  # the last entry is that of a null
    place[present[np.argsort(levels)]] = np.arange(len(present))
    return ParsedColumn(codes=place[codes], levels=tuple(np.sort(levels).tolist()), note=note)


def fault_of_category(column: ParsedColumn) -> tuple[str, str]:
    """Return why text is no category, and which kind of cure fits; both are "" if it is one."""
    pa = require("pyarrow", "reading tables")
    assert column.codes is not None
    levels, rows = column.levels, int((column.codes >= 0).sum())
    words = pa.array(levels, pa.large_string())
    every = np.ones(len(levels), dtype=bool)
    dated = max((int(np.isfinite(_days(words, form)).sum()) for form in DATES), default=0)
    if 2 * dated > len(levels):
        return f"dates such as {shortened(levels[0])}", "date"
    many = len(levels) > MOST_LEVELS or (len(levels) > FEW_LEVELS and 2 * len(levels) > rows)
    # Codes with leading zeros are text, and so are a few plain numbers where the file says so.
    plain = bool(column.note) or (not many and _matches(words, every, PLAIN))
    if levels and not plain and _matches(words, every, DRESSED):
        return f"numbers written as text such as {shortened(levels[0])}", "number"
    if many:
        if _matches(words, every, MEASURED):  # a few levels such as 4wd are a category
            return f"numbers written as text such as {shortened(levels[0])}", "unit"
        remark = f", {column.note}" if column.note else ""
        return f"{len(levels)} different texts in {rows} rows{remark}", "levels"
    return "", ""


def _numbers(words: Any, thousands: str | None, decimal: str) -> FloatArray:
    """Return the numbers among words (k,), NaN for others: what a spreadsheet takes for numbers."""
    pc = require("pyarrow.compute", "reading tables")
    point, comma = re.escape(decimal), re.escape(thousands or "")
    whole = r"\d+" if thousands is None else rf"(\d+|\d{{1,3}}({comma}\d{{3}})+)"
    pattern = rf"^[-+]?({whole}({point}\d*)?|{point}\d+)([eE][-+]?\d+)?$"
    plain = words
    if thousands is not None:
        plain = pc.replace_substring(plain, thousands, "")
    if decimal != ".":
        plain = pc.replace_substring(plain, decimal, ".")
    fits = pc.match_substring_regex(words, pattern)
    return _as_numbers(pc.if_else(fits, plain, None).cast("float64"))


def _cleaned(words: Any, cells: Cells, clean: str | None) -> tuple[FloatArray, str, str] | None:
    """Turn all words of a column into numbers, if that can be done in one way only.

    Returns the numbers (k,), how it was done (`clean` of a rule), and a note.
    """
    pc = require("pyarrow.compute", "reading tables")
    if clean is None or clean.startswith("number"):
        bare = pc.replace_substring_regex(words, r"\s?[$€£¥%]\s?", "")
        signs = sorted(set("".join(words.to_pylist())) & set("$€£¥%"))
        if clean is not None:
            notations = [(clean[-2], clean[-1])]
        else:
            notations = [
                (thousands, decimal)
                for thousands, decimal in NOTATIONS
                if cells.thousands in (None, thousands) and cells.decimal in (None, decimal)
            ]
        ways = {how: _numbers(bare, *how) for how in notations}
        ways = {how: values for how, values in ways.items() if not np.isnan(values).any()}
        first = next(iter(ways.values()), None)
        one = first is not None and all(np.array_equal(first, way) for way in ways.values())
        if first is not None and one and len(signs) <= 1:
            without = f" without {signs[0]}" if signs else ""
            return first, "number " + "".join(next(iter(ways))), f"read as numbers{without}"
    if clean is None or not clean.startswith("number"):
        forms = DATES if clean in (None, "date") else (clean,)
        dates = {form: _days(words, form) for form in forms}
        dates = {form: days for form, days in dates.items() if not np.isnan(days).any()}
        first = next(iter(dates.values()), None)
        if first is not None and all(np.array_equal(first, days) for days in dates.values()):
            return first, next(iter(dates)), "read as days since 1970-01-01"
    return None


def _days(words: Any, form: str) -> FloatArray:
    """Return dates of a format as days since 1970-01-01 (k,), NaN for other words."""
    pc = require("pyarrow.compute", "reading tables")
    pattern = form.replace(".", "[.]").replace("%Y", r"\d{4}")
    pattern = pattern.replace("%m", r"\d{1,2}").replace("%d", r"\d{1,2}")
    dated = pc.if_else(pc.match_substring_regex(words, rf"^{pattern}([T ].*)?$"), words, None)
    dated = pc.replace_substring_regex(dated, r"[T ].*$", "")
    seconds = pc.strptime(dated, format=form, unit="s", error_is_null=True).cast("int64")
    return _as_numbers(seconds.cast("float64")) / 86400.0


def _matches(words: Any, chosen: BoolArray, pattern: str) -> bool:
    """Whether all chosen words fit a pattern."""
    pc = require("pyarrow.compute", "reading tables")
    return bool(_mask(pc.match_substring_regex(words, pattern))[chosen].all())


def _mask(values: Any) -> BoolArray:
    return np.asarray(values.fill_null(False).to_numpy(zero_copy_only=False), dtype=bool)


def _as_numbers(values: Any) -> FloatArray:
    return np.array(values.to_numpy(zero_copy_only=False), dtype=np.float64)


def _at(values: FloatArray, codes: NDArray[np.intp], chosen: BoolArray) -> FloatArray:
    """Return the numbers of cells (m,) by their places among words, NaN where none is chosen."""
    return np.append(np.where(chosen, values, np.nan), np.nan)[codes]


def _nothing(values: Any) -> FloatArray:
    return np.full(len(values), np.nan)


def counted(count: int, thing: str) -> str:
    """Return a number of things in words."""
    return f"{count} {thing}{'' if count == 1 else 's'}"


def shortened(text: str, most: int = 24) -> str:
    """Return a text in quotes, cut if it is long."""
    return repr(text if len(text) <= most else text[: most - 3] + "...")
