"""Reading a data set from a folder where it lies as compact npz files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from sketchlasso.errors import StoredFileError
from sketchlasso.files.catalogue import Layout, Part
from sketchlasso.files.npz import open_npz
from sketchlasso.files.source import Source
from sketchlasso.files.table import Table, as_real, finite_or_refuse

__all__ = ["missing_file", "read_layout"]


def missing_file(folder: Path, files: Sequence[str]) -> str | None:
    """Return the first file that is not in the folder, or None."""
    return next((file for file in files if not (folder / file).is_file()), None)


def read_layout(folder: Path, layout: Layout) -> Table:
    """Read a data set's parts and put them together, as floating-point numbers.

    Parameters
    ----------
    folder : Path
    layout : Layout

    Returns
    -------
    Table
    """
    parts = [_array(folder, part) for part in layout.matrix]
    X = parts[0] if len(parts) == 1 else sparse.vstack(parts, format="csr")
    y: Any = None if layout.target is None else _array(folder, layout.target)
    names = None if layout.feature_names is None else _names(folder, layout.feature_names)
    labels: Any = None if layout.target_names is None else _names(folder, layout.target_names)
    if names is not None and len(names) == X.shape[1] + 1:
        names, labels = names[:-1], names[-1]
    if layout.rows == "labelled":
        X, y = X[y != 0], y[y != 0]
    elif layout.rows == "complete":
        kept = np.isfinite(X).all(axis=1)
        X, y = X[kept], y[kept]
    if not sparse.issparse(X):
        X = as_real(X)
    table = Table(X, y, names, labels, str(folder / layout.files[0]))
    finite_or_refuse(table.source, table.X, table.y, table.feature_names)
    return table


def _array(folder: Path, part: Part) -> Any:
    source = Source.of(folder / part.file, "npz")
    with open_npz(source) as stored:
        if part.key is None:
            return sparse.csr_array(stored.sparse())
        if part.key not in stored:
            raise StoredFileError(
                f"{source} holds no array {part.key!r}; restore it from a copy or fetch it again."
            )
        return stored[part.key]


def _names(folder: Path, part: Part) -> tuple[str, ...]:
    if part.key is not None:
        return tuple(map(str, _array(folder, part)))
    with Source.of(folder / part.file, "csv").open_text() as file:
        return tuple(file.read().splitlines())
