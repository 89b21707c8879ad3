"""One of the many files of a matrix: scan it without reading the matrix, and cut it into blocks."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchlasso.data.block_work import PRODUCT_COLUMNS
from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.files.arrays import check_matrix, map_rows, npy_header, open_npz, take_columns
from sketchlasso.files.arrow import parquet_outline, read_arrow, read_arrow_target
from sketchlasso.files.formats import read_source
from sketchlasso.files.options import ReadOptions
from sketchlasso.files.source import NoRowsError, Source
from sketchlasso.files.svmlight import read_svmlight
from sketchlasso.files.table import TableMatrix, as_real, as_response
from sketchlasso.storage.door import check_memory, in_words

# Work on a block takes at most COPIES times its memory: the block, a copy while it is read, rows
# chosen from it, and products. PRODUCTS are the bytes of products per row, whatever its length.
COPIES = 4
PRODUCTS = 8 * PRODUCT_COLUMNS


@dataclass(frozen=True, eq=False)
class Scan:
    """Facts about a shard, without its matrix.

    The matrix has `columns` features and takes `n_bytes` in memory as `dtype`. It can be read in
    parts between the rows `cuts` (c,), from 0 to `rows`; at any row where `cuts` is None. y has
    shape (rows,) or (rows, t), and `names` are those of the features. An svmlight file has indices
    from `lowest` to `highest`, as written.
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
    """Scan a shard.

    Of npz, npy and Parquet files only headers and targets are read; text has to be read once.
    """
    try:
        with source.guarded():
            found = _SCANS.get(source.format, _scan_by_reading)(source, options)
    except NoRowsError:
        return Scan(source, 0, 0, options.type_of(np.float64), False, 0, None)
    y = found.y
    if y is not None and len(y) != found.rows:
        raise InvalidInputError(
            f"{source} has {found.rows} rows but y has {len(y)}; give one response per row."
        )
    if y is not None and y.dtype.kind == "f" and not np.isfinite(y).all():
        row = int(np.argmax(~np.isfinite(y).reshape(len(y), -1).all(axis=1)))
        raise InvalidInputError(
            f"{source} holds NaN or infinity in the target of row {row + 1}, but every number must "
            "be finite; fill in or leave out such rows first."
        )
    return found


def _scan_npz(source: Source, options: ReadOptions) -> Scan:
    with open_npz(source) as stored:
        sparse = stored.is_sparse
        names = stored.texts("feature_names")
        entries = stored.header("data" if sparse else stored.matrix_key())
        shape = stored.sparse_shape() if sparse else entries.shape
        column, y, name = stored.target(options.target)
    check_matrix(source, replace(entries, shape=shape), "its matrix")
    columns = replace(options, target=column).columns(source, names, shape[1])
    dtype = options.type_of(entries.dtype)
    count = math.prod(entries.shape)
    size = count * dtype.itemsize
    if sparse:
        size += 4 * count + 4 * (shape[0] + 1)
    if column is not None:
        y = read_source(source, options).y  # a column of the matrix costs reading it
        name = columns.target_name
    y = None if y is None else as_response(y)
    name = name if isinstance(name, str) else None
    width, cuts = len(columns.features), np.array([0, shape[0]])
    names = columns.feature_names
    return Scan(source, shape[0], width, dtype, sparse, size, cuts, y, names, name)


