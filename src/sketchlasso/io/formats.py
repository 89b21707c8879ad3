"""Read and write tables in any format that the library understands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.io.columns import Cells
from sketchlasso.io.encoding import Encoding
from sketchlasso.io.matrices import (
    read_bag_of_words,
    read_matrix_market,
    read_npy,
    read_npz,
    read_svmlight,
    write_bag_of_words,
    write_matrix_market,
    write_npy,
    write_npz,
    write_svmlight,
)
from sketchlasso.io.source import (
    TABLES,
    Format,
    PathLike,
    Paths,
    failures,
    find_files,
    format_of,
    found_format,
    open_bytes,
    title_of,
)
from sketchlasso.io.table import Column, Table, real_type, refuse_infinite
from sketchlasso.io.tables import TextLayout, read_named_columns, write_named_columns

READERS: dict[str, Any] = {
    "npz": read_npz,
    "npy": read_npy,
    "matrix-market": read_matrix_market,
    "bag-of-words": read_bag_of_words,
}
WRITERS: dict[str, Any] = {
    "npz": write_npz,
    "npy": write_npy,
    "matrix-market": write_matrix_market,
    "svmlight": write_svmlight,
    "bag-of-words": write_bag_of_words,
    **{name: partial(write_named_columns, format=name) for name in TABLES if name != "jsonl"},
}
# The options that formats other than tables understand.
UNDERSTOOD = {
    "npz": {"target", "drop", "keep", "dtype", "encoding"},
    "npy": {"target", "drop", "keep", "dtype", "encoding"},
    "matrix-market": {"target", "drop", "keep", "dtype", "encoding"},
    "svmlight": {"index_base", "n_features", "multilabel", "dtype", "encoding"},
    "bag-of-words": {"target", "drop", "keep", "vocabulary", "dtype", "encoding"},
}
# Those of text tables that say how cells are split and read.
TEXT = {"na", "decimal", "thousands", "clean", "separator", "header"}
MATRICES_ONLY = {"index_base", "n_features", "multilabel", "vocabulary"}


def read_table(
    path: Paths,
    *,
    target: Column | None = None,
    drop: Column | Sequence[Column] = (),
    keep: Column | Sequence[Column] | None = None,
    id: Column | None = None,
    categorical: Column | Sequence[Column] = (),
    impute: Literal["mean", "median", "drop"] | None = None,
    na: str | Sequence[str] | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    clean: bool = False,
    drop_constant: bool = False,
    drop_duplicates: bool = False,
    format: Format | None = None,
    separator: str | None = None,
    header: bool | None = None,
    text_encoding: str = "utf-8",
    dtype: DTypeLike | None = None,
    encoding: Encoding | None = None,
    index_base: int | None = None,
    n_features: int | None = None,
    multilabel: bool = False,
    vocabulary: PathLike | None = None,
) -> Table:
    """Read a data matrix, its responses and their names from a file, or from several.

    The format follows from the name: ``.csv``, ``.tsv``, ``.jsonl``, ``.svm``, ``.svmlight``,
    ``.libsvm`` (svmlight / LIBSVM), ``docword.NAME.txt`` (UCI bag-of-words), ``.mtx`` (Matrix
    Market), each also compressed (``.gz``, ``.bz2``, ``.xz``); ``.npz``, ``.npy`` (memory-mapped),
    ``.parquet``, ``.feather`` and ``.arrow``. Tables with named columns need pyarrow, from the
    extra `cli`.

    In these tables, columns of text are categories: each level becomes a feature of zeros and
    ones, named ``city=Oslo`` (of two levels the second alone). Numbers are what a spreadsheet takes
    for numbers; a column with codes such as 007 is text. Decimal commas are read where the
    separator is not a comma.

    Parameters
    ----------
    path : path-like, or sequence of them
        A file, or several, a folder or a pattern whose rows follow each other. ``-`` reads
        standard input, as CSV unless its first bytes or `format` say otherwise.
    target : str, int or None
        The response: a column's name or position (from 0, negative from the end; a number in text,
        ``"1"``, counts from 1); of an npz file, the name of an array (y if it is there) or a
        column of X. svmlight files have their own.
    drop, keep : str, int or sequence of them
        Columns to leave out, or the only ones to take, by name, position or pattern (``"x*"``);
        text may list several with commas.
    id : str, int or None
        The column that identifies rows: it is not a feature, and is returned as `ids`.
    categorical : str, int or sequence of them
        Columns whose numbers are levels of a category.
    impute : {'mean', 'median', 'drop'}, optional
        What is done about missing values, which are refused by default: fill in the mean or
        median of the column (of a category the most frequent level), or leave out the row. Rows
        without a target are left out in any case.
    na : str or sequence of str, optional
        Words for missing values, beside the empty cell and instead of the usual ones: NA, N/A, NaN
        and null, and among numbers also none, missing, a question mark, dash or point.
    decimal, thousands : str, optional
        The decimal mark, and the mark between groups of three digits.
    clean : bool
        Whether to read numbers with a currency or percent sign or with separators, and dates as
        days since 1970-01-01, in columns that can be read in one way only; `notes` say what was
        done.
    drop_constant, drop_duplicates : bool
        Whether to leave out columns that are constant, or equal to others up to shift and scale.
    format : {'svmlight', 'bag-of-words', 'csv', 'tsv', 'jsonl', 'parquet', 'arrow', 'npz', 'npy', \
'matrix-market'}, optional
        The format, where the file's name does not show it.
    separator, header : str and bool, optional
        The character between the cells of a text table, and whether it begins with names; detected
        by default.
    text_encoding : str
        How text is stored, such as ``"latin-1"``.
    dtype : {float32, float64}, optional
        By default float32 where the file holds it, else float64.
    encoding : Encoding, optional
        `encoding` of an earlier table: its columns are read by name and become features by its
        rules, and all others are ignored.
    index_base, n_features : int, optional
        The index of the first feature of an svmlight file, and their number; by default those of
        `encoding`, else 0 if the index 0 occurs and 1 otherwise, and the largest index. Features
        beyond are ignored, and `notes` say so.
    multilabel : bool
        Whether lines of an svmlight file begin with several labels, separated by commas; y then
        has one column per label, 1 where a sample has it and 0 elsewhere.
    vocabulary : path-like, optional
        The words of a bag-of-words file, one per line; by default ``vocab.NAME.txt`` beside it.

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
        What it holds cannot be used. All columns that cannot be used are named at once.
    MissingExtraError
        The table needs pyarrow, which is not installed.

    Examples
    --------
    >>> import sketchlasso as sl
    >>> table = sl.io.read_table("houses.csv", target="price")  # doctest: +SKIP
    """
    if impute not in (None, "mean", "median", "drop"):
        raise unaccepted("impute", impute, "'mean', 'median' or 'drop'")
    for name, mark in (("decimal", decimal), ("thousands", thousands), ("separator", separator)):
        if mark is not None and (len(mark) != 1 or mark.isalnum()):
            raise unaccepted(name, mark, "one character, no letter or digit")
    real_type(dtype)
    options: dict[str, Any] = {
        "target": target, "drop": drop, "keep": keep, "id": id, "categorical": categorical,
        "impute": impute, "na": na, "decimal": decimal, "thousands": thousands, "clean": clean,
        "drop_constant": drop_constant, "drop_duplicates": drop_duplicates,
        "separator": separator, "header": header, "dtype": dtype, "encoding": encoding,
        "index_base": index_base, "n_features": n_features, "multilabel": multilabel,
        "vocabulary": vocabulary,
    }  # fmt: skip
    options = {
        name: value
        for name, value in options.items()
        if not (value is None or value is False or value in ((), []))
    }
    files = find_files(path, format)
    matrix = _read_matrices(files, format, options)
    if matrix is not None:
        return matrix
    words = None if na is None else (na,) if isinstance(na, str) else tuple(na)
    return read_named_columns(
        files,
        cells=Cells(words, decimal, thousands, clean),
        layout=TextLayout(separator, header, text_encoding),
        format=format,
        **{name: value for name, value in options.items() if name not in TEXT},
    )


def _read_matrices(
    files: Sequence[Path], format: str | None, options: dict[str, Any]
) -> Table | None:
    """Return files that are no tables as one; refuse options that do not apply to them."""
    tables, lines = [], []
    for file in files:
        with open_bytes(file) as stream:
            kind = found_format(file, stream, format)
            refused = options.keys() & MATRICES_ONLY
            if kind not in TABLES:
                refused = options.keys() - UNDERSTOOD[kind]
            if refused:
                raise InvalidInputError(
                    f"{sorted(refused)[0]} does not apply to the {kind} file {title_of(file)}; "
                    "leave it out."
                )
            if kind == "svmlight":
                with failures(file):
                    lines.append(stream.read())
            elif kind not in TABLES:
                tables.append(READERS[kind](file, stream, **options))
    if lines:  # the first index and the number of features are those of all files
        more = f" and {len(lines) - 1} more" if len(lines) > 1 else ""
        return read_svmlight(f"{title_of(files[0])}{more}", b"\n".join(lines), **options)
    return _stacked(tables) if tables else None


def _stacked(tables: Sequence[Table]) -> Table:
    """Return matrices of several files as one."""
    first = tables[0]
    if len(tables) == 1:
        return first
    for table in tables[1:]:
        same = (table.feature_names, table.shape[1]) == (first.feature_names, first.shape[1])
        if not same or (table.y is None) != (first.y is None):
            raise InvalidInputError(
                f"{table.source} has other columns than {first.source}, or a target where the "
                "other has none; give files of the same kind."
            )
    parts: list[Any] = [table.X for table in tables]
    dense = isinstance(parts[0], np.ndarray)
    y, ids = (
        None if getattr(first, name) is None
        else np.concatenate([getattr(table, name) for table in tables])
        for name in ("y", "ids")
    )  # fmt: skip
    return replace(
        first,
        X=np.concatenate(parts) if dense else sparse.vstack(parts, format="csr"),
        y=y,
        ids=ids,
        source=f"{first.source} and {len(tables) - 1} more",
    )


def write_table(path: PathLike, table: Table, *, format: Format | None = None) -> None:
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
        CSV, TSV, Parquet or Arrow, and pyarrow is not installed.
    StoredFileError
        The file cannot be written.

    Examples
    --------
    >>> import numpy as np, sketchlasso as sl
    >>> table = sl.io.Table(np.eye(3), np.arange(3.0), ("a", "b", "c"))
    >>> sl.io.write_table("small.csv.gz", table)  # doctest: +SKIP
    """
    place, kind = Path(path), format_of(path, format)
    if kind not in WRITERS:
        raise InvalidInputError(f"{path} cannot be written: write {', '.join(WRITERS)} instead.")
    if not isinstance(table, Table):
        raise InvalidInputError(
            f"table is a {type(table).__name__}, but a Table is needed; make one with "
            "sketchlasso.io.Table(X, y)."
        )
    refuse_infinite(table)
    WRITERS[kind](place, table)
