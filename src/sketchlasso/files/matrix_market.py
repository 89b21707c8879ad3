"""Matrix Market text: sparse where it lists coordinates, dense where it lists all numbers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from sketchlasso.errors import StoredFileError
from sketchlasso.files.arrays import check_matrix, finished_table
from sketchlasso.files.bag_of_words import line_blocks, parse_numbers
from sketchlasso.files.cells import parses
from sketchlasso.files.options import ReadOptions
from sketchlasso.files.source import Source
from sketchlasso.files.table import GrowingArray, Table, refuse_target
from sketchlasso.storage import replacing
from sketchlasso.storage.door import ArrayHeader, UnfitError, check_memory, check_shape
from sketchlasso.storage.sparse import checked_sparse

# Longest line before the numbers begin, and bytes of an entry in memory (two indices, a number).
LINE, ENTRY = 1 << 16, 24
# What the first line may say: layout, field and symmetry.
KINDS = (
    ("coordinate", "array"),
    ("real", "integer", "unsigned-integer", "double", "pattern", "complex"),
    ("general", "symmetric", "skew-symmetric", "hermitian"),
)


@dataclass(frozen=True)
class Banner:
    """The declaration before the numbers: layout, field, symmetry and sizes."""

    layout: str
    field: str
    symmetry: str
    shape: tuple[int, int]
    entries: int

    @property
    def width(self) -> int:
        """Numbers of an entry."""
        return 1 if self.layout == "array" else 2 if self.field == "pattern" else 3


def read_matrix_market(source: Source, options: ReadOptions) -> Table:
    """Read a matrix, without SciPy's reader: damaged text can crash the process there."""
    with source.open() as file:
        banner = _banner(source, file)
        if banner.field == "complex":
            check_matrix(
                source, ArrayHeader(banner.shape, np.dtype(complex), False, 0), "its matrix"
            )
        numbers = _numbers(source, file, banner)
    X = _dense(banner, numbers) if banner.layout == "array" else _sparse(banner, numbers)
    return finished_table(source, X, options)


def write_matrix_market(path: Path, table: Table) -> None:
    """Write X: coordinates where it is sparse, all numbers where it is dense."""
    from scipy.io import mmwrite  # not needed to import the library

    refuse_target(path, table)
    with replacing(path, compress=True) as file:
        mmwrite(file, table.X, symmetry="general")


def _banner(source: Source, file: BinaryIO) -> Banner:
    """Read what is declared, and compare it with the bytes of the file and with memory."""
    words = file.readline(LINE).decode("latin1").lower().split()
    kinds = words[2:] if len(words) == 5 and words[1] == "matrix" else ["", "", ""]
    for word, known in zip(kinds, KINDS, strict=True):
        if word not in known:
            raise StoredFileError(
                f"{source} begins with {' '.join(words)[:60]!r}, but after '%%MatrixMarket matrix' "
                f"one of {', '.join(known)} is needed; correct it or fetch the file again."
            )
    layout, field, symmetry = kinds
    line = file.readline(LINE)
    while line.startswith(b"%") or (line and not line.strip()):
        line = file.readline(LINE)
    words, count = line.decode("latin1").split(), 3 if layout == "coordinate" else 2
    if len(words) != count or not all(word.isdecimal() and len(word) < 20 for word in words):
        shown = line.strip()[:40].decode("utf-8", "replace")
        raise StoredFileError(
            f"{source} holds {shown!r} where its sizes belong, but {count} whole numbers are "
            "needed; correct it or fetch the file again."
        )
    sizes = [int(word) for word in words]
    rows, columns = check_shape(sizes[:2])
    if symmetry != "general" and rows != columns:
        raise UnfitError(f"a {symmetry} matrix is declared with {rows} x {columns} entries")
    entries = sizes[2] if layout == "coordinate" else rows * columns
    if layout == "array" and symmetry != "general":
        entries = rows * (rows - 1) // 2 + (rows if symmetry != "skew-symmetric" else 0)
    source.check_declared(entries)
    check_memory(ENTRY * entries, f"{entries} entries")
    return Banner(layout, field, symmetry, (rows, columns), entries)


def _numbers(source: Source, file: BinaryIO, banner: Banner) -> NDArray[np.float64]:
    """Return the numbers (entries, width) after the sizes."""
    found, wanted = GrowingArray(np.float64), banner.entries * banner.width
    for block in line_blocks(file):
        numbers = parse_numbers(block, np.float64)
        if numbers is None:
            wrong = next((word for word in block.split() if not parses(word) or b"_" in word), b"")
            shown = wrong[:40].decode("utf-8", "replace")
            raise source.damaged(f"holds {shown!r} where a number belongs")
        found.append(numbers)
        if len(found) > wanted:
            break
    source.check_count(len(found), wanted, "numbers that its sizes promise")
    return found.take().reshape(banner.entries, banner.width)


def _sparse(banner: Banner, numbers: NDArray[np.float64]) -> Any:
    """Return the matrix (m, n) of coordinates that count from 1."""
    places = numbers[:, :2]
    if not np.all((places == np.rint(places)) & (places >= 1) & (places <= banner.shape)):
        wrong = numbers[np.argmax(~np.all((places >= 1) & (places <= banner.shape), axis=1))]
        raise UnfitError(
            f"row {wrong[0]:.17g}, column {wrong[1]:.17g} is listed in a matrix of {banner.shape}"
        )
    row, col = (places.T - 1).astype(np.int64)
    data = np.ones(len(numbers)) if banner.field == "pattern" else numbers[:, 2].copy()
    if banner.symmetry != "general":
        other = row != col
        sign = -1.0 if banner.symmetry == "skew-symmetric" else 1.0
        data = np.concatenate([data, sign * data[other]])
        row, col = np.concatenate([row, col[other]]), np.concatenate([col, row[other]])
    parts = {"data": data, "row": row, "col": col, "shape": np.array(banner.shape)}
    return checked_sparse("coo", parts)


def _dense(banner: Banner, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the matrix (m, n) whose columns are listed one after another."""
    rows, columns = banner.shape
    values = numbers.ravel()
    if banner.symmetry == "general":
        return np.ascontiguousarray(values.reshape(columns, rows).T)
    skew = banner.symmetry == "skew-symmetric"
    # The lower triangle listed by columns is the transposed upper triangle by rows.
    col, row = np.triu_indices(rows, 1 if skew else 0)
    X = np.zeros(banner.shape)
    X[col, row] = -values if skew else values
    X[row, col] = values
    return X
