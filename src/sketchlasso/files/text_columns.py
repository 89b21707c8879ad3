"""Columns of text in JSON Lines, delimited, Parquet and Arrow files."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sketchlasso.errors import Argument, InvalidInputError, Name
from sketchlasso.files.arrow import open_batches
from sketchlasso.files.delimited import DelimitedReader
from sketchlasso.files.options import Column, find_column
from sketchlasso.files.source import Source, plain_ending

JSON_LINES = (".jsonl", ".ndjson")
USUAL = "text"


@dataclass(frozen=True)
class TextColumns:
    """A column of texts, empty where the file has no value, and of titles if one was named."""

    texts: list[str]
    titles: list[str] | None


def read_text_columns(
    path: str | os.PathLike[str],
    column: Column | None = None,
    title_column: Column | None = None,
    *,
    separator: str | None = None,
    header: bool | None = None,
) -> TextColumns:
    """Read one column of text from a JSON Lines, delimited, Parquet or Arrow file.

    By default the texts are the column called 'text', or the only one. `title_column` is read
    too; `separator` and `header` are those of :func:`read_table`.
    """
    if plain_ending(Path(path)) in JSON_LINES:
        read = _json_lines(Source.of(path, "csv"), column, title_column)
    else:
        source = Source.of(path)
        if source.format in ("parquet", "arrow"):
            read = _arrow(source, column, title_column)
        elif source.format in ("csv", "tsv"):
            read = _delimited(source, column, title_column, separator, header)
        else:
            raise InvalidInputError(
                f"{source} is a {source.format} file, which has no columns of text; give a JSON "
                "Lines, CSV, TSV, Parquet or Arrow file."
            )
    if not read.texts:
        raise InvalidInputError(f"{path} holds no rows; give a file with data.")
    return read


def _delimited(
    source: Source,
    column: Column | None,
    title_column: Column | None,
    separator: str | None,
    header: bool | None,
) -> TextColumns:
    named = isinstance(column, str) or isinstance(title_column, str)
    with source.open_text() as file, _long_fields():
        reader = DelimitedReader(source, file, separator)
        names = reader.names(True if header is None and named else header)
        places = _places(source, names, reader.width, column, title_column)
        parts: list[list[str]] = [[] for _ in places]
        for _, records in reader.blocks():
            for part, place in zip(parts, places, strict=True):
                part.extend(record[place] for record in records)
    return TextColumns(parts[0], parts[1] if len(parts) > 1 else None)


def _arrow(source: Source, column: Column | None, title_column: Column | None) -> TextColumns:
    with open_batches(source) as (names, batches):
        places = _places(source, names, len(names), column, title_column)
        used = [names[place] for place in places]
        parts: list[list[str]] = [[] for _ in used]
        for batch in batches(sorted(set(used), key=names.index)):
            for part, name in zip(parts, used, strict=True):
                values = batch.column(batch.schema.names.index(name)).to_pylist()
                part.extend(_text(source, name, value, len(parts[0])) for value in values)
    return TextColumns(parts[0], parts[1] if len(parts) > 1 else None)


def _json_lines(source: Source, column: Column | None, title_column: Column | None) -> TextColumns:
    records = list(_json_records(source))
    if records and all(isinstance(record, str) for _, record in records):
        if column is None and title_column is None:
            return TextColumns([text for _, text in records], None)
        raise InvalidInputError(
            f"{source} holds one text per line and no columns, but ",
            Argument("column" if column is not None else "title_column"),
            " was given; leave it out.",
        )
    for line, record in records:
        if not isinstance(record, dict):
            raise InvalidInputError(
                f"{source} holds no object but {_shown(record)} in line {line}; give one JSON "
                'object per line, such as {"text": "..."}.'
            )
    names = list(dict.fromkeys(key for _, record in records for key in record))
    places = _places(source, names, len(names), column, title_column) if names else []
    chosen = [
        [_text(source, names[place], record.get(names[place]), line) for line, record in records]
        for place in places
    ]
    return TextColumns(chosen[0] if chosen else [], chosen[1] if len(chosen) > 1 else None)


def _json_records(source: Source) -> Iterator[tuple[int, Any]]:
    with source.open_text() as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as problem:
                raise InvalidInputError(
                    f"{source} holds {_shown(line.strip())} in line {number}, which is not JSON; "
                    "give one JSON object per line."
                ) from problem


def _places(
    source: Source,
    names: Sequence[str] | None,
    width: int,
    column: Column | None,
    title_column: Column | None,
) -> list[int]:
    """Return the positions of the texts and, if they have a column, of the titles."""
    known = None if names is None else tuple(names)
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
    places = [find_column(source, known, width, column, "column")]
    if title_column is not None:
        places.append(find_column(source, known, width, title_column, "title_column"))
    return places


def _text(source: Source, name: str, value: Any, place: int) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return str(value)
    raise InvalidInputError(
        f"{source} holds {_shown(value)} in column {name!r} near row {place}, but text is needed; "
        "convert it or give another column."
    )


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


@contextmanager
def _long_fields() -> Iterator[None]:
    """Let the csv module take documents of any length; its own limit is 131,072 characters."""
    before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        yield
    finally:
        csv.field_size_limit(before)
