"""Tables with named columns (CSV, TSV, JSON Lines, Parquet, Arrow), read and written by pyarrow."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sketchlasso.errors import InvalidInputError
from sketchlasso.io.columns import (
    NA,
    NA_AMONG_NUMBERS,
    Cells,
    ParsedColumn,
    counted,
    fault_of_category,
    parse_column,
    shortened,
)
from sketchlasso.io.encoding import ColumnRule, Encoding
from sketchlasso.io.source import (
    TABLES,
    Paths,
    failures,
    find_files,
    found_format,
    open_bytes,
    require,
    title_of,
)
from sketchlasso.io.table import (
    Column,
    Columns,
    Table,
    choose_columns,
    find_column,
    find_columns,
    real_type,
    useless_columns,
)
from sketchlasso.storage import replacing
from sketchlasso.types import BoolArray

SEPARATORS = ("\t", ";", "|", ",")  # a decimal comma must not be taken for the separator
NUMBER = re.compile(r"[-+]?(\d+[.,]?\d*|[.,]\d+)([eE][-+]?\d+)?")

# What can be done about columns that cannot be used, by the kind of fault.
CURES = {
    "gaps": "fill missing values with impute mean or median, or leave their rows out with impute "
    "drop",
    "unfilled": "leave rows with missing values out with impute drop, or fit the model again with "
    "impute mean or median, which then fills them here too",
    "target": "leave rows without a target out with impute drop",
    "number": "read them with clean, or give their thousands separator or decimal mark",
    "unit": "write numbers without their unit",
    "date": "turn dates into days with clean",
    "text": "correct these cells, name words for missing values with na, or name categories with "
    "categorical",
    "levels": "group texts into at most 100 levels of several rows each",
}


@dataclass(frozen=True)
class TextLayout:
    """How text is split into cells: see :func:`sketchlasso.io.read_table`."""

    separator: str | None = None
    header: bool | None = None
    text_encoding: str = "utf-8"


@dataclass(frozen=True)
class Frame:
    """All columns of a table as they are stored: an Arrow table and the names, if there are any."""

    data: Any
    names: tuple[str, ...] | None
    comma: bool = False  # whether numbers may have decimal commas
    typed: bool = True  # whether the file says which columns are text

    def declares_text(self, j: int) -> bool:
        """Whether the file declares a column as text, even if it holds numbers."""
        return self.typed and "string" in str(self.data.schema.types[j])


def read_frames(paths: Paths, format: str | None, layout: TextLayout) -> Frame:
    """Read all columns of one file, or of several whose rows follow each other."""
    files, frames = find_files(paths, format), []
    for path in files:
        with open_bytes(path) as stream:
            kind = found_format(path, stream, format)
            if kind not in TABLES:
                raise InvalidInputError(
                    f"{path} is a {kind} file, which has no named columns; give CSV, TSV, JSON "
                    "Lines, Parquet or Arrow files."
                )
            frame = _read_frame(path, stream, kind, layout)
        if 0 in frame.data.shape:
            raise InvalidInputError(f"{title_of(path)} holds no rows; give a file with data.")
        frames.append(frame)
    if len(frames) == 1:
        return frames[0]
    pa, first = require("pyarrow", "reading tables"), frames[0]
    width, parts = first.data.num_columns, []
    labels = [str(j) for j in range(width)]
    for path, frame in zip(files, frames, strict=True):
        same = sorted(frame.names or ()) == sorted(first.names or ())
        if not same or frame.data.num_columns != width:
            raise InvalidInputError(
                f"{path} has other columns than {files[0]}; give files with the same columns."
            )
        order = list(range(width))
        if frame.names is not None and first.names is not None and frame.names != first.names:
            order = [frame.names.index(name) for name in first.names]
        parts.append(frame.data.select(order).rename_columns(labels))
    for j, label in enumerate(labels):
        kinds = {part.schema.types[j] for part in parts}
        if len(kinds) > 1:  # numbers in one file may be text in another
            text = any(not pa.types.is_primitive(kind) for kind in kinds - {pa.null()})
            wanted = pa.string() if text else pa.float64()
            parts = [part.set_column(j, label, part.column(j).cast(wanted)) for part in parts]
    with failures(files[0]):
        data = pa.concat_tables(parts)
    return replace(first, data=data, comma=any(frame.comma for frame in frames))


def _read_frame(path: Path, stream: BinaryIO, kind: str, layout: TextLayout) -> Frame:
    if kind in ("csv", "tsv"):
        return _read_text(path, stream, kind, layout)
    pa = require("pyarrow", f"reading {kind} files")
    with failures(path, kind):
        if kind == "parquet":
            data = require("pyarrow.parquet", "reading Parquet files").read_table(stream)
        elif kind == "jsonl":
            rows = [json.loads(line) for line in stream if line.strip()]
            for number, row in enumerate(rows, start=1):
                if not isinstance(row, dict):
                    raise ValueError(f"line {number} is not an object such as {{...}}")
            names = dict.fromkeys(name for row in rows for name in row)
            data = pa.table({name: _json_column([row.get(name) for row in rows]) for name in names})
        else:
            is_file = stream.read(6) == b"ARROW1"
            stream.seek(0)
            reader = pa.ipc.open_file(stream) if is_file else pa.ipc.open_stream(stream)
            data = reader.read_all()
    return Frame(data, tuple(data.column_names))


def _json_column(values: list[Any]) -> Any:
    """Return a column of values; those of several kinds become text."""
    pa = require("pyarrow", "reading JSON Lines")
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([v if isinstance(v, str) or v is None else json.dumps(v) for v in values])


def _read_text(path: Path, stream: BinaryIO, kind: str, layout: TextLayout) -> Frame:
    """Read delimited text, every cell as text: what a number is, is decided per column."""
    text = require("pyarrow.csv", "reading text tables")
    pa, encoding = require("pyarrow", "reading text tables"), layout.text_encoding
    if stream.read(2) in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    stream.seek(0)
    with failures(path):
        decoded = io.TextIOWrapper(
            stream, encoding="utf-8-sig" if encoding == "utf-8" else encoding, newline=""
        )
        lines = list(islice(decoded, 20))
        decoded.detach()
        stream.seek(0)
    separator = layout.separator or ("\t" if kind == "tsv" else find_separator(lines))
    before = csv.field_size_limit(1 << 30)  # texts may be long
    try:
        reader = csv.reader(lines, delimiter=separator)
        records = [(record, reader.line_num) for record in reader if "".join(record).strip()]
    finally:
        csv.field_size_limit(before)
    if not records:
        raise InvalidInputError(f"{title_of(path)} holds no rows; give a file with data.")
    first, second = records[0][0], records[1][0] if len(records) > 1 else None
    header = has_header(first, second) if layout.header is None else layout.header
    if header and second is not None and len(second) == len(first) + 1:
        first.insert(0, "")  # R writes no name above the names of rows
    labels = [str(position) for position in range(len(first))]
    with failures(path, kind):
        data = text.read_csv(
            stream,
            text.ReadOptions(
                block_size=1 << 25,  # bytes; a row must fit
                skip_rows=records[0][1] if header else 0,
                column_names=labels,
                encoding=encoding,
            ),
            text.ParseOptions(delimiter=separator, newlines_in_values=True),
            text.ConvertOptions(column_types=dict.fromkeys(labels, pa.string())),
        )
    names = tuple(name.strip() for name in first) if header else None
    return Frame(data, names, comma=separator != ",", typed=False)


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

    def is_number(cell: str) -> bool:
        return NUMBER.fullmatch(cell.strip()) is not None

    if not any(map(is_number, first)):
        return True
    if len(first) > 2 and all(cell.strip() == str(i) for i, cell in enumerate(first)):
        return True
    return any(
        not is_number(above) and above.strip().lower() not in NA_AMONG_NUMBERS and is_number(below)
        for above, below in zip(first, second or (), strict=False)
    )


def read_named_columns(
    paths: Paths,
    *,
    cells: Cells,
    layout: TextLayout,
    format: str | None,
    categorical: Column | Sequence[Column] = (),
    impute: str | None = None,
    dtype: DTypeLike | None = None,
    encoding: Encoding | None = None,
    drop_constant: bool = False,
    drop_duplicates: bool = False,
    **roles: Any,
) -> Table:
    """Read a table with named columns: see :func:`sketchlasso.io.read_table`."""
    files = find_files(paths, format)
    title = title_of(files[0]) + (f" and {len(files) - 1} more" if len(files) > 1 else "")
    frame = read_frames(files, format, layout)
    names, width = frame.names, frame.data.num_columns
    columns = choose_columns(title, names, width, encoding=encoding, **roles)
    as_text = set(find_columns(title, names, width, categorical, "categorical"))
    cells = replace(cells, comma=frame.comma)
    rules: Sequence[ColumnRule] = () if encoding is None else encoding.columns
    if encoding is not None and cells.na is None:
        cells = replace(cells, na=encoding.na)
    stored = [frame.data.column(j) for j in columns.features]
    kinds: list[tuple[bool | None, str | None]]
    if rules:
        kinds = [(rule.levels is not None, rule.clean) for rule in rules]
    else:
        declared = {j for j in columns.features if frame.declares_text(j) and not cells.clean}
        kinds = [(True if j in as_text | declared else None, None) for j in columns.features]
    parsed = [
        parse_column(values, cells, text=text, clean=clean)
        for values, (text, clean) in zip(stored, kinds, strict=True)
    ]
    single = {str(values.type) for values in stored} == {"float"}
    kind = real_type(dtype, np.float32 if single else np.float64)
    y, lost = _target(title, frame, columns, cells)
    _refuse_faults(title, columns, parsed, rules, as_text, lost, impute, kind)
    kept, notes = _rows_kept(columns, parsed, lost, impute)
    found, blocks = [], []
    for i, (j, column) in enumerate(zip(columns.features, parsed, strict=True)):
        rule = rules[i] if rules else _new_rule(columns.name(j), column, kept, impute)
        if column.note and not rules:
            notes.append(f"{rule.name!r} {column.note}")
        block, remarks = _features(column, rule, kept)
        found.append(rule)
        blocks.append(block)
        notes += remarks
    gaps = np.column_stack([column.missing for column in parsed])[kept]
    if drop_constant or drop_duplicates:
        stay, remarks = _useful(found, blocks, drop_constant, drop_duplicates)
        found, blocks = [found[i] for i in stay], [blocks[i] for i in stay]
        gaps, notes = gaps[:, stay], notes + remarks
    used = Encoding(tuple(found), na=cells.na)
    unnamed = names is None and all(rule.levels is None for rule in found)
    plain = used.plain and not gaps.any() and encoding is None
    return Table(
        np.concatenate(blocks, axis=1, dtype=kind),
        None if y is None else y[kept],
        None if unnamed and used.plain else used.feature_names,
        columns.target_name,
        title,
        encoding=None if plain else used,
        rows=None if kept.all() else np.flatnonzero(kept),
        notes=tuple(notes),
        ids=None if columns.id is None else np.array(texts_of(frame.data.column(columns.id)))[kept],
        gaps=gaps if gaps.any() else None,
    )


def read_text_columns(
    paths: Paths,
    columns: Sequence[Column],
    *,
    format: str | None = None,
    separator: str | None = None,
    header: bool | None = None,
    text_encoding: str = "utf-8",
) -> dict[str, list[str]]:
    """Return columns of a table as text, by their names.

    Parameters
    ----------
    paths, format, separator, header, text_encoding
        See :func:`read_table`.
    columns : sequence of str or int
        Names or positions.

    Returns
    -------
    dict of str to list of str
        By the names of the columns, or their numbers from 1; missing cells are empty.
    """
    frame = read_frames(paths, format, TextLayout(separator, header, text_encoding))
    width = frame.data.num_columns
    places = [find_column(paths, frame.names, width, column, "column") for column in columns]
    known = frame.names or tuple(str(j + 1) for j in range(width))
    return {known[j]: texts_of(frame.data.column(j)) for j in places}


def texts_of(values: Any) -> list[str]:
    """Return the cells (m,) of a column as text; missing ones are empty."""
    pa, pc = require("pyarrow", "reading tables"), require("pyarrow.compute", "reading tables")
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_nested(values.type):
        raise InvalidInputError(f"a column holds {values.type} values, but text is needed.")
    return list(pc.fill_null(values.cast("large_string"), "").to_pylist())


def _target(
    title: str, frame: Frame, columns: Columns, cells: Cells
) -> tuple[NDArray[Any] | None, BoolArray]:
    """Return targets (m,), numbers or text, if there are any, and which are missing (m,)."""
    if columns.target is None:
        return None, np.zeros(frame.data.num_rows, dtype=bool)
    is_text = True if frame.declares_text(columns.target) else None
    column = parse_column(frame.data.column(columns.target), cells, text=is_text)
    fault, kind = _fault(column, np.dtype(np.float64), judged=True)
    if fault and (column.codes is None or kind == "number"):  # other texts are labels
        cure = f"; {CURES[kind]}" if kind in CURES else ""
        label = columns.name(columns.target)
        raise InvalidInputError(
            f"{title} has a target that cannot be used, column {label!r} ({fault}){cure}."
        )
    if column.codes is None:
        return column.numbers, column.missing
    return np.array([*column.levels, ""])[column.codes], column.missing


def _fault(column: ParsedColumn, dtype: np.dtype[Any], *, judged: bool) -> tuple[str, str]:
    """Return why a column cannot be used, "" if it can, and which kind of cure fits."""
    if column.codes is not None and judged:
        return fault_of_category(column)
    if column.fault or column.numbers is None:
        return column.fault, column.kind
    with np.errstate(over="ignore"):
        rows = np.flatnonzero(np.isinf(column.numbers.astype(dtype)))
    found = f"{counted(len(rows), 'infinite number')}, in row {rows[0] + 1}" if len(rows) else ""
    return found, ""


def _refuse_faults(
    title: str,
    columns: Columns,
    parsed: Sequence[ParsedColumn],
    rules: Sequence[ColumnRule],
    as_text: set[int],
    lost: BoolArray,
    impute: str | None,
    dtype: np.dtype[Any],
) -> None:
    """Refuse columns that cannot be used, all of them in one sentence."""
    faults: list[tuple[str, str, str]] = []
    for i, (j, column) in enumerate(zip(columns.features, parsed, strict=True)):
        fault, kind = _fault(column, dtype, judged=not rules and j not in as_text)
        if not fault and not rules and column.missing[~lost].all():
            fault = "no value at all"
        filled = rules[i].fill is not None if rules else impute is not None
        if not fault and not filled and impute != "drop" and column.missing.any():
            fault, kind = _gaps(column.missing), "unfilled" if rules else "gaps"
        if fault:
            faults.append((columns.name(j), fault, kind))
    others = [name for name, _, kind in faults if kind not in ("gaps", "unfilled")]
    if impute is None and lost.any():
        assert columns.target is not None
        faults.append((columns.name(columns.target), f"the target: {_gaps(lost)}", "target"))
        others += [columns.name(columns.target)] if rules else []
    if not faults:
        return
    named = "; ".join(f"{name!r} ({fault})" for name, fault, _ in faults)
    cures = [CURES[kind] for kind in dict.fromkeys(kind for *_, kind in faults) if kind in CURES]
    if others:
        cures.append(f"leave out columns with drop {','.join(others)}")
    number = counted(len(faults), "column")
    error = InvalidInputError(
        f"{title} has {number} that cannot be used: {named}; {', or '.join(cures)}."
    )
    error.column_names = columns.names
    raise error


def _gaps(absent: BoolArray) -> str:
    rows = np.flatnonzero(absent)
    first = "" if len(rows) == 1 else "the first "
    return f"{counted(len(rows), 'missing value')}, {first}in row {rows[0] + 1}"


def _rows_kept(
    columns: Columns, parsed: Sequence[ParsedColumn], lost: BoolArray, impute: str | None
) -> tuple[BoolArray, list[str]]:
    """Which rows (m,) stay, and a note of those that do not."""
    kept, notes = ~lost, []
    if lost.any():
        notes.append(f"left out {counted(int(lost.sum()), 'row')} without a target")
    if impute == "drop":
        before, counts = kept.copy(), []
        for j, column in zip(columns.features, parsed, strict=True):
            absent = column.missing & before
            kept &= ~absent
            if absent.any():
                counts.append(f"{columns.name(j)!r} in {int(absent.sum())}")
        if counts:
            gone = counted(int(before.sum() - kept.sum()), "row")
            notes.append(f"left out {gone} with missing values: {', '.join(counts)}")
    if not kept.any():
        raise InvalidInputError(
            "no row is left without missing values; fill them with impute mean or median, or drop "
            "the columns that are mostly empty."
        )
    return kept, notes


def _new_rule(name: str, column: ParsedColumn, kept: BoolArray, impute: str | None) -> ColumnRule:
    """Return the rule that the cells of a column call for."""
    filled = impute in ("mean", "median")
    if column.codes is not None:
        counts = {level: n for level, n in column.counts(kept).items() if n}
        common = min(counts, key=lambda level: (-counts[level], level)) if counts else None
        return ColumnRule(name, tuple(counts), common if filled else None)
    assert column.numbers is not None
    rule, known = ColumnRule(name, clean=column.clean), column.numbers[kept & ~column.missing]
    if filled and len(known):
        return replace(rule, fill=float(rule.typical(known[:, None], str(impute))[0]))
    return rule


def _features(
    column: ParsedColumn, rule: ColumnRule, kept: BoolArray
) -> tuple[NDArray[np.float64], list[str]]:
    """Return the features (m, f) of a column by its rule, and notes of what was filled in."""
    absent, notes = column.missing[kept], []
    if absent.any():
        shown = f"{rule.fill:.4g}" if isinstance(rule.fill, float) else repr(rule.fill)
        gaps = counted(int(absent.sum()), "missing value")
        notes.append(f"filled {gaps} of {rule.name!r} with {shown}")
    if rule.levels is None:
        assert column.numbers is not None
        fill = rule.fill if isinstance(rule.fill, float) else np.nan
        return np.where(absent, fill, column.numbers[kept])[:, None], notes
    unknown = [(level, n) for level, n in column.counts(kept).most_common()
               if n and level not in rule.levels]  # fmt: skip
    if unknown:
        listed = ", ".join(f"{shortened(w)} in {counted(n, 'row')}" for w, n in unknown[:5])
        more = "" if len(unknown) <= 5 else f" and {len(unknown) - 5} more"
        instead = f"all indicators of {rule.name!r} are 0 in these rows"
        if len(rule.levels) == 2:
            instead = f"these rows count as {rule.levels[0]!r}"
        notes.append(
            f"{rule.name!r} holds levels that the model has not seen: {listed}{more}; {instead}"
        )
    assert column.codes is not None
    place = {level: i for i, level in enumerate(rule.coded)}
    places = [place.get(level, -1) for level in (*column.levels, str(rule.fill))]
    codes = np.array(places)[column.codes[kept]]
    return np.asarray(codes[:, None] == np.arange(len(place)), dtype=np.float64), notes


def _useful(
    rules: Sequence[ColumnRule], blocks: Sequence[Any], constant: bool, duplicates: bool
) -> tuple[list[int], list[str]]:
    """Return the places of columns that are neither constant nor copies, as asked, and notes."""
    ends = np.cumsum([block.shape[1] for block in blocks])
    found = useless_columns(np.concatenate(blocks, axis=1))
    stay, notes = list(range(len(rules))), []
    kinds = (("constant columns", constant), ("copies of other columns", duplicates))
    for features, (what, asked) in zip(found, kinds, strict=True):
        useless = Counter(np.searchsorted(ends, features, side="right"))
        gone = [i for i in stay if asked and useless[i] == blocks[i].shape[1]]
        if gone:
            notes.append(f"left out {what}: {', '.join(rules[i].name for i in gone)}")
            stay = [i for i in stay if i not in gone]
    if not stay:
        raise InvalidInputError("every column is constant; give data with columns that vary.")
    return stay, notes


def write_named_columns(path: Path, table: Table, format: str) -> None:
    """Write ids, features and the target, in this order, one column each, at full precision."""
    pa, y = require("pyarrow", f"writing {format} files"), table.y
    is_text = format in ("csv", "tsv")
    names = _names_to_write(path, table)
    if is_text and y is not None and y.dtype.kind == "U":
        for label in np.unique(y).tolist():
            if NUMBER.fullmatch(label) or label.lower() in NA or label != label.strip():
                raise InvalidInputError(
                    f"{path} cannot be written: the text label {label!r} would not be read back as "
                    "it is; choose other labels or write an npz file."
                )
    X: Any = table.X
    dense = np.asarray(X) if isinstance(X, np.ndarray) else X.toarray()
    ids = [] if table.ids is None else [table.ids]
    columns = [*ids, *np.ascontiguousarray(dense.T), *([] if y is None else [y])]
    native = [part.astype(part.dtype.newbyteorder("="), copy=False) for part in columns]
    data = pa.table([pa.array(part) for part in native], names=names)
    with replacing(path, compress=is_text) as file:
        if is_text:
            text = require("pyarrow.csv", "writing text tables")
            separator = "\t" if format == "tsv" else ","
            text.write_csv(data, file, text.WriteOptions(delimiter=separator))
        elif format == "parquet":
            require("pyarrow.parquet", "writing Parquet files").write_table(data, file)
        else:
            with pa.ipc.new_file(file, data.schema) as writer:
                writer.write_table(data)


def _names_to_write(path: Path, table: Table) -> list[str]:
    names = list(table.feature_names or (f"x{i}" for i in range(1, table.shape[1] + 1)))
    if table.y is not None and table.y.ndim != 1:
        raise InvalidInputError(
            f"{path} cannot be written: it has one column for the target but y has shape "
            f"{table.y.shape}; give one column or write an npz file."
        )
    if table.ids is not None:
        names.insert(0, table.id_name)
    if table.y is not None:
        names.append(table.target_name if isinstance(table.target_name, str) else "y")
    for name, count in Counter(names).items():
        if count > 1:
            raise InvalidInputError(
                f"{path} cannot be written: its ids or its target and a feature are both called "
                f"{name!r}; give another id_name or target_name."
            )
    return names
