"""Rows of numbers, text and missing cells, gathered block by block into a table of numbers.

A column whose cells are all text is a category and becomes one feature per level. One message
names all columns that cannot be used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchlasso.errors import Argument, InvalidInputError, Part
from sketchlasso.files.cells import CORRECT, Cells, Fault, counted, gaps_of, shortened
from sketchlasso.files.encoding import ColumnRule, Encoding
from sketchlasso.files.options import Columns, ReadOptions
from sketchlasso.files.table import GrowingArray, Table
from sketchlasso.types import FloatArray

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


class Gathered:
    """Features of type `dtype`, targets and ids of the rows read so far.

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
        self._decimal_comma = decimal_comma
        self._features = GrowingArray(dtype, len(columns.features))
        self._texts: list[dict[int, str]] = [{} for _ in columns.features]
        self._dates: set[int] = set()
        self._plain = True
        self._labels: list[tuple[NDArray[Any] | None, NDArray[np.bool_]]] = []
        self._ids: list[str] = []
        self._lines = GrowingArray(np.int64)

    def __len__(self) -> int:
        return len(self._features)

    def append(self, values: FloatArray, lines: Sequence[int] = ()) -> None:
        """Add rows (b, features), NaN where a cell is missing or text, with the lines they end in.

        Rows of a file without lines are called by their numbers from 1.
        """
        self._lines.append(np.asarray(lines, dtype=np.int64))
        self._plain = self._plain and bool(np.isfinite(values).all())
        self._features.append(values)

    def add_text(self, column: int, row: int, text: str) -> None:
        """Keep the cell of a feature, by its place among the features, as text."""
        self._texts[column][row] = text

    def add_dates(self, column: int) -> None:
        """Note that a feature holds dates."""
        self._dates.add(column)

    def add_labels(self, labels: NDArray[Any] | None, lost: NDArray[np.bool_]) -> None:
        """Add targets (b,), None where all of them are missing, and which are missing (b,)."""
        self._labels.append((labels, lost))

    def add_ids(self, ids: Sequence[str]) -> None:
        """Add the identifiers of rows."""
        self._ids += ids

    def table(self) -> Table:
        """Return the table, with categories as features and gaps filled."""
        y, lost = self._targets()
        X = self._features.take()
        ids = np.array(self._ids, dtype=np.str_) if self._ids else None
        columns, encoding = self._columns, self._options.encoding
        if self._plain and encoding is None and not lost.any():
            return Table(
                X, y, columns.feature_names, columns.target_name, str(self._source), ids=ids
            )
        cells = self._cells(X)
        if not self._options.mixed:
            raise _not_numbers(self._source, columns, cells, lost)
        _refuse_faults(self._source, columns, cells, lost, self._options)
        kept, notes = _kept(columns, cells, lost, self._options)
        rules, blocks = [], []
        for j, position in enumerate(columns.features):
            name = str(position + 1) if columns.names is None else columns.names[position]
            impute = self._options.impute
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

    def _cells(self, X: NDArray[Any]) -> list[Cells]:
        """Return the cells of every feature, given their numbers X (m, features)."""
        lines, comma = self._lines.take(), self._decimal_comma

        def where(row: int) -> str:
            return f"line {lines[row]}" if len(lines) else f"row {row + 1}"

        return [
            Cells(np.array(X[:, j], dtype=np.float64), texts, comma, j in self._dates, where)
            for j, texts in enumerate(self._texts)
        ]

    def _targets(self) -> tuple[NDArray[Any] | None, NDArray[np.bool_]]:
        """Return targets (m,), if there are any, and which are missing (m,)."""
        if not self._labels:
            return None, np.zeros(len(self), dtype=bool)
        kinds = {part.dtype.kind for part, _ in self._labels if part is not None}
        blank: Any = "" if kinds == {"U"} else np.nan
        parts = [np.full(len(lost), blank) if y is None else y for y, lost in self._labels]
        return np.concatenate(parts), np.concatenate([lost for _, lost in self._labels])


