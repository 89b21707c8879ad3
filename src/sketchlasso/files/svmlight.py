"""svmlight / LIBSVM text: one sample per line, ``label index:value index:value ...``.

Indices count from 1 (LIBSVM) or 0; in a file without the index 0 they count from 1. Text after a
``#`` is a comment, and ``qid:`` entries are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sketchlasso.errors import Argument, InvalidInputError, Part
from sketchlasso.files.cells import parses
from sketchlasso.files.options import ReadOptions
from sketchlasso.files.source import NoRowsError, Source
from sketchlasso.files.table import Table, as_csr, finite_or_refuse
from sketchlasso.storage import replacing
from sketchlasso.storage.door import check_shape

ROWS = 1024  # written at a time


def read_svmlight(source: Source, options: ReadOptions) -> Table:
    """Read a file into a sparse table."""
    from sklearn.datasets import load_svmlight_file  # slow to import

    zero_based = "auto" if options.zero_based is None else options.zero_based
    with source.open() as file:
        try:
            X, y = load_svmlight_file(
                file,
                n_features=options.n_features,
                dtype=options.type_of(np.float64),
                multilabel=options.multilabel,
                zero_based=zero_based,
            )
        except (ValueError, OverflowError) as problem:
            raise _explained(source, options, str(problem)) from problem
    check_shape(X.shape)
    if X.shape[0] == 0:
        raise NoRowsError(f"{source} holds no samples; give a file with data.")
    if X.nnz == 0 and options.n_features is None:
        raise InvalidInputError(
            f"{source} holds {X.shape[0]} labels but no index:value pair; check that it is "
            "svmlight text or pass ",
            Argument("n_features"),
            ".",
        )
    matrix, names = as_csr(X), None
    matrix.eliminate_zeros()
    if options.multilabel:
        from sklearn.preprocessing import MultiLabelBinarizer

        labels = MultiLabelBinarizer()
        y = labels.fit_transform(y).astype(np.float64)
        names = tuple(f"{label:g}" for label in labels.classes_)
    finite_or_refuse(str(source), matrix, y)
    return Table(matrix, y, None, names, str(source))


def write_svmlight(path: Path, table: Table) -> None:
    """Write a table at full precision, counting from 1.

    If the last column has no entry, an explicit zero in the first line keeps the number of
    features.
    """
    if table.y is None or table.y.ndim != 1 or table.y.dtype.kind != "f":
        held = "no target" if table.y is None else f"a target of {table.y.shape}, {table.y.dtype}"
        raise InvalidInputError(
            f"{path} cannot be written: svmlight lines begin with one number as target but the "
            f"table has {held}; give one number per row or write an npz file."
        )
    with replacing(path, compress=True) as file:
        for block in _lines(table, table.y):
            file.write("".join(block).encode("ascii"))


def _lines(table: Table, y: NDArray[Any]) -> Iterator[list[str]]:
    rows, columns = table.shape
    for start in range(0, rows, ROWS):
        part = sparse.csr_array(table.X[start : start + ROWS])
        lines = []
        for row, label in enumerate(y[start : start + ROWS].tolist()):
            chosen = slice(part.indptr[row], part.indptr[row + 1])
            indices = (part.indices[chosen] + 1).tolist()
            pairs = list(map("{}:{!r}".format, indices, part.data[chosen].tolist()))
            if start + row == 0 and (not indices or indices[-1] != columns):
                pairs.append(f"{columns}:0")
            lines.append(" ".join([repr(label), *pairs]) + "\n")
        yield lines


def _explained(source: Source, options: ReadOptions, problem: str) -> InvalidInputError:
    """Find the line that could not be read, after reading failed."""
    lowest = 1 if options.zero_based is False else 0
    with source.open() as file:
        for number, line in enumerate(file, start=1):
            words = line.partition(b"#")[0].decode("utf-8").split()
            if words and (fault := _fault(words, options.multilabel, lowest, f"line {number}")):
                return InvalidInputError(f"{source} has ", *fault)
    if "n_features" in problem:
        held = problem.split()[-2]
        return InvalidInputError(
            f"{source} uses {held} features but ",
            Argument("n_features", options.n_features),
            f" was given; give at least {held} or leave it out.",
        )
    return InvalidInputError(  # pragma: no cover - what the loader refuses is found above
        f"{source} could not be read as svmlight text ({problem}); check its format."
    )


def _fault(words: list[str], multilabel: bool, lowest: int, where: str) -> tuple[Part, ...]:
    """Return what is wrong in a line and the remedy, or nothing."""
    label, *pairs = words
    several = [] if ":" in label else label.split(",")
    if not all(map(parses, several)) or not (several or multilabel):
        return (f"the label {label!r} in {where}, but a number is needed; correct it.",)
    if len(several) > 1 and not multilabel:
        return (
            f"several labels ({label!r}) in {where}, but one is expected; pass ",
            Argument("multilabel", True),
            ", or ",
            Argument("format", "csv"),
            " if commas separate its columns.",
        )
    last = lowest - 1
    for pair in pairs if several else words:
        index, colon, value = pair.partition(":")
        if index == "qid":
            continue
        if not (colon and parses(index, int) and parses(value)):
            return (f"{pair!r} in {where}, but index:value with numbers is needed; correct it.",)
        if not lowest <= int(index) <= np.iinfo(np.int32).max:
            return (
                f"the index {index} in {where}, but indices from {lowest} to 2147483647 are "
                "accepted; correct it.",
            )
        if int(index) <= last:
            return (
                f"the index {index} after {last} in {where}, but they must increase; sort them.",
            )
        last = int(index)
    return ()
