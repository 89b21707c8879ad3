"""Read and write tables in any format that the library understands."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

from numpy.typing import DTypeLike

from sketchlasso.errors import InvalidInputError
from sketchlasso.files.arrays import read_npy, read_npz, write_npy, write_npz
from sketchlasso.files.arrow import read_arrow, write_arrow
from sketchlasso.files.bag_of_words import read_bag_of_words, write_bag_of_words
from sketchlasso.files.delimited import read_delimited, write_delimited
from sketchlasso.files.encoding import Encoding
from sketchlasso.files.matrix_market import read_matrix_market, write_matrix_market
from sketchlasso.files.options import ReadOptions
from sketchlasso.files.source import Source, format_of
from sketchlasso.files.svmlight import read_svmlight, write_svmlight
from sketchlasso.files.table import Table, finite_or_refuse

Format = Literal[
    "svmlight", "bag-of-words", "csv", "tsv", "parquet", "arrow", "npz", "npy", "matrix-market"
]

Reader: TypeAlias = Callable[[Source, ReadOptions], Table]
Writer: TypeAlias = Callable[[Path, Table], None]

HANDLERS: dict[str, tuple[Reader, Writer]] = {
    "svmlight": (read_svmlight, write_svmlight),
    "bag-of-words": (read_bag_of_words, write_bag_of_words),
    "csv": (read_delimited, write_delimited),
    "tsv": (read_delimited, partial(write_delimited, separator="\t")),
    "parquet": (read_arrow, partial(write_arrow, parquet=True)),
    "arrow": (read_arrow, write_arrow),
    "npz": (read_npz, write_npz),
    "npy": (read_npy, write_npy),
    "matrix-market": (read_matrix_market, write_matrix_market),
}


def read_table(
    path: str | os.PathLike[str],
    *,
    target: str | int | None = None,
    drop: str | int | Sequence[str | int] = (),
    format: Format | None = None,
    separator: str | None = None,
    header: bool | None = None,
    n_features: int | None = None,
    zero_based: bool | None = None,
    multilabel: bool = False,
    vocabulary: str | os.PathLike[str] | None = None,
    dtype: DTypeLike | None = None,
    impute: Literal["mean", "median", "drop"] | None = None,
    encoding: Encoding | None = None,
    id: str | int | None = None,
) -> Table:
    """Read a data matrix, its responses and their names from a file.

    The format follows from the name: ``.svm``, ``.svmlight``, ``.libsvm`` (svmlight / LIBSVM),
    ``docword.NAME.txt`` (UCI bag-of-words, with ``vocab.NAME.txt`` beside it), ``.csv``,
    ``.tsv``, ``.mtx`` (Matrix Market), each also with ``.gz``, ``.bz2`` or ``.xz`` after it;
    ``.npz``, ``.npy`` (memory-mapped), ``.parquet``, ``.feather`` and ``.arrow`` (these three
    need the extra `files`).

    Columns of text in CSV, TSV, Parquet and Arrow files are categories: each level becomes a
    feature of zeros and ones, named ``city=Oslo`` (of two levels the second alone). Decimal
    commas are read where the separator is not a comma.

    Parameters
    ----------
    path : path-like
        ``-`` reads standard input, as CSV unless `format` says otherwise.
    target : str, int or None
        The response: a column's name or position (from 0, negative from the end); of an npz
        file, the name of an array (y if it is there) or a column of X. svmlight files have their
        own, bag-of-words files have none.
    drop : str, int or sequence of them
        Columns to leave out, by name or position.
    format : {'svmlight', 'bag-of-words', 'csv', 'tsv', 'parquet', 'arrow', 'npz', 'npy', \
'matrix-market'}, optional
        The format, where the file's name does not show it.
    separator : str, optional
        The character between the cells of a text table; detected by default.
    header : bool, optional
        Whether a text table begins with names; detected by default.
    n_features : int, optional
        Number of columns of an svmlight file; the largest index by default.
    zero_based : bool, optional
        Whether indices of an svmlight file count from 0; by default if the index 0 occurs.
    multilabel : bool
        Whether lines of an svmlight file begin with several labels, separated by commas; y then
        has one column per label, 1 where a sample has it and 0 elsewhere.
    vocabulary : path-like, optional
        The words of a bag-of-words file, one per line.
    dtype : {float32, float64}, optional
        By default float32 where the file holds it, else float64.
    impute : {'mean', 'median', 'drop'}, optional
        What is done about missing values, which are refused by default: fill in the mean or
        median of the column (of a category the most frequent level), or leave out the row. Rows
        without a target are left out in any case. CSV, TSV, Parquet and Arrow files only.
    encoding : Encoding, optional
        `encoding` of an earlier table: its columns are read by name and become features by its
        rules, and all others are ignored.
    id : str, int or None
        The column that identifies rows: it is not a feature, and is returned as `ids`.

    Returns
    -------
    Table
        X of shape (n_samples, n_features), y of shape (n_samples,), (n_samples, n_labels) or
        None.

    Raises
    ------
    StoredFileError
        The file is missing, truncated, damaged, or not of its format.
    InvalidInputError
        What it holds cannot be used: missing values, dates, text among numbers, rows of
        different lengths, names twice, no such target.
    MissingExtraError
        Parquet or Arrow, and pyarrow is not installed.

    Examples
    --------
    >>> import sketchlasso as sl
    >>> table = sl.io.read_table("houses.csv", target="price")  # doctest: +SKIP
    >>> table.X.shape, table.feature_names  # doctest: +SKIP
    """
    source = Source.of(path, format)
    options = ReadOptions(
        target=target,
        drop=(drop,) if isinstance(drop, str | int) else tuple(drop),
        separator=separator,
        header=header,
        n_features=n_features,
        zero_based=zero_based,
        multilabel=multilabel,
        vocabulary=vocabulary,
        dtype=dtype,
        impute=impute,
        encoding=encoding,
        id=id,
        mixed=True,
    )
    options.check(source)
    return read_source(source, options)


def read_source(source: Source, options: ReadOptions) -> Table:
    """Read a file with the reader of its format; every failure becomes one sentence."""
    with source.guarded():
        return HANDLERS[source.format][0](source, options)


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
    >>> table = sl.io.Table(np.eye(3), np.arange(3.0), ("a", "b", "c"))
    >>> sl.io.write_table("small.csv.gz", table)  # doctest: +SKIP
    """
    place = Path(path)
    chosen = format_of(place, format)
    if not isinstance(table, Table):
        raise InvalidInputError(
            f"table is a {type(table).__name__}, but a Table is needed; make one with "
            "sketchlasso.io.Table(X, y)."
        )
    finite_or_refuse(table.source or "the table", table.X, table.y, table.feature_names)
    HANDLERS[chosen][1](place, table)
