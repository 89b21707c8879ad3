"""Columns of numbers, text and missing cells, turned into a table of numbers.

A column whose cells are all text is a category and becomes one feature per level. Everything that
cannot be used is reported in one sentence that names all such columns.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchlasso.errors import Argument, InvalidInputError, Part
from sketchlasso.files.columns import Columns
from sketchlasso.files.encoding import ColumnRule, Encoding
from sketchlasso.files.sniff import is_dressed_number, with_point
from sketchlasso.files.table import Table
from sketchlasso.types import FloatArray

__all__ = ["Cells", "mixed_table"]

# More levels are names of rows rather than categories; so are texts that hardly repeat.
MOST_LEVELS = 100
FEW_LEVELS = 10
DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}([T ].*)?|"
    r"\d{1,2}:\d{2}(:\d{2})?"
)
LONGEST = 24
DRESSED: tuple[Part, ...] = ("write numbers with digits and a decimal point alone",)
CORRECT: tuple[Part, ...] = ("correct cells that are no finite numbers",)
MISSING: tuple[Part, ...] = (
    "fill missing values with ",
    Argument("impute", "mean"),
    " or ",
    Argument("impute", "median"),
    ", or leave their rows out with ",
    Argument("impute", "drop"),
)
UNTARGETED: tuple[Part, ...] = (
    "leave rows without a target out with ",
    Argument("impute", "drop"),
)
UNFILLED: tuple[Part, ...] = (
    "leave rows with missing values out with ",
    Argument("impute", "drop"),
    ", or fit the model again with ",
    Argument("impute", "mean"),
    ", which then fills them here too",
)


@dataclass(eq=False)
class Cells:
    """The cells of one column.

    Attributes
    ----------
    numbers : ndarray of shape (m,)
        NaN where a cell is text or missing.
    texts : dict of int to str
        Cells that are neither numbers nor missing, by row.
    decimal_comma : bool
        Whether 1,5 may stand for 1.5.
    dates : bool
        Whether the file says that these are dates.
    where : callable
        From a row to what it is called in a sentence, such as line 3.
    """

    numbers: FloatArray
    texts: dict[int, str] = field(default_factory=dict)
    decimal_comma: bool = False
    dates: bool = False
    where: Callable[[int], str] = "row {}".format

    def __post_init__(self) -> None:
        """Read decimal commas, where all numbers of the column may be written with them."""
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

    def labels(self) -> list[str | None]:
        """Return the texts of all rows, None for missing ones."""
        return [self.texts.get(row) for row in range(len(self.numbers))]

    @property
    def infinite(self) -> tuple[str, tuple[Part, ...]] | None:
        """How many numbers are infinite and what to do, or None."""
        rows = np.flatnonzero(np.isinf(self.numbers))
        if len(rows) == 0:
            return None
        return f"{_counted(len(rows), 'infinite number')}, in {self.where(int(rows[0]))}", CORRECT

    @property
    def gaps(self) -> str:
        """How many values are missing and where the first is; "" if none is."""
        return _gaps(self.missing, self.where)

    def fault(self) -> tuple[str, tuple[Part, ...]] | None:
        """Return why the column cannot be used and what to do about it, or None."""
        dated = [text for text in self.texts.values() if DATE.fullmatch(text)]
        if self.dates or (dated and 2 * len(dated) > len(self.texts)):
            shown = f" such as {_short(dated[0])}" if dated else ""
            return f"dates{shown}", ("turn dates into numbers such as the year or the age in days",)
        if self.texts and not self.is_text:
            row, first = next(iter(self.texts.items()))
            cells = _counted(len(self.texts), "cell", " of text among numbers")
            return f"{cells}, such as {_short(first)} in {self.where(row)}", CORRECT
        if self.infinite is not None:
            return self.infinite
        if self.texts and all(map(is_dressed_number, self.texts.values())):
            shown = _short(next(iter(self.texts.values())))
            return f"numbers written as text such as {shown}", DRESSED
        levels = len(set(self.texts.values()))
        if levels > MOST_LEVELS or (levels > FEW_LEVELS and 2 * levels > len(self.texts)):
            return (
                f"{levels} different texts in {len(self.texts)} rows",
                (f"group texts into at most {MOST_LEVELS} levels",),
            )
        if self.missing.all():
            return "no value at all", ()
        return None


def mixed_table(
    source: object,
    columns: Columns,
    cells: Sequence[Cells],
    y: NDArray[Any] | None,
    *,
    lost: NDArray[np.bool_] | None = None,
    impute: str | None = None,
    encoding: Encoding | None = None,
    dtype: Any = np.float64,
    ids: NDArray[Any] | None = None,
) -> Table:
    """Make a table of columns of any kind.

    Parameters
    ----------
    source : object
        What the file is called in a sentence.
    columns : Columns
    cells : sequence of Cells
        One of every feature column.
    y : ndarray of shape (m,) or None
    lost : ndarray of shape (m,), optional
        Rows whose target is missing.
    impute : {"mean", "median", "drop"}, optional
        What is done about missing cells; they are refused by default.
    encoding : Encoding, optional
        Rules to follow, those of an earlier table; found from the cells by default.
    dtype : dtype-like
    ids : ndarray of shape (m,), optional

    Returns
    -------
    Table
    """
    assert len(cells) == len(columns.features)
    _refuse_faults(source, columns, cells, lost, impute, encoding)
    kept, notes = _kept(columns, cells, lost, impute, encoding)
    rules, blocks = [], []
    for j, position in enumerate(columns.features):
        name = str(position + 1) if columns.names is None else columns.names[position]
        rule = encoding.columns[j] if encoding else _found_rule(name, cells[j], kept, impute)
        block, remarks = _features(cells[j], rule, kept)
        rules.append(rule)
        blocks.append(block)
        notes += remarks
    found = Encoding(tuple(rules))
    names = None if columns.names is None and found.plain else found.feature_names
    everything = bool(kept.all())
    gaps = np.column_stack([column.missing for column in cells])[kept]
    return Table(
        np.column_stack(blocks).astype(dtype, copy=False),
        None if y is None else y[kept],
        names,
        columns.target_name,
        str(source),
        encoding=found,
        rows=None if everything else np.flatnonzero(kept),
        notes=tuple(notes),
        ids=None if ids is None else ids[kept],
        gaps=gaps if gaps.any() else None,
    )


def _refuse_faults(
    source: object,
    columns: Columns,
    cells: Sequence[Cells],
    lost: NDArray[np.bool_] | None,
    impute: str | None,
    encoding: Encoding | None,
) -> None:
    """Refuse columns that cannot be used, all of them in one sentence."""
    faults: list[tuple[int, str, tuple[Part, ...]]] = []
    for j, position in enumerate(columns.features):
        rule = None if encoding is None else encoding.columns[j]
        fault = _misfit(cells[j], rule) if rule is not None else cells[j].fault()
        if fault is not None:
            faults.append((position, *fault))
            continue
        filled = impute == "drop" or (impute is not None if rule is None else rule.fill is not None)
        if not filled and cells[j].gaps:
            faults.append((position, cells[j].gaps, MISSING if rule is None else UNFILLED))
    if lost is not None and impute is None and lost.any():
        assert columns.target is not None
        way = MISSING if any(way == MISSING for *_, way in faults) else UNTARGETED
        faults.append((columns.target, f"the target: {_gaps(lost, cells[0].where)}", way))
    if not faults:
        return
    named = "; ".join(f"{columns.label(position)} ({what})" for position, what, _ in faults)
    raise InvalidInputError(
        f"{source} has {'a column' if len(faults) == 1 else f'{len(faults)} columns'} that cannot "
        f"be used as {'it is' if len(faults) == 1 else 'they are'}: {named}; ",
        *_remedies(columns, faults),
        ".",
    )


def _remedies(
    columns: Columns, faults: Sequence[tuple[int, str, tuple[Part, ...]]]
) -> Iterator[Part]:
    """Yield what to do about all faults, as parts of a message."""
    ways = list(dict.fromkeys(way for _, _, way in faults if way))
    gaps = (MISSING, UNFILLED, UNTARGETED)
    ways.sort(key=lambda way: way not in gaps)
    rest = [position for position, _, way in faults if way not in gaps]
    if rest:
        dropped: list[Part] = []
        for place in rest[:8]:
            dropped += [" ", Argument("drop", [columns.reference(place)])]
        named = "the column" if len(rest) == 1 else "columns"
        ways.append((f"leave {named} out with", *dropped))
    for number, way in enumerate(ways):
        yield from (", or ", *way) if number else way


def _misfit(cells: Cells, rule: ColumnRule) -> tuple[str, tuple[Part, ...]] | None:
    """Return why cells do not fit the rule of an earlier table and what to do, or None."""
    if rule.levels is not None:
        # Levels such as 1 and 2a were text when the rule was made.
        return None
    if cells.texts:
        row, text = next(iter(cells.texts.items()))
        where = cells.where(row)
        return f"text such as {_short(text)} in {where} where the model has numbers", CORRECT
    return cells.infinite


def _kept(
    columns: Columns,
    cells: Sequence[Cells],
    lost: NDArray[np.bool_] | None,
    impute: str | None,
    encoding: Encoding | None,
) -> tuple[NDArray[np.bool_], list[str]]:
    """Which rows (m,) stay, and a note of those that do not."""
    kept = np.ones(len(cells[0].numbers), dtype=bool)
    notes = []
    if lost is not None and lost.any():
        kept &= ~lost
        notes.append(f"left out {_counted(int(lost.sum()), 'row')} without a target")
    if impute == "drop":
        counts = []
        before = kept.copy()
        for j, position in enumerate(columns.features):
            absent = cells[j].missing & before
            if encoding is not None and encoding.columns[j].fill is not None:
                continue
            kept &= ~absent
            if absent.any():
                counts.append(f"{columns.label(position)} in {int(absent.sum())}")
        if counts:
            gone = int(before.sum() - kept.sum())
            notes.append(
                f"left out {_counted(gone, 'row')} with missing values: {', '.join(counts)}"
            )
    if not kept.any():
        raise InvalidInputError(
            "no row is left without missing values; fill them with ",
            Argument("impute", "mean"),
            " or 'median', or leave out the columns that are mostly empty.",
        )
    return kept, notes


def _found_rule(name: str, cells: Cells, kept: NDArray[np.bool_], impute: str | None) -> ColumnRule:
    """Return the rule that the cells of a column call for."""
    if cells.is_text:
        counts = Counter(text for row, text in cells.texts.items() if kept[row])
        common = min(counts, key=lambda level: (-counts[level], level)) if counts else None
        filled = impute in ("mean", "median")
        return ColumnRule(name, tuple(sorted(counts)), common if filled else None)
    if impute not in ("mean", "median"):
        return ColumnRule(name)
    known = cells.numbers[kept & np.isfinite(cells.numbers)]
    return ColumnRule(name, None, float(ColumnRule(name).typical(known[:, None], impute)[0]))


def _features(
    cells: Cells, rule: ColumnRule, kept: NDArray[np.bool_]
) -> tuple[FloatArray, list[str]]:
    """Return the features (m, f) of a column by its rule, and notes of what was filled in."""
    notes = []
    absent = cells.missing & kept
    if absent.any():
        shown = f"{rule.fill:.4g}" if isinstance(rule.fill, float) else repr(rule.fill)
        notes.append(
            f"filled {_counted(int(absent.sum()), 'missing value')} of {rule.name!r} with {shown}"
        )
    if rule.levels is None:
        fill = rule.fill if isinstance(rule.fill, float) else np.nan
        return np.where(absent, fill, cells.numbers)[kept, None], notes
    labels = [
        label if label is not None else _level(number, rule)
        for label, number in zip(cells.labels(), cells.numbers.tolist(), strict=True)
    ]
    chosen = [label for label, keep in zip(labels, kept.tolist(), strict=True) if keep]
    unknown = Counter(label for label in chosen if label and label not in rule.levels)
    if unknown:
        listed = ", ".join(
            f"{_short(text)} in {_counted(n, 'row')}" for text, n in unknown.most_common(5)
        )
        more = "" if len(unknown) <= 5 else f" and {len(unknown) - 5} more"
        instead = repr(rule.levels[0]) if len(rule.levels) == 2 else "none of its levels"
        notes.append(
            f"{rule.name!r} holds levels that the model has not seen: {listed}{more}; these rows "
            f"count as {instead}"
        )
    return rule.indicators(chosen), notes


def _level(number: float, rule: ColumnRule) -> str | None:
    """Return the level of a cell that is a number or missing."""
    if np.isnan(number):
        return str(rule.fill) if rule.fill is not None else None
    return f"{number:g}"


def _gaps(missing: NDArray[np.bool_], where: Callable[[int], str]) -> str:
    """Return how many values are missing and where the first is; "" if none is."""
    rows = np.flatnonzero(missing)
    if len(rows) == 0:
        return ""
    first = "" if len(rows) == 1 else "the first "
    return f"{_counted(len(rows), 'missing value')}, {first}in {where(int(rows[0]))}"


def _counted(count: int, thing: str, rest: str = "") -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}{rest}"


def _short(text: str) -> str:
    return repr(text if len(text) <= LONGEST else text[: LONGEST - 3] + "...")
