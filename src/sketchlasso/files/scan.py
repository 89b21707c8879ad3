"""A cheap look at a shard: its rows, columns, type and responses, but not its matrix."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchlasso.errors import InvalidInputError
from sketchlasso.files.arrays import is_sparse, matrix_key, target_key, texts
from sketchlasso.files.arrow import parquet_outline, read_arrow_target
from sketchlasso.files.columns import Columns, choose_columns
from sketchlasso.files.finish import check_matrix
from sketchlasso.files.npz import map_rows, npy_header, open_npz
from sketchlasso.files.options import ReadOptions
from sketchlasso.files.read import read_source
from sketchlasso.files.source import NoRowsError, Source
from sketchlasso.files.svmlight import read_svmlight
from sketchlasso.files.table import as_response
from sketchlasso.storage.door import ArrayHeader, check_memory

__all__ = ["SHARD_FORMATS", "Scan", "scan"]

# Bytes of an npy file that are mapped at a time while its target is looked for.
MAPPED = 1 << 22


@dataclass(frozen=True, eq=False)
class Scan:
    """What is known of a shard before its matrix is read.

    Attributes
    ----------
    source : Source
    rows, columns : int
        Samples and features.
    dtype : dtype
        float32 or float64, as the matrix is read.
    sparse : bool
    n_bytes : int
        Of the matrix in memory.
    cuts : ndarray of shape (c,) or None
        Rows at which it can be read in parts, from 0 to `rows`; None where any row will do.
    y : ndarray of shape (rows,) or (rows, t), or None
    names : tuple of str, or None
        Of the features.
    target_name : str or None
    lowest, highest : int
        Smallest and largest index of an svmlight file, as written.
    """

    source: Source
    rows: int
    columns: int
    dtype: np.dtype[Any]
    sparse: bool
    n_bytes: int
    cuts: NDArray[np.intp] | None
    y: NDArray[Any] | None = None
    names: tuple[str, ...] | None = None
    target_name: str | None = None
    lowest: int = 1
    highest: int = 0


def scan(source: Source, options: ReadOptions) -> Scan:
    """Look at a shard.

    npz, npy and Parquet files are known from their headers; of a Parquet file the target column
    is read, of an npz file the array y. Text has to be walked through once.

    Parameters
    ----------
    source : Source
    options : ReadOptions

    Returns
    -------
    Scan
        Of no rows, and nothing else known, where the file holds none.
    """
    try:
        with source.guarded():
            return _SCANS[source.format](source, options)
    except NoRowsError:
        return Scan(source, 0, 0, _real(np.dtype(np.float64), options), False, 0, None)


def _real(dtype: np.dtype[Any], options: ReadOptions) -> np.dtype[Any]:
    """The type a matrix stored in `dtype` is read in."""
    kept = np.dtype(np.float32 if dtype == np.float32 else np.float64)
    return options.real_type() or kept


def _whole(rows: int) -> NDArray[np.intp]:
    return np.array([0, rows])


def _scan_npz(source: Source, options: ReadOptions) -> Scan:
    column = None if isinstance(options.target, str) else options.target
    with open_npz(source) as stored:
        held = list(stored)
        sparse = is_sparse(held)
        names, label = texts(stored, "feature_names"), texts(stored, "target_name")
        entries = stored.header("data" if sparse else matrix_key(source, stored))
        shape = stored.sparse_shape() if sparse else entries.shape
        key = target_key(source, held, options.target) if column is None else None
        y = None if key is None else as_response(stored[key])
    if len(shape) != 2 or shape[0]:
        check_matrix(source, replace(entries, shape=shape), "its matrix")
    columns = choose_columns(source, names, shape[1], column, options.drop)
    dtype = _real(entries.dtype, options)
    stored_entries = int(np.prod(entries.shape, dtype=np.int64))
    size = stored_entries * dtype.itemsize
    if sparse:
        size += 4 * stored_entries + 4 * (shape[0] + 1)
    if column is not None:
        y = read_source(source, options).y  # a column of the matrix costs reading it
    name = columns.target_name if column is not None else _one(label) or _other(key)
    found = Scan(source, shape[0], len(columns.features), dtype, sparse, size, _whole(shape[0]))
    return _with_target(found, y, columns.feature_names, name)


def _one(label: tuple[str, ...] | None) -> str | None:
    return label[0] if label is not None and len(label) == 1 else None


def _other(key: str | None) -> str | None:
    """The name of an array that is the target, unless it is plain y."""
    return None if key == "y" else key


def _scan_npy(source: Source, options: ReadOptions) -> Scan:
    header = npy_header(source)
    if header.ndim != 2 or header.shape[0]:
        check_matrix(source, header, "its array")
    rows, width = header.shape[0], header.shape[1]
    columns = choose_columns(source, None, width, options.target, options.drop)
    y = None
    if columns.target is not None and rows:
        y = _npy_column(source, header, columns.target)
    dtype = _real(header.dtype, options)
    size = rows * len(columns.features) * dtype.itemsize
    found = Scan(source, rows, len(columns.features), dtype, False, size, None)
    return _with_target(found, y, None, None)


def _npy_column(source: Source, header: ArrayHeader, column: int) -> NDArray[np.float64]:
    """One column (m,) of an npy file, taken from some rows at a time: no more is mapped at once."""
    rows, width = header.shape
    step = max(1, MAPPED // (width * header.dtype.itemsize))
    check_memory(8 * rows, "the target")
    y = np.empty(rows)
    for start in range(0, rows, step):
        part = slice(start, min(start + step, rows))
        y[part] = map_rows(source, header, part.start, part.stop)[:, column]
    return y


def _scan_parquet(source: Source, options: ReadOptions) -> Scan:
    outline = parquet_outline(source)
    width = len(outline.names)
    columns = choose_columns(source, outline.names, width, options.target, options.drop)
    kinds = {outline.types[i] for i in columns.features}
    dtype = _real(np.dtype(np.float32 if kinds == {"float"} else np.float64), options)
    cuts = np.concatenate([[0], np.cumsum(outline.group_rows)]).astype(np.intp)
    rows = int(cuts[-1])
    size = rows * len(columns.features) * dtype.itemsize
    found = Scan(source, rows, len(columns.features), dtype, False, size, cuts)
    return _with_target(
        found, _target_of(source, columns), columns.feature_names, columns.target_name
    )


def _target_of(source: Source, columns: Columns) -> NDArray[Any] | None:
    return None if columns.target is None else as_response(read_arrow_target(source, columns))


def _scan_svmlight(source: Source, options: ReadOptions) -> Scan:
    labels, entries = array("d"), 0
    lowest, highest = np.iinfo(np.int64).max, -1
    with source.open() as file:
        for line in file:
            text = line.partition(b"#")[0].strip()
            if not text:
                continue
            try:
                label, *pairs = text.split(None, 1)
                labels.append(float(label))
                if pairs and b"qid:" in pairs[0]:
                    pairs = [b" ".join(p for p in pairs[0].split() if p[:4] != b"qid:")]
                if pairs and pairs[0]:
                    lowest = min(lowest, int(pairs[0].partition(b":")[0]))
                    last = pairs[0].rsplit(None, 1)[-1]
                    highest = max(highest, int(last.partition(b":")[0]))
                    entries += pairs[0].count(b":")
            except (ValueError, IndexError) as problem:
                read_svmlight(source, options)  # says which line, and what is wrong with it
                raise source.misread(problem) from problem
    if not labels:
        raise NoRowsError(f"{source} holds no samples; give a file with data.")
    dtype = _real(np.dtype(np.float64), options)
    rows = len(labels)
    size = entries * (dtype.itemsize + 4) + 4 * (rows + 1)
    found = Scan(source, rows, 0, dtype, True, size, _whole(rows))
    found = replace(found, lowest=int(lowest), highest=int(highest))
    return _with_target(found, np.array(labels), None, None)


def _scan_by_reading(source: Source, options: ReadOptions) -> Scan:
    """Read a format that says nothing beforehand, and keep all but the matrix."""
    table = read_source(source, options)
    sparse = not isinstance(table.X, np.ndarray)
    parts = (
        (table.X,)
        if isinstance(table.X, np.ndarray)
        else (
            table.X.data,
            table.X.indices,
            table.X.indptr,
        )
    )
    rows, columns = table.shape
    size = sum(part.nbytes for part in parts)
    found = Scan(source, rows, columns, table.X.dtype, sparse, size, _whole(rows))
    name = table.target_name if isinstance(table.target_name, str) else None
    return _with_target(found, table.y, table.feature_names, name)


def _with_target(
    found: Scan, y: NDArray[Any] | None, names: tuple[str, ...] | None, target_name: str | None
) -> Scan:
    if y is not None and len(y) != found.rows:
        raise InvalidInputError(
            f"{found.source} has {found.rows} rows but y has {len(y)}; give one response per row."
        )
    if y is not None and y.dtype.kind == "f" and not np.isfinite(y).all():
        row = int(np.argmax(~np.isfinite(y).reshape(len(y), -1).all(axis=1)))
        raise InvalidInputError(
            f"{found.source} holds NaN or infinity in the target of row {row + 1}, but every "
            "number must be finite; fill in or leave out such rows first."
        )
    return replace(found, y=y, names=names, target_name=target_name)


_SCANS: dict[str, Callable[[Source, ReadOptions], Scan]] = {
    "npz": _scan_npz,
    "npy": _scan_npy,
    "parquet": _scan_parquet,
    "svmlight": _scan_svmlight,
    "csv": _scan_by_reading,
    "tsv": _scan_by_reading,
    "arrow": _scan_by_reading,
    "matrix-market": _scan_by_reading,
}
SHARD_FORMATS = tuple(_SCANS)
