"""Matrix Market text: sparse where it lists coordinates, dense where it lists all numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

from sketchlasso.errors import StoredFileError
from sketchlasso.files.finish import finished_table, refuse_target
from sketchlasso.files.options import ReadOptions
from sketchlasso.files.source import Source
from sketchlasso.files.table import Table
from sketchlasso.storage import replacing
from sketchlasso.storage.door import UnfitError, check_memory, check_shape

__all__ = ["read_matrix_market", "write_matrix_market"]

# Longest line before the numbers begin, and bytes of an entry in memory (two indices, a number).
LINE, ENTRY = 1 << 16, 24


def read_matrix_market(source: Source, options: ReadOptions) -> Table:
    """Read Matrix Market text: sparse where it lists coordinates, dense where it lists all.

    Parameters
    ----------
    source : Source
    options : ReadOptions
        target, drop and dtype count; columns are given by position.

    Returns
    -------
    Table
    """
    from scipy.io import mmread  # not needed to import the library

    with source.open() as file:
        _check_sizes(source, file)
    with source.open() as file:
        try:
            X = mmread(file)
        except (ValueError, OverflowError) as problem:
            raise source.misread(problem) from problem
    return finished_table(source, X, None, None, None, options.target, options)


def write_matrix_market(path: Path, table: Table) -> None:
    """Write X: coordinates where it is sparse, all numbers where it is dense."""
    from scipy.io import mmwrite  # not needed to import the library

    refuse_target(path, table)
    with replacing(path, compress=True) as file:
        mmwrite(file, table.X, symmetry="general")


def _check_sizes(source: Source, file: BinaryIO) -> None:
    """Compare the sizes before the numbers with the bytes of the file, and with memory."""
    coordinates = b"coordinate" in file.readline(LINE).lower()
    line = file.readline(LINE)
    while line.startswith(b"%") or (line and not line.strip()):
        line = file.readline(LINE)
    sizes = _sizes(source, line, 3 if coordinates else 2)
    rows, columns = check_shape(sizes[:2])
    entries = sizes[2] if coordinates else rows * columns
    most = source.most_bytes()
    if entries > most:
        raise UnfitError(f"{entries} entries are declared, but at most {most} bytes are there")
    check_memory(ENTRY * entries, f"{entries} entries")


def _sizes(source: Source, line: bytes, count: int) -> list[int]:
    words: list[Any] = line.split()
    if len(words) != count or not all(word.isdigit() and len(word) < 20 for word in words):
        shown = line.strip()[:40].decode("utf-8", "replace")
        raise StoredFileError(
            f"{source} holds {shown!r} where its sizes belong, but {count} whole numbers are "
            "needed; correct it or fetch the file again."
        )
    return [int(word) for word in words]
