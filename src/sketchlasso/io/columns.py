"""One column of a table: numbers, levels of a category, or what keeps it from being used."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchlasso.io.source import require
from sketchlasso.types import BoolArray, FloatArray

# Words for a missing value: in any column, and only where the other cells are numbers.
NA = ("", "na", "n/a", "#n/a", "<na>", "nan", "null")
NA_AMONG_NUMBERS = (*NA, "none", "missing", "?", "-", ".")
PLAIN = r"^[-+]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][-+]?\d+)?$"
DECIMAL_COMMA = r"^[-+]?(\d+,\d*|,\d+)([eE][-+]?\d+)?$"
CODE = r"^0\d+$"
# Numbers as people write them: with signs, separators or units.
DRESSED = r"^[-+]?[$€£¥]?\s?(\d{1,3}([,.' ]\d{3})+|\d+)([.,]\d+)?\s?[$€£¥%]?$"
MEASURED = r"^[-+]?\d+([.,]\d+)?\s?\pL{1,3}[²³23]?(/\pL{1,3})?$"
DATES = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y",
)  # fmt: skip
# Thousands separator and decimal mark.
NOTATIONS = ((",", "."), (".", ","), (" ", "."), (" ", ","), ("'", "."))
DAYS = "read as days since 1970-01-01"


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
        codes = self.codes[rows]
        counts = np.bincount(codes[codes >= 0], minlength=len(self.levels)).tolist()
        return Counter(dict(zip(self.levels, counts, strict=True)))


def parse_column(
    values: Any, cells: Cells, *, text: bool | None = None, clean: str | None = None
) -> ParsedColumn:
    """Read a column (m,) of an Arrow table as numbers or as a category.

    `text` says which of both it must be, where that is known, and `clean` how an earlier table
    turned its text into numbers.
    """
    pa, pc = require("pyarrow", "reading tables"), require("pyarrow.compute", "reading tables")
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    kind, kinds = values.type, pa.types
    if kinds.is_date(kind) or kinds.is_timestamp(kind):
        if clean is None and not cells.clean:
            return _unusable(values, "dates", "date")
        seconds = pc.cast(values, pa.timestamp("s"), safe=False).cast("int64")
        return ParsedColumn(_as_numbers(seconds) / 86400.0, clean="date", note=DAYS)
    if "string" in str(kind):
        values = pc.utf8_trim_whitespace(values.cast("large_string"))
    elif kinds.is_boolean(kind) and text is not True:
        return ParsedColumn(_as_numbers(values.cast("uint8")))
    elif kinds.is_nested(kind) or kinds.is_temporal(kind) or "binary" in str(kind):
        return _unusable(values, f"{kind} values", "type")
    elif text is not True:
        return ParsedColumn(_as_numbers(values))
    else:
        whole = kinds.is_floating(kind) and pc.all(pc.equal(pc.floor(values), values)).as_py()
        values = (values.cast("int64") if whole else values).cast("large_string")
    if text is not True and cells.na is None and cells.decimal in (None, "."):
        fits = pc.match_substring_regex(values, PLAIN)  # most columns of numbers
        if not pc.any(pc.and_(pc.invert(fits), pc.not_equal(values, ""))).as_py():
            return ParsedColumn(_as_numbers(pc.if_else(fits, values, None)))
    words = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    encoded = words.dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.intp)
    return _parse_text(codes, encoded.dictionary, cells, text, clean)


def _parse_text(
    codes: NDArray[np.intp], words: Any, cells: Cells, text: bool | None, clean: str | None
) -> ParsedColumn:
    """Read a column of text, by its different `words` and their places (m,)."""
    pa, pc = require("pyarrow", "reading tables"), require("pyarrow.compute", "reading tables")
    asked = None if cells.na is None else ("", *(word.lower() for word in cells.na))
    absent, absent_number = (
        _mask(pc.is_in(pc.utf8_lower(words), value_set=pa.array(known, pa.large_string())))
        for known in (asked or NA, asked or NA_AMONG_NUMBERS)
    )
    values = _numbers(words, cells.thousands, cells.decimal or ".")
    is_number = ~np.isnan(values) & ~absent_number
    rest = ~is_number & ~absent_number
    is_code = _fits(words, CODE) & ~absent
    note = ""
    if text is None and is_code.any():
        text, note = True, f"has codes with leading zeros such as {words[is_code.argmax()]}"
    comma = text is not True and cells.comma and cells.decimal is None and rest.any()
    if comma and np.all(values[is_number] % 1 == 0) and _fits(words, DECIMAL_COMMA)[rest].all():
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
            such = shortened(words[codes[rows[0]]].as_py())
            cells_of_text = counted(len(rows), "cell")
            column.fault = (
                f"{cells_of_text} of text among numbers, such as {such} in row {rows[0] + 1}"
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
    if not levels:
        return "", ""
    words = pa.array(levels, pa.large_string())
    if 2 * max(int(np.isfinite(_days(words, form)).sum()) for form in DATES) > len(levels):
        return f"dates such as {shortened(levels[0])}", "date"
    # More levels, or texts that rarely repeat, identify rows and are not categories.
    many = len(levels) > 100 or (len(levels) > 10 and 2 * len(levels) > rows)
    # Codes with leading zeros are text, and so are a few plain numbers where the file says so.
    plain = bool(column.note) or (not many and _fits(words, PLAIN).all())
    dressed = f"numbers written as text such as {shortened(levels[0])}"
    if not plain and _fits(words, DRESSED).all():
        return dressed, "number"
    if many and _fits(words, MEASURED).all():  # a few levels such as 4wd are a category
        return dressed, "unit"
    if many:
        remark = f", {column.note}" if column.note else ""
        return f"{len(levels)} different texts in {rows} rows{remark}", "levels"
    return "", ""


def _cleaned(words: Any, cells: Cells, clean: str | None) -> tuple[FloatArray, str, str] | None:
    """Turn all words of a column into numbers, if that can be done in one way only.

    Returns the numbers (k,), how it was done (`clean` of a rule), and a note.
    """
    pc = require("pyarrow.compute", "reading tables")
    bare = pc.replace_substring_regex(words, r"\s?[$€£¥%]\s?", "")
    signs = sorted(set("".join(words.to_pylist())) & set("$€£¥%"))
    ways: dict[str, FloatArray] = {}
    for thousands, decimal in NOTATIONS if len(signs) <= 1 else ():
        how = f"number {thousands}{decimal}"
        allowed = cells.thousands in (None, thousands) and cells.decimal in (None, decimal)
        if clean == how or (clean is None and allowed):
            ways[how] = _numbers(bare, thousands, decimal)
    for form in DATES:
        if clean in (None, "date", form):
            ways[form] = _days(words, form)
    ways = {how: values for how, values in ways.items() if not np.isnan(values).any()}
    if not ways:
        return None
    how, first = next(iter(ways.items()))
    if not all(np.array_equal(first, values) for values in ways.values()):
        return None
    without = f" without {signs[0]}" if signs else ""
    return first, how, f"read as numbers{without}" if how.startswith("number") else DAYS


def _numbers(words: Any, thousands: str | None, decimal: str) -> FloatArray:
    """Return the numbers among words (k,), NaN for others: what a spreadsheet takes for numbers."""
    pc = require("pyarrow.compute", "reading tables")
    point, comma = re.escape(decimal), re.escape(thousands or "")
    whole = r"\d+" if thousands is None else rf"(\d+|\d{{1,3}}({comma}\d{{3}})+)"
    pattern = rf"^[-+]?({whole}({point}\d*)?|{point}\d+)([eE][-+]?\d+)?$"
    plain = words if thousands is None else pc.replace_substring(words, thousands, "")
    if decimal != ".":
        plain = pc.replace_substring(plain, decimal, ".")
    return _as_numbers(pc.if_else(pc.match_substring_regex(words, pattern), plain, None))


def _days(words: Any, form: str) -> FloatArray:
    """Return dates of a format as days since 1970-01-01 (k,), NaN for other words."""
    pc = require("pyarrow.compute", "reading tables")
    pattern = form.replace(".", "[.]").replace("%Y", r"\d{4}")
    pattern = pattern.replace("%m", r"\d{1,2}").replace("%d", r"\d{1,2}")
    dated = pc.if_else(pc.match_substring_regex(words, rf"^{pattern}([T ].*)?$"), words, None)
    dated = pc.replace_substring_regex(dated, r"[T ].*$", "")
    seconds = pc.strptime(dated, format=form, unit="s", error_is_null=True).cast("int64")
    return _as_numbers(seconds) / 86400.0


def _fits(words: Any, pattern: str) -> BoolArray:
    """Which words (k,) fit a pattern."""
    return _mask(require("pyarrow.compute", "reading").match_substring_regex(words, pattern))


def _mask(values: Any) -> BoolArray:
    return np.asarray(values.fill_null(False).to_numpy(zero_copy_only=False), dtype=bool)


def _as_numbers(values: Any) -> FloatArray:
    return np.array(values.cast("float64").to_numpy(zero_copy_only=False), dtype=np.float64)


def _at(values: FloatArray, codes: NDArray[np.intp], chosen: BoolArray) -> FloatArray:
    """Return the numbers of cells (m,) by their places among words, NaN where none is chosen."""
    return np.append(np.where(chosen, values, np.nan), np.nan)[codes]


def _unusable(values: Any, fault: str, kind: str) -> ParsedColumn:
    return ParsedColumn(np.full(len(values), np.nan), fault=fault, kind=kind)


def counted(count: int, thing: str) -> str:
    """Return a number of things in words."""
    return f"{count} {thing}{'' if count == 1 else 's'}"


def shortened(text: str, most: int = 24) -> str:
    """Return a text in quotes, cut if it is long."""
    return repr(text if len(text) <= most else text[: most - 3] + "...")
