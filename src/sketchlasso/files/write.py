"""The way out: one function that writes a table, completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from sketchlasso.errors import InvalidInputError
from sketchlasso.files.arrays import write_npy, write_npz
from sketchlasso.files.arrow import write_arrow, write_parquet
from sketchlasso.files.bag_of_words import write_bag_of_words
from sketchlasso.files.delimited import write_delimited
from sketchlasso.files.matrix_market import write_matrix_market
from sketchlasso.files.read import Format
from sketchlasso.files.source import format_of
from sketchlasso.files.svmlight import write_svmlight
from sketchlasso.files.table import Table, finite_or_refuse

__all__ = ["write_table"]

WRITERS: dict[str, Callable[[Path, Table], None]] = {
    "svmlight": write_svmlight,
    "bag-of-words": write_bag_of_words,
    "csv": write_delimited,
    "tsv": partial(write_delimited, separator="\t"),
    "parquet": write_parquet,
    "arrow": write_arrow,
    "npz": write_npz,
    "npy": write_npy,
    "matrix-market": write_matrix_market,
}


def write_table(
    path: str | os.PathLike[str],
    table: Table,
    *,
    format: Format | None = None,
) -> None:
    """Write a table to a file that :func:`read_table` reads back, number for number.

    The file appears under its name only when it is complete; an older one is replaced then.

    Parameters
    ----------
    path : path-like
        Its ending chooses the format, as for :func:`read_table`; ``.gz``, ``.bz2`` or ``.xz``
        after a text format compresses it.
    table : Table
        X of shape (n_samples, n_features). svmlight needs one number per row as target; CSV, TSV,
        Parquet and Arrow take one target, as the last column; bag-of-words (counts), npy
        (dense) and Matrix Market hold X alone. Names are kept by the formats that have them.
    format : {'svmlight', 'bag-of-words', 'csv', 'tsv', 'parquet', 'arrow', 'npz', 'npy', \
'matrix-market'}, optional
        What to write, where the name does not show it.

    Raises
    ------
    InvalidInputError
        The table does not fit the format.
    MissingExtraError
        Parquet or Arrow, and pyarrow is not installed.
    StoredFileError
        The file cannot be written.

    Examples
    --------
    >>> import numpy as np, sketchlasso as sl
    >>> table = sl.Table(np.eye(3), np.arange(3.0), ("a", "b", "c"))
    >>> sl.write_table("small.csv.gz", table)  # doctest: +SKIP
    """
    place = Path(path)
    chosen = format_of(place, format)
    if not isinstance(table, Table):
        raise InvalidInputError(
            f"table is a {type(table).__name__}, but a Table is needed; make one with "
            "sketchlasso.io.Table(X, y)."
        )
    finite_or_refuse(table.source or "the table", table.X, table.y, table.feature_names)
    WRITERS[chosen](place, table)
