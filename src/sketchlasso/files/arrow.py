"""Parquet and Arrow (Feather) tables, batch by batch; needs pyarrow from the extra `files`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.files.cells import is_missing
from sketchlasso.files.mixed import Gathered
from sketchlasso.files.options import Columns, ReadOptions
from sketchlasso.files.source import NoRowsError, Source, require
from sketchlasso.files.table import Table, columns_to_write, names_to_write
from sketchlasso.storage import replacing
from sketchlasso.storage.door import UnfitError, check_memory

# Cells of a Parquet file read at a time.
CELLS = 1 << 20

Batches: TypeAlias = Callable[[list[str]], Iterator[Any]]


def parquet_outline(source: Source) -> tuple[list[str], list[str], list[int]]:
    """Return the names and types of all columns, and the rows of each group; no data are read."""
    parquet = require("pyarrow.parquet", "reading Parquet files")
    with _guarded(source), parquet.ParquetFile(source.path) as file:
        schema = file.schema_arrow
        return schema.names, [str(kind) for kind in schema.types], _group_rows(file.metadata)


def read_arrow(source: Source, options: ReadOptions, groups: Sequence[int] | None = None) -> Table:
    """Read a Parquet, Arrow or Feather file, or some row groups of a Parquet file."""
    with open_batches(source, groups) as (names, batches):
        columns = options.columns(source, names, len(names))
        rows = _gathered(source, columns, batches, options)
    if not len(rows):
        raise NoRowsError(f"{source} holds no rows; give a file with data.")
    return rows.table()


def read_arrow_target(source: Source, columns: Columns, options: ReadOptions) -> NDArray[Any]:
    """Read the target (rows,) alone; of a Parquet file no other column is touched."""
    assert columns.target is not None
    with open_batches(source) as (_, batches):
        rows = _gathered(source, replace(columns, features=()), batches, options)
    y, lost = rows.targets()
    if lost.any():
        raise InvalidInputError(
            f"{source} has no target in {rows.where(int(np.argmax(lost)))}, column "
            f"{columns.label(columns.target)}, but every row of a shard needs one; fill it in or "
            "delete the row."
        )
    return np.asarray(y)


@contextmanager
def open_batches(
    source: Source, groups: Sequence[int] | None = None
) -> Iterator[tuple[list[str], Batches]]:
    """Open a Parquet file (or some of its row groups), Arrow file, Feather file or Arrow stream.

    Yield the names of all columns, and a function from the names of those needed to the batches
    of rows; other columns of a Parquet file are not read.
    """
    if source.format == "parquet":
        parquet = require("pyarrow.parquet", "reading Parquet files")
        with _guarded(source), parquet.ParquetFile(source.path) as file:
            names = file.schema_arrow.names
            rows, declared = _group_rows(file.metadata), file.metadata.num_rows
            if min(rows, default=0) < 0 or sum(rows) != declared:
                raise UnfitError(f"{declared} rows are declared, but {rows[:8]} in its groups")
            chosen = sum(rows) if groups is None else sum(rows[i] for i in groups)
            check_memory(8 * chosen, f"a column of {chosen} rows")
            yield (
                names,
                lambda used: map(
                    _checked,
                    file.iter_batches(max(1, CELLS // len(used)), row_groups=groups, columns=used),
                ),
            )
        return
    pyarrow = require("pyarrow", "reading Arrow files")
    with _guarded(source), pyarrow.memory_map(str(source.path)) as mapped:
        stream = mapped.read(6) != b"ARROW1"
        mapped.seek(0)
        reader = pyarrow.ipc.open_stream(mapped) if stream else pyarrow.ipc.open_file(mapped)
        number = 0 if stream else reader.num_record_batches
        found = reader if stream else (reader.get_batch(i) for i in range(number))
        batches = map(_checked, found)
        yield reader.schema.names, lambda _: batches


def _group_rows(metadata: Any) -> list[int]:
    return [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]


def _checked(batch: Any) -> Any:
    """Return a batch whose offsets and lengths lie within its own bytes."""
    batch.validate(full=True)
    return batch


def write_arrow(path: Path, table: Table, *, parquet: bool = False) -> None:
    """Write ids, features and the target, in this order, one column each."""
    if parquet:
        open_writer = require("pyarrow.parquet", "writing Parquet files").ParquetWriter
    else:
        open_writer = require("pyarrow.ipc", "writing Arrow files").new_file
    batches = _batches(path, table)
    first = next(batches)
    with replacing(path) as file, open_writer(file, first.schema) as writer:
        for batch in chain([first], batches):
            writer.write_batch(batch)


def _batches(path: Path, table: Table) -> Iterator[Any]:
    pyarrow = require("pyarrow", "writing these files")
    names = names_to_write(path, table)
    for columns in columns_to_write(table):
        native = [column.astype(column.dtype.newbyteorder("="), copy=False) for column in columns]
        yield pyarrow.record_batch(list(map(pyarrow.array, native)), names=names)


@contextmanager
def _guarded(source: Source) -> Iterator[None]:
    pyarrow = require("pyarrow", "reading these files")
    try:
        with source.guarded():
            yield
    except pyarrow.ArrowException as broken:
        raise source.misread(broken) from broken


def _gathered(source: Source, columns: Columns, batches: Batches, options: ReadOptions) -> Gathered:
    assert columns.names is not None
    body: Gathered | None = None
    for batch in batches([columns.names[i] for i in columns.used]):
        found = {name: batch.column(i) for i, name in enumerate(batch.schema.names)}
        if body is None:
            kinds = {str(found[name].type) for name in columns.feature_names or ()}
            common = np.float32 if kinds == {"float"} else np.float64
            body = Gathered(source, columns, options, options.type_of(common))
        block = np.empty((batch.num_rows, len(columns.features)))
        for j, position in enumerate(columns.features):
            column = _numbers_alone(body, j, found[columns.names[position]])
            block[:, j] = _numbers(source, columns, position, column)
        if columns.target is not None:
            column, cells = _texts(found[columns.names[columns.target]])
            if cells is None:
                body.add_targets(_numbers(source, columns, columns.target, column), {})
            else:
                texts = {row: cell for row, cell in enumerate(cells) if cell is not None}
                body.add_targets(np.full(len(cells), np.nan), texts)
        if columns.id is not None:
            cells = found[columns.names[columns.id]].to_pylist()
            body.ids += ["" if cell is None else str(cell) for cell in cells]
        body.append(block)
    return body or Gathered(source, columns, options, np.float64)


def _numbers_alone(body: Gathered, place: int, column: Any) -> Any:
    """Return a column of numbers; keep texts and dates in `body` and mark them as missing."""
    pyarrow = require("pyarrow", "reading these files")
    column, cells = _texts(column)
    if cells is not None:
        for row, cell in enumerate(cells, start=len(body)):
            if cell is not None and not is_missing(cell):
                body.texts[place][row] = cell.strip()
    elif pyarrow.types.is_temporal(column.type):
        body.dates.add(place)
    else:
        return column
    return pyarrow.nulls(len(column), pyarrow.float64())


def _texts(column: Any) -> tuple[Any, list[str | None] | None]:
    """Return a column without its dictionary, and its cells where they are text."""
    types = require("pyarrow", "reading these files").types
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    text = types.is_string(column.type) or types.is_large_string(column.type)
    return column, column.to_pylist() if text else None


def _numbers(source: Source, columns: Columns, position: int, column: Any) -> NDArray[Any]:
    """Return numbers (b,); NaN where they are missing."""
    types = require("pyarrow", "reading these files").types
    kind = column.type
    if column.null_count and types.is_boolean(kind):
        column = column.cast("uint8")
    if types.is_decimal(kind):
        column = column.cast("float64")
    elif not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        shown = f" such as {column[0].as_py()!r}" if len(column) else ""
        raise InvalidInputError(
            f"{source} holds {kind} values{shown} in column {columns.label(position)}, but numbers "
            "are needed; convert it, make it the target if it is text, or leave it out with ",
            Argument("drop", [columns.reference(position)]),
            ".",
        )
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
