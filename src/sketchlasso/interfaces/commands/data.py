"""From a file on disk to X, y and what y means."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from glob import has_magic
from pathlib import Path
from typing import Any

import numpy as np

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError, StoredFileError
from sketchlasso.interfaces.commands.given import Given
from sketchlasso.interfaces.commands.options import BlockOptions, DataOptions
from sketchlasso.interfaces.commands.screen import Note, Watch

NOT_FINITE = (np.inf, -np.inf)
# Formats of files with named columns, and how their names end.
TABLES = {
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".feather", ".arrow", ".ipc"),
}


@contextmanager
def at_work(given: Given, blocks: BlockOptions, watch: Watch | None) -> Iterator[None]:
    """Work through data in blocks one by one, or on the cluster that was asked for."""
    if not isinstance(given.X, sl.io.BlockMatrix):
        yield
        return
    with blocks.cluster(None if watch is None else watch.blocks):
        yield


def read_given(
    files: Path | Sequence[Path],
    options: DataOptions,
    blocks: BlockOptions | None = None,
    *,
    encoding: sl.io.Encoding | None = None,
    id: str | None = None,
    needs_target: bool = False,
) -> Given:
    """Read the data of a command, or look at them where they are to be read in blocks.

    Several files are the rows of one matrix. The `encoding` of a model says how columns become
    features; other columns are ignored then. `id` is the column that identifies rows. If the
    command needs a target, none was named and the table cannot be read, the error asks for it.
    """
    if blocks is not None:
        blocks.check()
    paths = [files] if isinstance(files, Path) else list(files)
    path = paths[0]
    named = [
        f"--{name.replace('_', '-')}"
        for name in ("target", "target_file", "target_word")
        if getattr(options, name) is not None
    ]
    if len(named) > 1:
        raise InvalidInputError(
            f"{' and '.join(named)} were given, but there is one target; give one of them."
        )
    in_blocks = len(paths) > 1 or _is_many(path) or (blocks is not None and blocks.asked)
    if in_blocks:
        table: Any = _look_at(paths, options, blocks)
    else:
        try:
            table = _read(path, options, encoding, id)
        except InvalidInputError:
            if needs_target and not named and is_table(path, options.format):
                raise InvalidInputError(
                    f"{path} is a table, and the command has to know its target; name the column "
                    "with --target."
                ) from None
            raise
        for note in table.notes:
            warnings.warn(note, Note, stacklevel=2)
    y: Any = table.y
    if y is not None and y.ndim > 1:
        y = y[:, 0] if y.shape[1] == 1 else y
    name = table.target_name if isinstance(table.target_name, str) else None
    title = str(path) if len(paths) == 1 else f"{path} and {len(paths) - 1} more"
    title = "standard input" if title == "-" else title
    given = Given(
        table.X, y, table.feature_names, name, title, *_origin(table), impute=options.impute
    )
    if options.target_word is not None:
        given = given.without(options.target_word)
    elif options.target_file is not None:
        count = len(given.rows) if in_blocks or table.rows is None else None
        given = replace(given, y=_read_target(options.target_file, count, title, given.rows))
    if needs_target and given.X.shape[0] < 2:
        raise InvalidInputError(
            f"{title} has {given.X.shape[0]} row, but a model needs at least 2; give more rows."
        )
    return given


def _origin(table: Any) -> tuple[Any, Any, Any, Any]:
    """The encoding of a table, the numbers of its rows in the file, their ids, and its gaps."""
    every = np.arange(table.shape[0])
    if not isinstance(table, sl.io.Table):
        return None, every, None, None
    return table.encoding, every if table.rows is None else table.rows, table.ids, table.gaps


def is_table(path: Path, format: str | None) -> bool:
    """Whether a file is one of named columns, by its format or its name."""
    if format is not None:
        return format in TABLES
    endings = [ending.lower() for ending in path.suffixes[-2:]]
    return str(path) == "-" or any(
        ending in known for ending in endings for known in TABLES.values()
    )


def _is_many(path: Path) -> bool:
    """Whether a path is a folder or a pattern."""
    return path.is_dir() or (has_magic(str(path)) and not path.exists())


def _read(
    path: Path, options: DataOptions, encoding: sl.io.Encoding | None, id: str | None
) -> sl.io.Table:
    rest: dict[str, Any] = {
        "impute": options.impute,
        "encoding": encoding,
        "format": options.format,
        "separator": options.separator,
        "n_features": options.n_features,
        "vocabulary": options.vocabulary,
    }
    return by_name_or_position(
        lambda **columns: sl.io.read_table(path, **columns, **rest),
        target=options.target,
        drop=list(options.drop or ()),
        id=id,
    )


def _look_at(paths: list[Path], options: DataOptions, blocks: BlockOptions | None) -> sl.io.Shards:
    for name in ("separator", "vocabulary", "impute"):
        if getattr(options, name) is not None:
            raise InvalidInputError(
                f"--{name} means nothing for data in blocks; leave it out, or read one file whole."
            )
    rest: dict[str, Any] = {
        "format": options.format,
        "n_features": options.n_features,
        "memory": None if blocks is None else blocks.memory,
    }
    return by_name_or_position(
        lambda **columns: sl.io.read_shards(paths, **columns, **rest),
        target=options.target,
        drop=list(options.drop or ()),
    )


def by_name_or_position(read: Callable[..., Any], **columns: str | list[str] | None) -> Any:
    """Call `read` with columns by name; where it finds no such name, numbers mean positions."""
    try:
        return read(**columns)
    except InvalidInputError:
        numbered = {name: _numbered(column) for name, column in columns.items()}
        if numbered == columns:
            raise
        try:
            return read(**numbered)
        except InvalidInputError as problem:
            if problem.parameter not in columns:
                raise
        raise


def _numbered(column: Any) -> Any:
    if isinstance(column, list):
        return list(map(_numbered, column))
    whole = isinstance(column, str) and column.lstrip("-").isdecimal()
    return int(column) if whole else column


def read_lines(path: Path, content: str, option: str = "") -> list[str]:
    """Return the lines of a text file without space around them; `content` is for the error."""
    try:
        return [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as problem:
        why = "is not UTF-8 text" if isinstance(problem, ValueError) else "could not be read"
        raise StoredFileError(
            f"{option}{path} {why}; give the path of a text file with one {content} per line."
        ) from problem


def _read_target(path: Path, count: int | None, data: str, rows: Any) -> Any:
    """One number or label per line; of the rows that were kept, where some were left out."""
    values = read_lines(path, "number or label")
    if count is None:
        values = [values[row] for row in rows if row < len(values)]
        count = len(rows)
    if len(values) != count:
        raise InvalidInputError(
            f"{path} has {len(values)} lines but {data} has {count} rows; give one number or "
            "label per row."
        )
    numbers = [_number(value) for value in values]
    unusable = next(
        (k for k, value in enumerate(values) if not value or numbers[k] in NOT_FINITE), None
    )
    if unusable is not None:
        raise InvalidInputError(
            f"{path} has no usable target in line {unusable + 1}; fill it in or leave the row out."
        )
    return np.array(values) if None in numbers else np.array(numbers, dtype=np.float64)


def _number(text: str) -> float | None:
    """Parse a number; NaN as infinity, None for words."""
    try:
        value = float(text)
    except ValueError:
        return None
    return np.inf if np.isnan(value) else value
