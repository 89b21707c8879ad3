"""Columns of text in JSON Lines, delimited, Parquet and Arrow files."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from sketchlasso.errors import Argument, InvalidInputError, Name
from sketchlasso.files.arrow import open_batches
from sketchlasso.files.cells import shortened
from sketchlasso.files.delimited import DelimitedReader
from sketchlasso.files.options import Column, find_column
from sketchlasso.files.source import Source, plain_ending

JSON_LINES = (".jsonl", ".ndjson")
USUAL = "text"

Roles: TypeAlias = Mapping[str, Column | None]


def read_text_columns(
    path: str | os.PathLike[str],
    columns: Roles,
    *,
    separator: str | None = None,
    header: bool | None = None,
) -> dict[str, list[str]]:
    """Read columns of text from a JSON Lines, delimited, Parquet or Arrow file.

    `columns` has the name or position of a column for each role, None for none; the roles are
    the parameters that messages name. The column of the role ``"column"`` is by default the one
    called 'text', or the only one. Texts are empty where the file has no value. `separator` and
    `header` are those of :func:`read_table`.
    """
    if plain_ending(Path(path)) in JSON_LINES:
        found = _json_lines(Source.of(path, "csv"), columns)
    else:
        source = Source.of(path)
        if source.format in ("parquet", "arrow"):
            found = _arrow(source, columns)
        elif source.format in ("csv", "tsv"):
            found = _delimited(source, columns, separator, header)
        else:
            raise InvalidInputError(
                f"{source} is a {source.format} file, which has no columns of text; give a JSON "
                "Lines, CSV, TSV, Parquet or Arrow file."
            )
    if not found.get("column"):
        raise InvalidInputError(f"{path} holds no rows; give a file with data.")
    return found


def _delimited(
    source: Source, columns: Roles, separator: str | None, header: bool | None
) -> dict[str, list[str]]:
    named = any(isinstance(column, str) for column in columns.values())
    with source.open_text() as file, _long_fields():
        reader = DelimitedReader(source, file, separator)
        names = reader.names(True if header is None and named else header)
        places = _places(source, names, reader.width, columns)
        found: dict[str, list[str]] = {role: [] for role in places}
        for _, records in reader.blocks():
            for role, place in places.items():
                found[role].extend(record[place] for record in records)
    return found


def _arrow(source: Source, columns: Roles) -> dict[str, list[str]]:
    with open_batches(source) as (names, batches):
        places = _places(source, names, len(names), columns)
        found: dict[str, list[str]] = {role: [] for role in places}
        for batch in batches([names[place] for place in sorted(set(places.values()))]):
            for role, place in places.items():
                name, done = names[place], len(found[role])
                values = batch.column(batch.schema.names.index(name)).to_pylist()
                found[role] += [
                    _text(source, name, value, row) for row, value in enumerate(values, done + 1)
                ]
    return found


def _json_lines(source: Source, columns: Roles) -> dict[str, list[str]]:
    records = list(_json_records(source))
    if records and all(isinstance(record, str) for _, record in records):
        given = next((role for role, column in columns.items() if column is not None), None)
        if given is None:
            return {"column": [text for _, text in records]}
        raise InvalidInputError(
            f"{source} holds one text per line and no columns, but ",
            Argument(given),
            " was given; leave it out.",
        )
    for line, record in records:
        if not isinstance(record, dict):
            raise InvalidInputError(
                f"{source} holds {shortened(record, 40)} in line {line}, which is not an object; "
                'give one JSON object per line, such as {"text": "..."}.'
            )
    names = list(dict.fromkeys(key for _, record in records for key in record))
    places = _places(source, names, len(names), columns) if names else {}
    return {
        role: [_text(source, names[at], record.get(names[at]), line) for line, record in records]
        for role, at in places.items()
    }


def _json_records(source: Source) -> Iterator[tuple[int, Any]]:
    with source.open_text() as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as problem:
                raise InvalidInputError(
                    f"{source} holds {shortened(line.strip(), 40)} in line {number}, which is not "
                    "JSON; give one JSON object per line."
                ) from problem


def _places(
    source: Source, names: Sequence[str] | None, width: int, columns: Roles
) -> dict[str, int]:
    """Return the position of the column of each role."""
    known = None if names is None else tuple(names)
    column = columns["column"]
    if column is None and width == 1:
        column = 0
    elif column is None and known is not None and USUAL in known:
        column = USUAL
    if column is None:
        listed = f"({', '.join(map(repr, known[:8]))}) " if known else ""
        raise InvalidInputError(
            f"{source} has {width} columns {listed}and none is called {USUAL!r}; pass ",
            Argument("column"),
            " with the name or position of the texts, or for a table of counts use ",
            Name("corpus_from_matrix(read_table(path))"),
            ".",
        )
    return {
        role: find_column(source, known, width, given, role)
        for role, given in {**columns, "column": column}.items()
        if given is not None
    }


def _text(source: Source, name: str, value: object, place: int) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return str(value)
    raise InvalidInputError(
        f"{source} holds {shortened(value, 40)} in column {name!r} near row {place}, but text is "
        "needed; convert it or give another column."
    )


@contextmanager
def _long_fields() -> Iterator[None]:
    """Let the csv module take documents of any length; its own limit is 131,072 characters."""
    before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        yield
    finally:
        csv.field_size_limit(before)
