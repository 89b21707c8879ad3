"""Comma-, tab- and otherwise separated text, read in blocks of rows.

Only the table's numbers and one block of text are in memory at a time.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TextIO

import numpy as np

from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.files.cells import is_missing, is_number, with_point
from sketchlasso.files.mixed import Gathered
from sketchlasso.files.options import Columns, ReadOptions
from sketchlasso.files.source import NoRowsError, Source
from sketchlasso.files.table import Table, columns_to_write, names_to_write
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
        comma = options.mixed and reader.separator != ","
        rows = Gathered(source, columns, options, options.type_of(np.float64), comma)
        for lines, records in reader.blocks():
            _append(rows, columns, comma, lines, records)
    return rows.table()


def write_delimited(path: Path, table: Table, separator: str = ",") -> None:
    """Write names, ids, features and the target, in this order, at full precision."""
    names, y = names_to_write(path, table), table.y
    labels = np.unique(y).tolist() if y is not None and y.dtype.kind == "U" else []
    for label in labels:
        if is_number(label) or is_missing(label) or label != label.strip():
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
        for columns in columns_to_write(table):
            writer.writerows(zip(*(column.tolist() for column in columns), strict=True))


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
        not is_number(above) and not is_missing(above) and is_number(below)
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


def _append(
    rows: Gathered, columns: Columns, comma: bool, lines: list[int], records: Records
) -> None:
    """Convert one block of records; with `comma`, targets may have decimal commas."""
    features, done = columns.features, len(rows)
    if columns.target is not None:
        cells = [record[columns.target] for record in records]
        rows.add_targets(*_numbers_and_texts(list(map(with_point, cells)) if comma else cells))
    if columns.id is not None:
        rows.ids += [record[columns.id].strip() for record in records]
    if len(features) < len(records[0]):
        records = [[record[place] for place in features] for record in records]
    try:
        values = np.array(records, dtype=np.float64)
    except ValueError:
        values = np.empty((len(records), len(features)))
        for j, column in enumerate(zip(*records, strict=True)):
            values[:, j], texts = _numbers_and_texts(column)
            rows.texts[j].update((done + i, text) for i, text in texts.items())
    rows.append(values, lines)


def _numbers_and_texts(cells: Sequence[str]) -> tuple[FloatArray, dict[int, str]]:
    """Return the numbers (b,) among cells, NaN for others, and by place those that are text."""
    texts: dict[int, str] = {}
    try:
        return np.array(cells, dtype=np.float64), texts
    except ValueError:
        values = np.full(len(cells), np.nan)
    for i, cell in enumerate(cells):
        if is_number(cell):
            values[i] = float(cell)
        elif not is_missing(cell):
            texts[i] = cell.strip()
    return values, texts
