"""Comma-, tab- and otherwise separated text, read in blocks of rows.

Only the table's numbers and one block of text are in memory at a time.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.files.cells import MISSING, is_dressed_number, is_number, with_point
from sketchlasso.files.mixed import Gathered
from sketchlasso.files.options import Columns, ReadOptions
from sketchlasso.files.source import NoRowsError, Source
from sketchlasso.files.table import Table, dense_blocks, names_to_write
from sketchlasso.storage import replacing
from sketchlasso.types import FloatArray

# Cells parsed at a time.
CELLS = 1 << 18
# In this order: a decimal comma must not be taken for the separator.
SEPARATORS = ("\t", ";", "|", ",")

Records = list[list[str]]


def read_delimited(source: Source, options: ReadOptions) -> Table:
    """Read a text table into a dense one; y is text if no cell of the target is a number."""
    with source.open_text() as file:
        reader = DelimitedReader(source, file, options.separator)
        names = reader.names(options.header)
        columns = options.columns(source, names, reader.width)
        body = _Body(source, columns, options, reader.separator)
        for lines, records in reader.blocks():
            body.append(lines, records)
    return body.rows.table()


def write_delimited(path: Path, table: Table, separator: str = ",") -> None:
    """Write names, ids, features and the target, in this order, at full precision."""
    names, y = names_to_write(path, table), table.y
    labels = np.unique(y).tolist() if y is not None and y.dtype.kind == "U" else []
    for label in labels:
        if is_number(label) or label.strip().lower() in MISSING or label != label.strip():
            raise InvalidInputError(
                f"{path} cannot be written: the text label {label!r} would not be read back as "
                "it is; choose other labels or write an npz file."
            )
    with replacing(path, compress=True) as file:
        # Quote all text, so that no character of a name looks like a separator.
        writer = csv.writer(
            codecs.getwriter("utf-8")(file),
            delimiter=separator,
            lineterminator="\n",
            quoting=csv.QUOTE_NONNUMERIC,
        )
        writer.writerow(names)
        for chosen, block in dense_blocks(table):
            records = block.tolist()
            if table.ids is not None:
                for record, key in zip(records, table.ids[chosen].tolist(), strict=True):
                    record.insert(0, key)
            if y is not None:
                for record, label in zip(records, y[chosen].tolist(), strict=True):
                    record.append(label)
            writer.writerows(records)


def find_separator(lines: Sequence[str]) -> str:
    """Return the separator that all of the first lines have equally often, else the commonest."""
    bare = [re.sub(r'"[^"]*"', "", line) for line in lines if line.strip()]
    counts = {mark: [line.count(mark) for line in bare] for mark in SEPARATORS}
    for mark, found in counts.items():
        if found and found[0] > 0 and len(set(found)) == 1:
            return mark
    most = max(SEPARATORS, key=lambda mark: sum(counts[mark]))
    return most if sum(counts[most]) else ","


def has_header(first: Sequence[str], second: Sequence[str] | None) -> bool:
    """Whether the first record holds names.

    It does if none of its cells is a number, if a number is below one of its texts, or if it
    counts 0, 1, 2, ..., as some programs write tables without names.
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


