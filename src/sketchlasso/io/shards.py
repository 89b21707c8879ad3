"""A data matrix that stays in its files (npz, npy, Parquet), read one block of rows at a time."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sketchlasso.data import BlockMatrix
from sketchlasso.errors import InvalidInputError, StoredFileError, unaccepted
from sketchlasso.io.columns import Cells, parse_column
from sketchlasso.io.matrices import read_npz
from sketchlasso.io.source import (
    Format,
    Paths,
    failures,
    find_files,
    found_format,
    open_bytes,
    require,
)
from sketchlasso.io.table import (
    Column,
    Columns,
    TableMatrix,
    as_real,
    as_response,
    choose_columns,
    real_type,
)

# Work on a block takes at most COPIES times its memory: the block, a copy while it is read, rows
# chosen from it, and products. PRODUCTS are the bytes of products per row, for rows of any length.
COPIES = 4
PRODUCTS = 384
PARQUET = "reading Parquet files"
AMOUNT = re.compile(r"\s*(\d+(?:\.\d*)?)\s*(?:([kmgt])(i?))?b?\s*", re.IGNORECASE)


@dataclass(frozen=True, eq=False, repr=False)
class Shards:
    """A data matrix in many files, and its responses.

    Attributes
    ----------
    X : BlockMatrix of shape (n_samples, n_features)
        Stays in the files; blocks are read one at a time where they are used.
    y : ndarray of shape (n_samples,) or (n_samples, n_targets), or None
        Read when the files were scanned: one number or label per row.
    feature_names : tuple of str, or None
    target_name : str or None
    paths : tuple of str
        The files in the order of their rows.
    rows_per_shard : tuple of int
    """

    X: BlockMatrix
    y: NDArray[Any] | None
    feature_names: tuple[str, ...] | None
    target_name: str | None
    paths: tuple[str, ...]
    rows_per_shard: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""
        return self.X.shape

    def __repr__(self) -> str:
        target = "no target" if self.y is None else f"target of shape {self.y.shape}"
        rows, columns = self.shape
        return f"<Shards of {rows} x {columns} in {len(self.paths)} files, {target}>"


@dataclass(frozen=True)
class Roles:
    """What to read of each shard: see :func:`read_shards`."""

    target: Column | None = None
    drop: Column | Sequence[Column] = ()
    dtype: DTypeLike | None = None


@dataclass(frozen=True, eq=False)
class Scan:
    """Facts about a shard, without its matrix.

    The matrix of `rows` and `columns` takes `n_bytes` in memory as `dtype`. It can be read in parts
    between the rows `cuts` (c,), from 0 to `rows`; at any row where `cuts` is None.
    """

    path: Path
    rows: int
    columns: int
    dtype: np.dtype[Any]
    sparse: bool
    n_bytes: int
    cuts: NDArray[np.intp] | None
    y: NDArray[Any] | None = None
    names: tuple[str, ...] | None = None
    target_name: str | None = None


def read_shards(
    paths: Paths,
    *,
    target: Column | None = None,
    drop: Column | Sequence[Column] = (),
    format: Format | None = None,
    dtype: DTypeLike | None = None,
    memory: int | str | None = None,
) -> Shards:
    """Scan a data matrix in many files; its rows are read later, one block at a time.

    Only headers and responses are read now. Files without rows are skipped. No file may change
    while the data are in use. Blocks hold numbers only: tables with text or gaps, and text files,
    are read whole, by :func:`read_table`.

    Parameters
    ----------
    paths : path-like or sequence of path-like
        Files, a folder (all its data files), or a pattern such as ``"part-*.npz"``; within a
        folder or pattern in natural order (part-9 before part-10). All of one format: npz, npy or
        Parquet.
    target, drop, format, dtype
        See :func:`read_table`; the same for every file.
    memory : int or str, optional
        Bytes (also ``"500MB"``, ``"2GB"``) that reading a block and multiplying it may take at
        a time: four times a block, and 1.5 kB per row for products at any rank. npy files
        are cut at any row and Parquet files between row groups to stay within it; a larger npz
        file is refused. By default 512 MB, and no file is refused.

    Returns
    -------
    Shards
        X and y, for :func:`sketch`, :func:`cross_validate` and the estimators.

    Raises
    ------
    StoredFileError
        No file is there, or one is truncated or damaged: its name is in the message.
    InvalidInputError
        Files that do not belong together (other columns, types or formats), or too large.

    Examples
    --------
    >>> import sketchlasso as sl
    >>> shards = sl.io.read_shards("clicks/part-*.npz", memory="1GB")  # doctest: +SKIP
    >>> model = sl.SqrtLassoCV().fit(shards.X, shards.y)  # doctest: +SKIP
    """
    limit = 512_000_000 if memory is None else bytes_of(memory)
    roles = Roles(target, drop if isinstance(drop, str | int) else tuple(drop), dtype)
    files = find_files(paths, format)
    kinds = []
    for path in files:
        with open_bytes(path) as stream:
            kinds.append(found_format(path, stream, format))
    odd = next((i for i, kind in enumerate(kinds) if kind != kinds[0]), None)
    if odd is not None:
        raise InvalidInputError(
            f"{files[0]} is {kinds[0]} and {files[odd]} is {kinds[odd]}, but shards are all of one "
            "format; convert some of them, or name those of one format."
        )
    if kinds[0] not in SHARD_FORMATS:
        raise InvalidInputError(
            f"{files[0]} is a {kinds[0]} file, but data are read in blocks from "
            f"{', '.join(SHARD_FORMATS)} files; convert it with read_table and write_table, or "
            "read it whole."
        )
    scan = SHARD_FORMATS[kinds[0]][0]
    scans = [found for path in files if (found := scan(path, roles)).rows]
    if not scans:
        raise InvalidInputError(f"{files[0]} and the other files hold no rows; give others.")
    for found in scans:
        _check_alike(scans[0], found)
    blocks = [
        ShardBlock(
            str(found.path.absolute()), kinds[0], roles, start, stop, found.rows, found.columns,
            found.dtype, found.sparse,
        )
        for found in scans
        for start, stop in _cut(found, limit, None if memory is None else str(memory))
    ]  # fmt: skip
    responses = [found.y for found in scans if found.y is not None]
    return Shards(
        BlockMatrix(blocks),
        np.concatenate(responses) if responses else None,
        scans[0].names,
        scans[0].target_name,
        tuple(str(found.path) for found in scans),
        tuple(found.rows for found in scans),
    )


@dataclass(frozen=True)
class ShardBlock:
    """Rows start, ..., stop - 1 of a file that had `total` rows when it was scanned.

    It is small to send, and read where it is needed.
    """

    path: str
    format: str
    roles: Roles
    start: int
    stop: int
    total: int
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
        X: Any = SHARD_FORMATS[self.format][1](self)
        if X.shape != (self.rows, self.columns) or isinstance(X, np.ndarray) == self.sparse:
            raise StoredFileError(
                f"{self.path} has changed since it was scanned; read the shards again."
            )
        return as_real(X, self.dtype) if isinstance(X, np.ndarray) else X.astype(self.dtype)


def _scan_npz(path: Path, roles: Roles) -> Scan:
    with open_bytes(path) as stream:
        with failures(path, "npz"):
            stored = np.load(stream, allow_pickle=False)
            is_sparse = {"format", "shape", "data"} <= set(stored.files)
            headers = {name: _npz_header(stored, name) for name in stored.files}
            matrices = [name for name, (shape, _) in headers.items() if len(shape) == 2]
            key = "data" if is_sparse else "X" if "X" in headers or not matrices else matrices[0]
            entries, stored_type = headers[key]
            shape = tuple(stored["shape"].tolist()) if is_sparse else entries
            names = stored["feature_names"].tolist() if "feature_names" in headers else None
            target_name = stored["target_name"].tolist() if "target_name" in headers else []
            y = as_response(stored["y"]) if "y" in headers else None
        columns = choose_columns(path, names, shape[1], drop=roles.drop)
        name = target_name[0] if len(target_name) == 1 else None
        if roles.target is not None and shape[0]:  # a column of the matrix costs reading it
            stream.seek(0)
            table = read_npz(path, stream, target=roles.target, drop=roles.drop)
            y, name = table.y, table.target_name if isinstance(table.target_name, str) else None
            if table.shape[1] < len(columns.features):
                columns = choose_columns(
                    path, names, shape[1], target=roles.target, drop=roles.drop
                )
    dtype, count = real_type(roles.dtype, stored_type), math.prod(entries)
    size = count * dtype.itemsize + (4 * count + 4 * (shape[0] + 1) if is_sparse else 0)
    return Scan(
        path, shape[0], len(columns.features), dtype, is_sparse, size, np.array([0, shape[0]]), y,
        columns.feature_names, name,
    )  # fmt: skip


def _npz_header(stored: Any, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    with stored.zip.open(f"{name}.npy") as member:
        is_first = np.lib.format.read_magic(member) == (1, 0)
        read = np.lib.format.read_array_header_1_0 if is_first else (
            np.lib.format.read_array_header_2_0
        )  # fmt: skip
        shape, _, dtype = read(member)
    return shape, dtype


def _load_npz(block: ShardBlock) -> Any:
    roles = block.roles
    with open_bytes(block.path) as stream:
        table = read_npz(
            block.path, stream, target=roles.target, drop=roles.drop, dtype=roles.dtype
        )
    return table.X


def _scan_npy(path: Path, roles: Roles) -> Scan:
    with failures(path, "npy"):
        X = np.load(path, mmap_mode="r")
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"{path} cannot be used: its array has shape {X.shape} and type {X.dtype}, but a "
            "matrix of real numbers is needed; save one."
        )
    columns = choose_columns(path, None, X.shape[1], target=roles.target, drop=roles.drop)
    y = None if columns.target is None else np.array(X[:, columns.target], dtype=np.float64)
    dtype, width = real_type(roles.dtype, X.dtype), len(columns.features)
    return Scan(path, len(X), width, dtype, False, len(X) * width * dtype.itemsize, None, y)


def _load_npy(block: ShardBlock) -> Any:
    with failures(block.path, "npy"):
        X = np.load(block.path, mmap_mode="r")
    roles, whole = block.roles, X[block.start : block.stop]
    if len(X) != block.total:
        return X
    columns = choose_columns(
        block.path, None, X.shape[1], target=roles.target, drop=roles.drop
    ).features
    if len(columns) == X.shape[1]:
        return whole
    return np.ascontiguousarray(whole[:, list(columns)])


def _scan_parquet(path: Path, roles: Roles) -> Scan:
    pa, parquet = require("pyarrow", PARQUET), require("pyarrow.parquet", PARQUET)
    with failures(path, "parquet"), parquet.ParquetFile(path) as file:
        schema, cuts = file.schema_arrow, _row_groups(file)
        columns = _parquet_columns(path, file, roles)
        name = columns.target_name
        target = None if name is None else file.read([name]).column(name)
    kinds = [schema.types[j] for j in columns.features]
    numeric = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    others = [columns.name(j) for j, kind in zip(columns.features, kinds, strict=True)
              if not any(is_kind(kind) for is_kind in numeric)]  # fmt: skip
    if others:
        raise InvalidInputError(
            f"{path} has columns that are not numbers: {', '.join(others)}; drop them, or read the "
            "file whole: data in blocks hold numbers only, without gaps and categories."
        )
    y = None
    if target is not None:
        column = parse_column(target, Cells())
        if column.fault or column.missing.any():
            fault = column.fault or "a missing value"
            raise InvalidInputError(f"{path} has a target with {fault}, column {name!r}; mend it.")
        labels = np.array(column.levels)
        y = column.numbers if column.codes is None else labels[column.codes]
    dtype = real_type(roles.dtype, np.float32 if set(map(str, kinds)) == {"float"} else np.float64)
    rows, width = int(cuts[-1]), len(columns.features)
    return Scan(
        path, rows, width, dtype, False, rows * width * dtype.itemsize, cuts, y,
        columns.feature_names, name,
    )  # fmt: skip


def _load_parquet(block: ShardBlock) -> Any:
    parquet = require("pyarrow.parquet", PARQUET)
    with failures(block.path, "parquet"), parquet.ParquetFile(block.path) as file:
        cuts = _row_groups(file)
        groups = [i for i, cut in enumerate(cuts[:-1]) if block.start <= cut < block.stop]
        columns = _parquet_columns(block.path, file, block.roles)
        data = file.read_row_groups(groups, columns=list(columns.feature_names or ()))
    X = np.empty((data.num_rows, len(columns.features)), dtype=block.dtype)
    for j, name in enumerate(columns.feature_names or ()):
        values = data.column(name)
        if values.null_count:
            raise InvalidInputError(
                f"{block.path} has missing values in column {name!r}; fill them, or read the file "
                "whole: data in blocks hold numbers only, without gaps and categories."
            )
        X[:, j] = values.cast("uint8" if str(values.type) == "bool" else values.type).to_numpy()
    return X


def _parquet_columns(path: str | Path, file: Any, roles: Roles) -> Columns:
    names = file.schema_arrow.names
    return choose_columns(path, names, len(names), target=roles.target, drop=roles.drop)


def _row_groups(file: Any) -> NDArray[np.intp]:
    """Return the first rows of all row groups of a Parquet file, and the number of rows."""
    counts = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)


# How shards of each format are scanned, and their blocks loaded.
SHARD_FORMATS: dict[str, tuple[Callable[[Path, Roles], Scan], Callable[[ShardBlock], Any]]] = {
    "npz": (_scan_npz, _load_npz),
    "npy": (_scan_npy, _load_npy),
    "parquet": (_scan_parquet, _load_parquet),
}


def _check_alike(first: Scan, scan: Scan) -> None:
    """Refuse responses that do not fit the rows, and shards that do not make one matrix."""
    y = scan.y
    if y is not None and len(y) != scan.rows:
        raise InvalidInputError(
            f"{scan.path} has {scan.rows} rows but y has {len(y)}; give one response per row."
        )
    if y is not None and y.dtype.kind == "f" and not np.isfinite(y).all():
        row = int(np.argmin(np.isfinite(y).reshape(len(y), -1).all(axis=1)))
        raise InvalidInputError(
            f"{scan.path} holds NaN or infinity in the target of row {row + 1}, but every number "
            "must be finite; fill in or leave out such rows first."
        )
    kinds = [
        None if own.y is None else (own.y.dtype.kind, own.y.shape[1:]) for own in (first, scan)
    ]
    facts = (
        ("a number of columns", first.columns, scan.columns),
        ("names of columns", first.names, scan.names),
        ("a storage, sparse or dense,", first.sparse, scan.sparse),
        ("a type of numbers (give dtype)", first.dtype, scan.dtype),
        ("a kind of target", *kinds),
    )
    for what, one, other in facts:
        if one != other:
            raise InvalidInputError(
                f"{scan.path} has {what} that {first.path} has not ({str(other)[:60]} and "
                f"{str(one)[:60]}); give shards that are parts of one matrix."
            )


def _cut(found: Scan, memory: int, strict: str | None) -> Iterator[tuple[int, int]]:
    """Yield the first and last rows of blocks that can be read and multiplied within `memory`.

    A block that cannot be made so small is an error only if `strict` has the limit as the user
    wrote it.
    """
    row_bytes = COPIES * (found.n_bytes / found.rows + PRODUCTS)
    most = max(1, int(memory / row_bytes))
    if found.cuts is None:
        bounds = [*range(0, found.rows, most), found.rows]
    else:
        bounds, cuts = [0], np.unique(found.cuts)
        while bounds[-1] < found.rows:
            later = cuts[cuts > bounds[-1]]
            fitting = later[later <= bounds[-1] + most]
            bounds.append(int(fitting[-1] if len(fitting) else later[0]))
    for start, stop in pairwise(bounds):
        needed = (stop - start) * row_bytes
        if strict is not None and needed > memory:
            what = "one row" if stop - start == 1 else (
                "the file, which is read whole," if found.path.suffix == ".npz" else "a row group"
            )  # fmt: skip
            raise InvalidInputError(
                f"{found.path} cannot be read within the memory of {strict}: {what} needs "
                f"{needed / 1e6:.3g} MB to be read and multiplied; write parts of at most {most} "
                "rows or npy files, or allow more memory."
            )
        yield start, stop


def bytes_of(memory: int | str) -> int:
    """Return an amount of memory in bytes; ``"1.5 GB"`` is 1500000000 and ``"2KiB"`` is 2048."""
    found = AMOUNT.fullmatch(str(memory)) if not isinstance(memory, bool) else None
    amount = 0
    if found is not None:
        thousands = 0 if found[2] is None else "kmgt".index(found[2].lower()) + 1
        amount = int(float(found[1]) * (1024 if found[3] else 1000) ** thousands)
    if amount < 1:
        remedy = "pass for example '500MB' or '2GB'"
        raise unaccepted("memory", memory, "a positive number of bytes", remedy)
    return amount