def _not_numbers(
    source: object, columns: Columns, cells: Sequence[Cells], lost: NDArray[np.bool_]
) -> InvalidInputError:
    """Return the error for the first cell that is not a number, where all have to be numbers."""
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
        held, wanted = f"holds {shortened(text)}", f"a finite number{hint} is needed; correct it"
    return InvalidInputError(
        f"{source} {held} in {cells[0].where(row)}, column {columns.label(position)}, but "
        f"{wanted}, or leave the column out with ",
        Argument("drop", [columns.reference(position)]),
        ", or read the file whole: tables in blocks hold numbers only, without gaps and "
        "categories.",
    )


def _refuse_faults(
    source: object,
    columns: Columns,
    cells: Sequence[Cells],
    lost: NDArray[np.bool_],
    options: ReadOptions,
) -> None:
    """Refuse columns that cannot be used, all of them in one sentence."""
    impute, encoding = options.impute, options.encoding
    faults: list[tuple[int, str, tuple[Part, ...]]] = []
    for j, position in enumerate(columns.features):
        rule = None if encoding is None else encoding.columns[j]
        fault = _misfit(cells[j], rule) if rule is not None else cells[j].fault()
        if fault is not None:
            faults.append((position, *fault))
            continue
        filled = impute == "drop" or (impute is not None if rule is None else rule.fill is not None)
        gaps = gaps_of(cells[j].missing, cells[j].where)
        if not filled and gaps:
            faults.append((position, gaps, FILL if rule is None else UNFILLED))
    if impute is None and lost.any():
        assert columns.target is not None
        way = FILL if any(way == FILL for *_, way in faults) else UNTARGETED
        faults.append((columns.target, f"the target: {gaps_of(lost, cells[0].where)}", way))
    if not faults:
        return
    named = "; ".join(f"{columns.label(position)} ({what})" for position, what, _ in faults)
    error = InvalidInputError(
        f"{source} has {'a column' if len(faults) == 1 else f'{len(faults)} columns'} that cannot "
        f"be used as {'it is' if len(faults) == 1 else 'they are'}: {named}; ",
        *_remedies(columns, faults),
        ".",
    )
    error.column_names = columns.names
    raise error


def _remedies(
    columns: Columns, faults: Sequence[tuple[int, str, tuple[Part, ...]]]
) -> Iterator[Part]:
    """Yield the remedies of all faults, as parts of a message."""
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


def _kept(
    columns: Columns,
    cells: Sequence[Cells],
    lost: NDArray[np.bool_],
    options: ReadOptions,
) -> tuple[NDArray[np.bool_], list[str]]:
    """Which rows (m,) stay, and a note of those that do not."""
    kept = ~lost
    notes = []
    if lost.any():
        notes.append(f"left out {counted(int(lost.sum()), 'row')} without a target")
    if options.impute == "drop":
        counts = []
        before = kept.copy()
        for j, position in enumerate(columns.features):
            absent = cells[j].missing & before
            kept &= ~absent
            if absent.any():
                counts.append(f"{columns.label(position)} in {int(absent.sum())}")
        if counts:
            gone = int(before.sum() - kept.sum())
            notes.append(
                f"left out {counted(gone, 'row')} with missing values: {', '.join(counts)}"
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
            f"filled {counted(int(absent.sum()), 'missing value')} of {rule.name!r} with {shown}"
        )
    if rule.levels is None:
        fill = rule.fill if isinstance(rule.fill, float) else np.nan
        return np.where(absent, fill, cells.numbers)[kept, None], notes
    texts = [cells.texts.get(row) for row in range(len(cells.numbers))]
    labels = [
        label if label is not None else _level(number, rule)
        for label, number in zip(texts, cells.numbers.tolist(), strict=True)
    ]
    chosen = [label for label, keep in zip(labels, kept.tolist(), strict=True) if keep]
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
