"""A data matrix that stays in its files (npz, npy, Parquet), read one block of rows at a time."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
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
    PathLike,
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
    options = {"target": target, "drop": drop, "dtype": dtype}
    files, kinds = find_files(paths, format), []
    for path in files:
        with open_bytes(path) as stream:
            kinds.append(found_format(path, stream, format))
    if len(set(kinds)) > 1 or kinds[0] not in SHARD_FORMATS:
        raise InvalidInputError(
            f"the files are {' and '.join(sorted(set(kinds)))}, but data are read in blocks from "
            f"{', '.join(SHARD_FORMATS)} files, all of one format; convert them with read_table "
            "and write_table, or read them whole."
        )
    scan = SHARD_FORMATS[kinds[0]][0]
    shards = [shard for path in files if (shard := scan(path, options)).total]
    if not shards:
        raise InvalidInputError(f"{files[0]} and the other files hold no rows; give others.")
    first = shards[0]
    for shard in shards:
        _check_alike(first, shard)
    strict = None if memory is None else str(memory)
    responses = [shard.y for shard in shards if shard.y is not None]
    return Shards(
        BlockMatrix([block for shard in shards for block in shard.blocks(limit, strict)]),
        np.concatenate(responses) if responses else None,
        first.names,
        first.target_name,
        tuple(shard.path for shard in shards),
        tuple(shard.total for shard in shards),
    )


@dataclass(frozen=True, eq=False)
class Shard:
    """A file that was scanned, or rows start, ..., stop - 1 of it as a block of X.

    Its matrix, of `total` rows and `columns` features, takes `n_bytes` in memory as `dtype`. It
    can be read in parts between the rows `cuts` (c,); at any row where `cuts` is None. Blocks
    have neither cuts nor responses, and are small to send.
    """

    path: str
    format: str
    options: dict[str, Any]  # target, drop and dtype
    total: int
    columns: int
    dtype: np.dtype[Any]
    sparse: bool
    n_bytes: int
    cuts: NDArray[np.intp] | None = None
    y: NDArray[Any] | None = None
    names: tuple[str, ...] | None = None
    target_name: str | None = None
    start: int = 0
    stop: int = 0

    @property
    def rows(self) -> int:
        """Number of rows of the block."""
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

    def blocks(self, memory: int, strict: str | None) -> Iterator[Shard]:
        """Yield parts that can be read and multiplied within `memory`.

        A part that cannot be made so small is an error only if `strict` has the limit as written.
        """
        row_bytes = COPIES * (self.n_bytes / self.total + PRODUCTS)
        most = max(1, int(memory / row_bytes))
        bounds, cuts = [0], self.cuts
        while bounds[-1] < self.total:
            stop = min(bounds[-1] + most, self.total)
            if cuts is not None:
                fitting = cuts[(cuts > bounds[-1]) & (cuts <= stop)]
                stop = int(fitting[-1] if len(fitting) else cuts[cuts > bounds[-1]][0])
            bounds.append(stop)
        for start, stop in pairwise(bounds):
            needed = (stop - start) * row_bytes
            if strict is not None and needed > memory:
                raise InvalidInputError(
                    f"{self.path} cannot be read within the memory of {strict}: rows "
                    f"{start + 1} to {stop}, which are read together, need {needed / 1e6:.3g} MB "
                    f"to be read and multiplied; write parts of at most {most} rows or npy files, "
                    "or allow more memory."
                )
            yield replace(self, start=start, stop=stop, cuts=None, y=None, names=None)


def _scan_npz(path: Path, options: dict[str, Any]) -> Shard:
    with open_bytes(path) as stream:
        with failures(path, "npz"):
            stored = np.load(stream, allow_pickle=False)
            headers = {name: _npz_header(stored, name) for name in stored.files}
            is_sparse = {"format", "shape", "data"} <= headers.keys()
            matrices = [name for name, (shape, _) in headers.items() if len(shape) == 2]
            key = "data" if is_sparse else "X" if "X" in headers or not matrices else matrices[0]
            entries, stored_type = headers[key]
            rows, width = stored["shape"].tolist() if is_sparse else entries
            names = stored["feature_names"].tolist() if "feature_names" in headers else None
            label = stored["target_name"].tolist() if "target_name" in headers else None
            y = as_response(stored["y"]) if "y" in headers else None
        if options["target"] is not None and rows:  # a column of the matrix costs reading it
            stream.seek(0)
            table = read_npz(path, stream, target=options["target"], drop=options["drop"])
            y, names, label = table.y, table.feature_names, table.target_name
            width = table.shape[1]
        else:
            columns = choose_columns(path, names, width, drop=options["drop"])
            names, width = columns.feature_names, len(columns.features)
    dtype, count = real_type(options["dtype"], stored_type), math.prod(entries)
    n_bytes = count * dtype.itemsize + (4 * (count + rows + 1) if is_sparse else 0)
    if isinstance(label, list | tuple):
        label = label[0] if len(label) == 1 else None
    return Shard(
        str(path.absolute()), "npz", options, rows, width, dtype, is_sparse, n_bytes,
        np.array([0, rows]), y, names, label,
    )  # fmt: skip


def _npz_header(stored: Any, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    with stored.zip.open(f"{name}.npy") as member:
        first = np.lib.format.read_magic(member) == (1, 0)
        header: Any = getattr(np.lib.format, f"read_array_header_{1 if first else 2}_0")(member)
    return header[0], header[2]


def _load_npz(block: Shard) -> Any:
    with open_bytes(block.path) as stream:
        return read_npz(block.path, stream, **block.options).X


def _scan_npy(path: Path, options: dict[str, Any]) -> Shard:
    X, columns = _mapped(path, options)
    y = None if columns.target is None else np.array(X[:, columns.target], dtype=np.float64)
    dtype, shape = real_type(options["dtype"], X.dtype), (len(X), len(columns.features))
    n_bytes = math.prod(shape) * dtype.itemsize
    return Shard(str(path.absolute()), "npy", options, *shape, dtype, False, n_bytes, None, y)


def _load_npy(block: Shard) -> Any:
    X, columns = _mapped(block.path, block.options)
    if len(X) != block.total:
        return X  # refused, as the file has changed
    rows = X[block.start : block.stop]
    whole = len(columns.features) == X.shape[1]
    return rows if whole else np.ascontiguousarray(rows[:, list(columns.features)])


def _mapped(path: PathLike, options: dict[str, Any]) -> tuple[Any, Columns]:
    """Return the memory map of an npy file and the roles of its columns."""
    with failures(path, "npy"):
        X = np.load(path, mmap_mode="r")
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"{path} cannot be used: its array has shape {X.shape} and type {X.dtype}, but a "
            "matrix of real numbers is needed; save one."
        )
    roles = {name: options[name] for name in ("target", "drop")}
    return X, choose_columns(path, None, X.shape[1], **roles)


def _scan_parquet(path: Path, options: dict[str, Any]) -> Shard:
    pa, parquet = require("pyarrow", PARQUET), require("pyarrow.parquet", PARQUET)
    with failures(path, "parquet"), parquet.ParquetFile(path) as file:
        schema, cuts = file.schema_arrow, _row_groups(file)
        roles = {name: options[name] for name in ("target", "drop")}
        columns = choose_columns(path, schema.names, len(schema.names), **roles)
        name = columns.target_name
        column = None if name is None else parse_column(file.read([name]).column(name), Cells())
    kinds = [schema.types[j] for j in columns.features]
    numeric = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    others = [columns.name(j) for j, kind in zip(columns.features, kinds, strict=True)
              if not any(is_kind(kind) for is_kind in numeric)]  # fmt: skip
    if others:
        raise InvalidInputError(
            f"{path} has columns that are not numbers: {', '.join(others)}; drop them, or read the "
            "file whole: data in blocks hold numbers only, without gaps and categories."
        )
    y: NDArray[Any] | None = None
    if column is not None:
        if column.fault or column.missing.any():
            fault = column.fault or "a missing value"
            raise InvalidInputError(f"{path} has a target with {fault}, column {name!r}; mend it.")
        y = column.numbers if column.codes is None else np.array(column.levels)[column.codes]
    single = set(map(str, kinds)) == {"float"}
    dtype = real_type(options["dtype"], np.float32 if single else np.float64)
    shape = int(cuts[-1]), len(columns.features)
    return Shard(
        str(path.absolute()), "parquet", options, *shape, dtype, False,
        math.prod(shape) * dtype.itemsize, cuts, y, columns.feature_names, name,
    )  # fmt: skip


def _load_parquet(block: Shard) -> Any:
    parquet = require("pyarrow.parquet", PARQUET)
    with failures(block.path, "parquet"), parquet.ParquetFile(block.path) as file:
        cuts, names = _row_groups(file), file.schema_arrow.names
        roles = {name: block.options[name] for name in ("target", "drop")}
        columns = choose_columns(block.path, names, len(names), **roles).feature_names or ()
        groups = np.flatnonzero((cuts[:-1] >= block.start) & (cuts[:-1] < block.stop))
        data = file.read_row_groups(groups.tolist(), columns=list(columns))
    gaps = [name for name in columns if data.column(name).null_count]
    if gaps:
        raise InvalidInputError(
            f"{block.path} has missing values in column {gaps[0]!r}, but data in blocks hold "
            "numbers only; fill them in before writing the file, or read it whole with impute."
        )
    X = np.empty((data.num_rows, len(columns)), dtype=block.dtype)
    for j, name in enumerate(columns):
        X[:, j] = data.column(name).cast("float64", safe=False).to_numpy()
    return X


def _row_groups(file: Any) -> NDArray[np.intp]:
    """Return the first rows of all row groups of a Parquet file, and the number of rows."""
    counts = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)


# How shards of each format are scanned, and their blocks loaded.
SHARD_FORMATS: dict[str, Any] = {
    "npz": (_scan_npz, _load_npz),
    "npy": (_scan_npy, _load_npy),
    "parquet": (_scan_parquet, _load_parquet),
}


def _check_alike(first: Shard, shard: Shard) -> None:
    """Refuse responses that do not fit the rows, and shards that do not make one matrix."""
    y = shard.y
    if y is not None and len(y) != shard.total:
        raise InvalidInputError(
            f"{shard.path} has {shard.total} rows but y has {len(y)}; give one response per row."
        )
    if y is not None and y.dtype.kind == "f" and not np.isfinite(y).all():
        row = int(np.argmin(np.isfinite(y).reshape(len(y), -1).all(axis=1)))
        raise InvalidInputError(
            f"{shard.path} holds NaN or infinity in the target of row {row + 1}, but every number "
            "must be finite; fill in or leave out such rows first."
        )
    one, other = (
        {
            "number of columns": part.columns,
            "names of columns": part.names,
            "storage, sparse or dense,": part.sparse,
            "type of numbers (give dtype)": part.dtype,
            "kind of target": None if part.y is None else (part.y.dtype.kind, part.y.shape[1:]),
        }
        for part in (first, shard)
    )
    for what, value in other.items():
        if value != one[what]:
            raise InvalidInputError(
                f"{shard.path} has another {what} than {first.path} ({str(value)[:60]} and "
                f"{str(one[what])[:60]}); give shards that are parts of one matrix."
            )


def bytes_of(memory: int | str) -> int:
    """Return an amount of memory in bytes; ``"1.5 GB"`` is 1500000000 and ``"2KiB"`` is 2048."""
    amount = 0
    if match := AMOUNT.fullmatch(str(memory)):
        thousands = 0 if match[2] is None else "kmgt".index(match[2].lower()) + 1
        amount = int(float(match[1]) * (1024 if match[3] else 1000) ** thousands)
    if amount < 1:
        remedy = "pass for example '500MB' or '2GB'"
        raise unaccepted("memory", memory, "a positive number of bytes", remedy)
    return amount
