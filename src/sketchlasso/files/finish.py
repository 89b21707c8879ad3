"""From a matrix as it was stored to a table: target and dropped columns taken out, checked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sketchlasso.errors import InvalidInputError
from sketchlasso.files.columns import choose_columns
from sketchlasso.files.options import ReadOptions
from sketchlasso.files.source import NoRowsError, Source
from sketchlasso.files.table import Table, as_csr, as_real, finite_or_refuse

__all__ = ["check_matrix", "finished_table", "refuse_target"]


def finished_table(
    source: Source,
    X: Any,
    y: NDArray[Any] | None,
    names: Sequence[str] | None,
    target_name: Any,
    target: int | str | None,
    options: ReadOptions,
) -> Table:
    """Make a table of a matrix (m, n) and what was stored beside it."""
    check_matrix(source, X, "its matrix")
    columns = choose_columns(source, names, X.shape[1], target, options.drop)
    dtype = options.real_type()
    whole = as_csr(X, dtype) if sparse.issparse(X) else as_real(np.asarray(X), dtype)
    if columns.target is not None:
        chosen: Any = whole[:, [columns.target]]
        y = (chosen if isinstance(chosen, np.ndarray) else chosen.toarray()).ravel()
        target_name = columns.target_name
    if len(columns.features) < X.shape[1]:
        whole = whole[:, list(columns.features)]
    table = Table(whole, y, columns.feature_names, target_name, str(source))
    finite_or_refuse(str(source), table.X, table.y, table.feature_names)
    return table


def refuse_target(path: Path, table: Table) -> None:
    """Refuse to write a target into a file that holds a matrix alone."""
    if table.y is not None:
        raise InvalidInputError(
            f"{path} cannot be written: such a file holds a matrix and no target; write an npz "
            "file, or a Table without y."
        )


def check_matrix(source: Source, X: Any, what: str) -> None:
    """Refuse what is no matrix of real numbers; `X` is an array or its header."""
    if X.ndim != 2 or X.dtype.kind not in "biuf" or 0 in X.shape:
        empty = X.ndim == 2 and X.dtype.kind in "biuf" and X.shape[0] == 0 < X.shape[1]
        raise (NoRowsError if empty else InvalidInputError)(
            f"{source} cannot be used: {what} has shape {X.shape} and type {X.dtype}, but a matrix "
            "of real numbers with at least one row and column is needed; save it so."
        )
