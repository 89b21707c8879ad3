"""Rows of a shard as a handle that travels: small to send, read where it is needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sketchlasso.data.block_work import PRODUCT_COLUMNS
from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.files.arrow import read_arrow
from sketchlasso.files.columns import choose_columns
from sketchlasso.files.npz import map_rows, npy_header
from sketchlasso.files.options import ReadOptions
from sketchlasso.files.read import read_source
from sketchlasso.files.scan import Scan
from sketchlasso.files.source import Source
from sketchlasso.files.table import TableMatrix, as_real
from sketchlasso.storage.memory import in_words

__all__ = ["COPIES", "PRODUCTS", "ShardBlock", "cut_into_blocks"]

# What work on a block takes at most, in blocks: itself, a copy while it is read, rows chosen from
# it, and products; and the bytes of products that a row is counted with, however short it is.
COPIES = 4
PRODUCTS = 8 * PRODUCT_COLUMNS


@dataclass(frozen=True)
class ShardBlock:
    """Rows start, ..., stop - 1 of a file.

    Attributes
    ----------
    path : str
    format : str
    options : ReadOptions
        How the file is read; the same for all shards.
    start, stop : int
    total : int
        Rows of the whole file, when it was looked at.
    groups : tuple of int, or None
        Row groups of a Parquet file that the rows are.
    columns : int
        Features.
    dtype : dtype
    sparse : bool
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
        """How the block is called in a sentence."""
        if self.rows == self.total:
            return self.path
        return f"{self.path}, rows {self.start + 1} to {self.stop}"

    def load(self) -> TableMatrix:
        """Read the rows: an array or csr_array of shape (rows, columns) and type `dtype`."""
        source = Source.of(self.path, self.format)
        if self.format == "npy":
            X: Any = self._mapped(source)
        elif self.groups is not None:
            with source.guarded():
                X = read_arrow(source, self.options, self.groups).X
        else:
            X = read_source(source, self.options).X
        dense = isinstance(X, np.ndarray)
        if X.shape != (self.rows, self.columns) or dense == self.sparse:
            raise source.damaged("has changed since it was first looked at")
        return as_real(X, self.dtype) if dense else X.astype(self.dtype, copy=False)

    def _mapped(self, source: Source) -> Any:
        """The rows of an npy file, of the columns that are features."""
        header = npy_header(source)
        if header.shape[0] != self.total:
            raise source.damaged("has changed since it was first looked at")
        width = header.shape[1]
        rows = map_rows(source, header, self.start, self.stop)
        kept = choose_columns(source, None, width, self.options.target, self.options.drop).features
        if len(kept) == width:
            return rows
        if kept == tuple(range(kept[0], kept[-1] + 1)):
            return np.ascontiguousarray(rows[:, kept[0] : kept[-1] + 1])
        return np.asarray(rows[:, list(kept)])


def cut_into_blocks(
    found: Scan, options: ReadOptions, memory: int, strict: str | None
) -> Iterator[ShardBlock]:
    """Blocks of a shard, small enough to be worked on within a budget where they can be cut.

    Parameters
    ----------
    found : Scan
    options : ReadOptions
    memory : int
        Bytes that reading a block and multiplying it may take.
    strict : str or None
        What the memory was limited to, as it was said, if a block that needs more is an error.
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