class DelimitedReader:
    """Records of a text table in blocks, with the lines they end in.

    Without a `separator`, tsv files have tabs, and the first lines of others decide.
    """

    def __init__(self, source: Source, file: TextIO, separator: str | None) -> None:
        self._source = source
        sample = list(islice(file, 20))
        usual = "\t" if source.format == "tsv" else None
        self.separator = separator or usual or find_separator(sample)
        self._csv = csv.reader(chain(sample, file), delimiter=self.separator, strict=True)
        self._waiting = list(islice(self._records(), 2))
        if not self._waiting:
            raise NoRowsError(f"{source} holds no rows; give a file with data.")
        self.width = len(self._waiting[0][1])

    def names(self, header: bool | None) -> list[str] | None:
        """Return the names and remove them from the records, if the file begins with names."""
        first = self._waiting[0][1]
        second = self._waiting[1][1] if len(self._waiting) > 1 else None
        if header is False or (header is None and not has_header(first, second)):
            return None
        del self._waiting[0]
        if second is None:
            raise NoRowsError(f"{self._source} holds names but no rows; give one with data.")
        return [name.strip() for name in first]

    def blocks(self) -> Iterator[tuple[list[int], Records]]:
        """Yield lists of line numbers and of records, all of the first record's width."""
        records = chain(self._waiting, self._records())
        size = max(1, CELLS // self.width)
        while block := list(islice(records, size)):
            for line, record in block:
                if len(record) != self.width:
                    raise InvalidInputError(
                        f"{self._source} has {len(record)} cells in line {line} but {self.width} "
                        f"in its first, separated by {self.separator!r}; make them equal or pass ",
                        Argument("separator"),
                        ".",
                    )
            yield [line for line, _ in block], [record for _, record in block]

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        try:
            for record in self._csv:
                if record and (len(record) > 1 or record[0].strip()):
                    yield self._csv.line_num, record
        except csv.Error as problem:
            raise InvalidInputError(
                f"{self._source} could not be split into cells near line {self._csv.line_num} "
                f"({problem}); look for a quotation mark that is not closed."
            ) from problem


class _Body:
    """Converts the records of a text table, block by block."""

    def __init__(
        self, source: Source, columns: Columns, options: ReadOptions, separator: str
    ) -> None:
        self._source, self._columns = source, columns
        self._decimal_comma = options.mixed and separator != ","
        dtype = options.real_type() or np.dtype(np.float64)
        self.rows = Gathered(source, columns, options, dtype, self._decimal_comma)
        self._first_kind: tuple[str, int, str] | None = None

    def append(self, lines: list[int], records: Records) -> None:
        """Convert one block of records."""
        features = self._columns.features
        if self._columns.target is not None:
            cells = [record[self._columns.target] for record in records]
            self.rows.add_labels(*self._response(lines, cells))
        if self._columns.id is not None:
            self.rows.add_ids([record[self._columns.id].strip() for record in records])
        if len(features) < len(records[0]):
            pick = itemgetter(*features)
            many = len(features) > 1
            records = [list(pick(r)) if many else [r[features[0]]] for r in records]
        try:
            values = np.array(records, dtype=np.float64)
        except ValueError:
            values = self._split_cells(records)
        self.rows.append(values, lines)

    def _split_cells(self, records: Records) -> FloatArray:
        """Return numbers (b, features), NaN for gaps and for text, which is kept separately."""
        values = np.empty((len(records), len(self._columns.features)))
        done = len(self.rows)
        for j, cells in enumerate(zip(*records, strict=True)):
            try:
                values[:, j] = np.array(cells, dtype=np.float64)
            except ValueError:
                for i, cell in enumerate(cells):
                    number = is_number(cell)
                    values[i, j] = float(cell) if number else np.nan
                    if not number and cell.strip().lower() not in MISSING:
                        self.rows.add_text(j, done + i, cell.strip())
        return values

    def _response(
        self, lines: list[int], cells: list[str]
    ) -> tuple[NDArray[Any] | None, NDArray[np.bool_]]:
        """Return the targets of a block, None where all are missing, and which are missing."""
        assert self._columns.target is not None
        if self._decimal_comma:
            cells = [with_point(cell) for cell in cells]
        lost = np.zeros(len(cells), dtype=bool)
        for place, (line, cell) in enumerate(zip(lines, cells, strict=True)):
            kind = "a number" if is_number(cell) else "text"
            if cell.strip().lower() in MISSING:
                lost[place] = True
                continue
            if self._first_kind is None:
                self._first_kind = (kind, line, cell)
            elif kind != self._first_kind[0]:
                raise InvalidInputError(
                    f"{self._source} mixes numbers and text in its target, column "
                    f"{self._columns.label(self._columns.target)}: {self._first_kind[2]!r} in line "
                    f"{self._first_kind[1]} but {cell!r} in line {line}; make them all numbers or "
                    "all text."
                )
        if self._first_kind is None:
            return None, lost
        if self._first_kind[0] == "text":
            if all(is_dressed_number(cell.strip()) for cell in cells):
                raise InvalidInputError(
                    f"{self._source} holds numbers written as text in its target, column "
                    f"{self._columns.label(self._columns.target)}, such as "
                    f"{self._first_kind[2]!r}; write them with digits and a decimal point alone."
                )
            return np.array([cell.strip() for cell in cells], dtype=np.str_), lost
        values = np.array(["nan" if gone else cell for cell, gone in zip(cells, lost, strict=True)])
        numbers = values.astype(np.float64)
        infinite = ~np.isfinite(numbers) & ~lost
        if infinite.any():
            place = int(np.argmax(infinite))
            raise InvalidInputError(
                f"{self._source} holds {cells[place].strip()!r} in line {lines[place]}, column "
                f"{self._columns.label(self._columns.target)}, but the target must be finite; "
                "correct it or delete the line."
            )
        return numbers, lost
