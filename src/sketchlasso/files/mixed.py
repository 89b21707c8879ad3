"""Rows of numbers, text and missing cells, gathered block by block into a table of numbers.

A column whose cells are all text is a category and becomes one feature per level. One message
names all columns that cannot be used.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sketchlasso.errors import Argument, InvalidInputError, Part
from sketchlasso.files.cells import (
    CORRECT,
    Cells,
    Fault,
    counted,
    gaps_of,
    is_dressed_number,
    shortened,
)
from sketchlasso.files.encoding import ColumnRule, Encoding
from sketchlasso.files.options import Columns, ReadOptions
from sketchlasso.files.table import GrowingArray, Table
from sketchlasso.types import BoolArray, FloatArray

# Remedies for missing values: in a new table, in targets only, in data for a fitted model.
FILL: tuple[Part, ...] = (
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

# The position of a column, its fault, and the remedy.
_ColumnFault: TypeAlias = "tuple[int, str, tuple[Part, ...]]"


class Gathered:
    """Features of type `dtype`, targets and ids of the rows read so far.

    Readers keep the cells of features that are text in `texts`, one dictionary by row for each
    feature, the features that hold dates in `dates`, and the identifiers of rows in `ids`.
    `decimal_comma` says whether 1,5 may stand for 1.5.
    """

    def __init__(
        self,
        source: object,
        columns: Columns,
        options: ReadOptions,
        dtype: Any,
        decimal_comma: bool = False,
    ) -> None:
        self._source, self._columns, self._options = source, columns, options
        self._dtype, self._decimal_comma = dtype, decimal_comma
        self._features = GrowingArray(dtype, len(columns.features))
        self.texts: list[dict[int, str]] = [{} for _ in columns.features]
        self.dates: set[int] = set()
        self.ids: list[str] = []
        self._plain = True
        # Numbers, and the places of texts among the labels found so far, -1 where there is none.
        self._targets = GrowingArray(np.float64, 2)
        self._labels: dict[str, int] = {}
        self._lines = array("q")

    def __len__(self) -> int:
        return len(self._features)

    def append(self, values: FloatArray, lines: Sequence[int] = ()) -> None:
        """Add rows (b, features), NaN where a cell is missing or text, with the lines they end in.

        Rows of a file without lines are called by their numbers from 1.
        """
        self._lines.extend(lines)
        with np.errstate(over="ignore"):
            values = values.astype(self._dtype, copy=False)
        self._plain = self._plain and bool(np.isfinite(values).all())
        self._features.append(values)

    def add_targets(self, numbers: FloatArray, texts: Mapping[int, str]) -> None:
        """Add targets (b,), NaN where they are missing or one of the texts, by place."""
        places = np.full(len(numbers), -1)
        for row, text in texts.items():
            places[row] = self._labels.setdefault(text, len(self._labels))
        self._targets.append(np.column_stack([numbers, places]))

    def where(self, row: int) -> str:
        """Return the name of a row in a sentence."""
        return f"line {self._lines[row]}" if self._lines else f"row {row + 1}"

    def table(self) -> Table:
        """Return the table, with categories as features and gaps filled."""
        y, lost = self.targets()
        X = self._features.take()
        ids = np.array(self.ids, dtype=np.str_) if self.ids else None
        columns, encoding, impute = self._columns, self._options.encoding, self._options.impute
        if self._plain and encoding is None and not lost.any():
            return Table(
                X, y, columns.feature_names, columns.target_name, str(self._source), ids=ids
            )
        cells = [
            Cells(
                np.array(X[:, j], dtype=np.float64),
                texts,
                self._decimal_comma,
                j in self.dates,
                self.where,
            )
            for j, texts in enumerate(self.texts)
        ]
        if not self._options.mixed:
            raise self._not_numbers(cells, lost)
        self._refuse_faults(cells, lost)
        kept, notes = self._kept(cells, lost)
        rules, blocks = [], []
        for j, position in enumerate(columns.features):
            name = str(position + 1) if columns.names is None else columns.names[position]
            rule = encoding.columns[j] if encoding else _found_rule(name, cells[j], kept, impute)
            block, remarks = _features(cells[j], rule, kept)
            rules.append(rule)
            blocks.append(block)
            notes += remarks
        found = Encoding(tuple(rules))
        gaps = np.column_stack([column.missing for column in cells])[kept]
        return Table(
            np.column_stack(blocks).astype(X.dtype, copy=False),
            None if y is None else y[kept],
            None if columns.names is None and found.plain else found.feature_names,
            columns.target_name,
            str(self._source),
            encoding=found,
            rows=None if kept.all() else np.flatnonzero(kept),
            notes=tuple(notes),
            ids=None if ids is None else ids[kept],
            gaps=gaps if gaps.any() else None,
        )

    def targets(self) -> tuple[NDArray[Any] | None, BoolArray]:
        """Return targets (m,), numbers or text, if there are any, and which are missing (m,)."""
        if self._columns.target is None:
            return None, np.zeros(len(self), dtype=bool)
        column = self._columns.label(self._columns.target)
        numbers, codes = np.ascontiguousarray(self._targets.take().T)
        places, labels = codes.astype(np.intp), list(self._labels)
        text, number = places >= 0, ~np.isnan(numbers)
        if text.any() and number.any():
            first, other = sorted([int(np.argmax(text)), int(np.argmax(number))])
            shown = [labels[places[i]] if text[i] else f"{numbers[i]:g}" for i in (first, other)]
            raise InvalidInputError(
                f"{self._source} mixes numbers and text in its target, column {column}: "
                f"{shown[0]!r} in {self.where(first)} but {shown[1]!r} in {self.where(other)}; "
                "make them all numbers or all text."
            )
        # Files without lines declare that a column is text.
        if labels and self._lines and all(map(is_dressed_number, labels)):
            raise InvalidInputError(
                f"{self._source} holds numbers written as text in its target, column {column}, "
                f"such as {labels[0]!r}; write them with digits and a decimal point alone."
            )
        infinite = np.isinf(numbers)
        if infinite.any():
            row = int(np.argmax(infinite))
            raise InvalidInputError(
                f"{self._source} holds '{numbers[row]:g}' in {self.where(row)}, column {column}, "
                "but the target must be finite; correct it or leave the row out."
            )
        return np.array([*labels, ""])[places] if labels else numbers, ~(text | number)

    def _not_numbers(self, cells: Sequence[Cells], lost: BoolArray) -> InvalidInputError:
        """Return the error for the first cell that is not a number, where all must be numbers."""
        columns = self._columns
        wrong = np.column_stack([lost, *(~np.isfinite(column.numbers) for column in cells)])
        row, j = np.argwhere(wrong)[0]
        position, text = columns.target, None
        if j > 0:
            position, number = columns.features[j - 1], cells[j - 1].numbers[row]
            text = f"{number:g}" if np.isinf(number) else cells[j - 1].texts.get(row)
        assert position is not None
        if text is None:
            held, wanted = "has no value", "every cell is needed; fill it in"
        else:
            hint = " with a decimal point" if "," in text else ""
            held = f"holds {shortened(text)}"
            wanted = f"a finite number{hint} is needed; correct it"
        return InvalidInputError(
            f"{self._source} {held} in {self.where(row)}, column {columns.label(position)}, but "
            f"{wanted}, or leave the column out with ",
            Argument("drop", [columns.reference(position)]),
            ", or read the file whole: tables in blocks hold numbers only, without gaps and "
            "categories.",
        )

    def _refuse_faults(self, cells: Sequence[Cells], lost: BoolArray) -> None:
        """Refuse columns that cannot be used, all of them in one sentence."""
        columns, encoding, impute = self._columns, self._options.encoding, self._options.impute
        faults: list[_ColumnFault] = []
        for j, position in enumerate(columns.features):
            rule = None if encoding is None else encoding.columns[j]
            fault = _misfit(cells[j], rule) if rule is not None else cells[j].fault()
            if fault is not None:
                faults.append((position, *fault))
                continue
            filled = impute is not None if rule is None else rule.fill is not None
            gaps = gaps_of(cells[j].missing, self.where)
            if gaps and not filled and impute != "drop":
                faults.append((position, gaps, FILL if rule is None else UNFILLED))
        if impute is None and lost.any():
            assert columns.target is not None
            way = FILL if any(way == FILL for *_, way in faults) else UNTARGETED
            faults.append((columns.target, f"the target: {gaps_of(lost, self.where)}", way))
        if not faults:
            return
        named = "; ".join(f"{columns.label(position)} ({what})" for position, what, _ in faults)
        one = len(faults) == 1
        error = InvalidInputError(
            f"{self._source} has {'a column' if one else f'{len(faults)} columns'} that cannot be "
            f"used as {'it is' if one else 'they are'}: {named}; ",
            *_remedies(columns, faults, fitted=encoding is not None),
            ".",
        )
        error.column_names = columns.names
        raise error

    def _kept(self, cells: Sequence[Cells], lost: BoolArray) -> tuple[BoolArray, list[str]]:
        """Which rows (m,) stay, and a note of those that do not."""
        kept = ~lost
        notes = []
        if lost.any():
            notes.append(f"left out {counted(int(lost.sum()), 'row')} without a target")
        if self._options.impute == "drop":
            counts = []
            before = kept.copy()
            for j, position in enumerate(self._columns.features):
                absent = cells[j].missing & before
                kept &= ~absent
                if absent.any():
                    counts.append(f"{self._columns.label(position)} in {int(absent.sum())}")
            if counts:
                gone = int(before.sum() - kept.sum())
                notes.append(
                    f"left out {counted(gone, 'row')} with missing values: {', '.join(counts)}"
                )
        if not kept.any():
            raise InvalidInputError(
                "no row is left without missing values; fill them with ",
                Argument("impute", "mean"),
                " or ",
                Argument("impute", "median"),
                ", or leave out the columns that are mostly empty.",
            )
        return kept, notes


def _remedies(columns: Columns, faults: Sequence[_ColumnFault], *, fitted: bool) -> Iterator[Part]:
    """Yield the remedies of all faults, as parts of a message; a model may be `fitted` already."""
    ways = list(dict.fromkeys(way for _, _, way in faults if way))
    gaps = (FILL, UNFILLED, UNTARGETED)
    ways.sort(key=lambda way: way not in gaps)
    rest = [position for position, _, way in faults if way not in gaps]
    if rest:
        dropped: list[Part] = []
        for place in rest[:8]:
            dropped += [" ", Argument("drop", [columns.reference(place)])]
        named = "the column" if len(rest) == 1 else "columns"
        ways.append((f"leave {named} out with", *dropped))
    if fitted and UNTARGETED in ways and columns.target is not None:
        target = columns.reference(columns.target)
        ways.append(("read the features alone with ", Argument("drop", [target])))
    for number, way in enumerate(ways):
        yield from (", or ", *way) if number else way


def _misfit(cells: Cells, rule: ColumnRule) -> Fault | None:
    """Return why cells do not fit the rule of an earlier table and the remedy, or None."""
    if rule.levels is not None:
        # Levels such as 1 and 2a were text when the rule was made.
        return None
    if cells.texts:
        row, text = next(iter(cells.texts.items()))
        where = cells.where(row)
        return f"text such as {shortened(text)} in {where} where the model has numbers", CORRECT
    return cells.infinite


def _found_rule(name: str, cells: Cells, kept: BoolArray, impute: str | None) -> ColumnRule:
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


def _features(cells: Cells, rule: ColumnRule, kept: BoolArray) -> tuple[FloatArray, list[str]]:
    """Return the features (m, f) of a column by its rule, and notes of what was filled in."""
    notes = []
    absent = cells.missing & kept
    if absent.any():
        shown = f"{rule.fill:.4g}" if isinstance(rule.fill, float) else repr(rule.fill)
        notes.append(
            f"filled {counted(int(absent.sum()), 'missing value')} of {rule.name!r} with {shown}"
        )
    if rule.levels is None:
        fill = rule.fill if isinstance(rule.fill, float) else np.nan
        return np.where(absent, fill, cells.numbers)[kept, None], notes
    numbers = cells.numbers.tolist()
    rows = np.flatnonzero(kept).tolist()
    chosen = [cells.texts.get(row) or _level(numbers[row], rule) for row in rows]
    unknown = Counter(label for label in chosen if label and label not in rule.levels)
    if unknown:
        listed = ", ".join(
            f"{shortened(text)} in {counted(n, 'row')}" for text, n in unknown.most_common(5)
        )
        more = "" if len(unknown) <= 5 else f" and {len(unknown) - 5} more"
        instead = f"all indicators of {rule.name!r} are 0 in these rows"
        if len(rule.levels) == 2:
            instead = f"these rows count as {rule.levels[0]!r}"
        notes.append(
            f"{rule.name!r} holds levels that the model has not seen: {listed}{more}; {instead}"
        )
    return rule.indicators(chosen), notes


def _level(number: float, rule: ColumnRule) -> str | None:
    """Return the level of a cell that is a number or missing."""
    if np.isnan(number):
        return str(rule.fill) if rule.fill is not None else None
    return f"{number:g}"