def _scan_npy(source: Source, options: ReadOptions) -> Scan:
    header = npy_header(source)
    check_matrix(source, header, "its array")
    rows, width = header.shape
    columns = options.columns(source, None, width)
    y = None
    if columns.target is not None:
        check_memory(8 * rows, "the target")
        y = np.empty(rows)
        step = max(1, (1 << 22) // (width * header.dtype.itemsize))  # map a few MiB at a time
        for start in range(0, rows, step):
            stop = min(start + step, rows)
            y[start:stop] = map_rows(source, header, start, stop)[:, columns.target]
    dtype = options.type_of(header.dtype)
    size = rows * len(columns.features) * dtype.itemsize
    return Scan(source, rows, len(columns.features), dtype, False, size, None, y)


def _scan_parquet(source: Source, options: ReadOptions) -> Scan:
    all_names, types, group_rows = parquet_outline(source)
    columns = options.columns(source, all_names, len(all_names))
    kinds = {types[i] for i in columns.features}
    dtype = options.type_of(np.float32 if kinds == {"float"} else np.float64)
    cuts = np.concatenate([[0], np.cumsum(group_rows)]).astype(np.intp)
    rows, width = int(cuts[-1]), len(columns.features)
    size = rows * width * dtype.itemsize
    y = None if columns.target is None else read_arrow_target(source, columns, options)
    names, name = columns.feature_names, columns.target_name
    return Scan(source, rows, width, dtype, False, size, cuts, y, names, name)


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
            except ValueError as problem:
                read_svmlight(source, options)  # its message names the line and the fault
                raise source.misread(problem) from problem
    if not labels:
        raise NoRowsError(f"{source} holds no samples; give a file with data.")
    dtype = options.type_of(np.float64)
    rows = len(labels)
    size = entries * (dtype.itemsize + 4) + 4 * (rows + 1)
    cuts, y = np.array([0, rows]), np.array(labels)
    return Scan(source, rows, 0, dtype, True, size, cuts, y, lowest=int(lowest), highest=highest)


def _scan_by_reading(source: Source, options: ReadOptions) -> Scan:
    """Read a format that has no header, and keep all but the matrix."""
    table = read_source(source, options)
    X: Any = table.X
    dense = isinstance(X, np.ndarray)
    size = sum(part.nbytes for part in ((X,) if dense else (X.data, X.indices, X.indptr)))
    (rows, width), cuts = table.shape, np.array([0, table.shape[0]])
    name = table.target_name if isinstance(table.target_name, str) else None
    names = table.feature_names
    return Scan(source, rows, width, X.dtype, not dense, size, cuts, table.y, names, name)


# Files of other formats are read whole.
_SCANS: dict[str, Callable[[Source, ReadOptions], Scan]] = {
    "npz": _scan_npz,
    "npy": _scan_npy,
    "parquet": _scan_parquet,
    "svmlight": _scan_svmlight,
}
SHARD_FORMATS = (*_SCANS, "csv", "tsv", "arrow", "matrix-market")


@dataclass(frozen=True)
class ShardBlock:
    """Rows start, ..., stop - 1 of a file that had `total` rows when it was scanned.

    It is small to send, and read where it is needed. `groups` are the row groups of a Parquet
    file that make up the rows.
    """

    path: str
    format: str
    options: ReadOptions
    start: int
    stop: int
    total: int
    groups: tuple[int, ...] | None
    columns: int
    dtype: np.dtype[Any]
    sparse: bool

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.stop - self.start

    @property
    def name(self) -> str:
        """Name of the block in messages."""
        if self.rows == self.total:
            return self.path
        return f"{self.path}, rows {self.start + 1} to {self.stop}"

    def load(self) -> TableMatrix:
        """Read the rows: an array or csr_array of shape (rows, columns) and type `dtype`."""
        source = Source.of(self.path, self.format)
        with source.guarded():
            if self.format == "npy":
                X: Any = self._mapped(source)
            elif self.groups is not None:
                X = read_arrow(source, self.options, self.groups).X
            else:
                X = read_source(source, self.options).X
        dense = isinstance(X, np.ndarray)
        if X.shape != (self.rows, self.columns) or dense == self.sparse:
            raise source.damaged("has changed since it was scanned")
        return as_real(X, self.dtype) if dense else X.astype(self.dtype, copy=False)

    def _mapped(self, source: Source) -> Any:
        """The rows of an npy file, of the columns that are features."""
        header = npy_header(source)
        if header.shape[0] != self.total:
            raise source.damaged("has changed since it was scanned")
        width = header.shape[1]
        rows = map_rows(source, header, self.start, self.stop)
        kept = self.options.columns(source, None, width).features
        return rows if len(kept) == width else np.ascontiguousarray(take_columns(rows, kept))


def cut_into_blocks(
    found: Scan, options: ReadOptions, memory: int, strict: str | None
) -> Iterator[ShardBlock]:
    """Yield blocks of a shard that can be read and multiplied within `memory` bytes.

    A block that cannot be made so small is an error only if `strict` has the limit as the user
    wrote it.
    """
    row_bytes = COPIES * (found.n_bytes / found.rows + PRODUCTS)
    most = int(memory / row_bytes)
    for start, stop in pairwise(_bounds(found, max(1, most))):
        if strict is not None and stop - start > most:
            raise _too_large(found, (stop - start) * row_bytes, most, strict)
        groups = None
        if found.source.format == "parquet" and found.cuts is not None:
            first, last = np.searchsorted(found.cuts, [start, stop], side="left")
            groups = tuple(range(int(first), int(last)))
        yield ShardBlock(
            str(Path(found.source.path).absolute()),
            found.source.format,
            options,
            int(start),
            int(stop),
            found.rows,
            groups,
            found.columns,
            found.dtype,
            found.sparse,
        )


def _bounds(found: Scan, most: int) -> list[int]:
    """Rows at which blocks begin and end, `most` rows apart or as near to it as cuts allow."""
    if found.cuts is None:
        return [*range(0, found.rows, most), found.rows]
    bounds = [0]
    cuts = np.unique(found.cuts)
    while bounds[-1] < found.rows:
        fitting = cuts[(cuts > bounds[-1]) & (cuts <= bounds[-1] + most)]
        following = cuts[cuts > bounds[-1]]
        bounds.append(int(fitting[-1] if len(fitting) else following[0]))
    return bounds


def _too_large(found: Scan, needed: float, most: int, strict: str) -> InvalidInputError:
    if found.cuts is None:
        what, cure = "one row", ""
    elif found.source.format == "parquet":
        what, cure = "a row group", f"write row groups of at most {most} rows, or "
    else:
        what = "the file, which is read whole,"
        cure = (
            f"write shards of at most {most} rows, or npy or Parquet files, which are read in "
            "parts, or "
        )
    if most < 1:
        cure = ""
    return InvalidInputError(
        f"{found.source} cannot be read within ",
        Argument("memory", strict, "s"),
        f": {what} needs {in_words(needed)} to be read and multiplied; {cure}allow more memory.",
    )
