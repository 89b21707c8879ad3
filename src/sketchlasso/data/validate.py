"""The door: convert a user's X, y and weights to numbers, or refuse them in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from sketchlasso.data.blocks import LARGEST, BlockMatrix, check_two_axes, is_dask_array
from sketchlasso.data.entries import canonical, floating, is_sparse
from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.types import FloatArray, RealArray

MatrixLike: TypeAlias = "ArrayLike | sparse.sparray[Any, Any] | sparse.spmatrix[Any] | BlockMatrix"


def as_rows(X: Any) -> Any:
    """Return X (m, n) in a form whose rows can be taken: blocks, CSR, or the array itself.

    Entries are not looked at. Repeated ones of a sparse matrix are added up, as sums of squares
    need it. Types other than float32 and float64 become float64.
    """
    stored = _stored(X)
    return sparse.csr_array(stored) if is_sparse(stored) else stored


def as_entries(X: MatrixLike) -> Any:
    """Return X as :func:`as_rows` does, CSC as it is, and refuse entries that are not finite.

    Those of blocks are checked when they are first read.
    """
    stored = _stored(X)
    if not isinstance(stored, BlockMatrix):
        refuse_infinite(stored)
    return stored


def _stored(X: Any) -> Any:
    stored = as_blocks(sparse_frame(X))
    if isinstance(stored, BlockMatrix):
        return stored
    if is_sparse(stored):
        refuse_unreal("X", stored)
        kind = sparse.csc_array if stored.format == "csc" else sparse.csr_array
        stored = canonical(kind(stored))
    else:
        stored = _as_array(stored)
    _check_shape(stored.shape)
    _check_kind(stored.dtype)
    if hasattr(X, "columns"):
        refuse_infinite(stored, names=[str(name) for name in X.columns])
    # A memory map is converted part by part, where it is multiplied.
    return stored if isinstance(stored, np.memmap) else as_floating(stored)


def as_floating(entries: Any) -> Any:
    """Return an array or sparse matrix in float32 or float64; itself where it is."""
    _check_kind(entries.dtype)
    return entries.astype(floating(entries.dtype), copy=False)


def sparse_frame(X: Any) -> Any:
    """Return a pandas frame whose columns are all sparse as a matrix, anything else as it is.

    The matrix is dense where values other than zero are left out.
    """
    if not (hasattr(X, "sparse") and getattr(X, "ndim", 1) == 2 and hasattr(X, "dtypes")):
        return X
    if all(kind.fill_value == 0 for kind in X.dtypes):
        return sparse.csr_array(X.sparse.to_coo())
    return X.sparse.to_dense()


def as_blocks(X: Any) -> Any:
    """Return a dask array as a BlockMatrix, and anything else as it is."""
    return BlockMatrix.from_dask(X) if is_dask_array(X) else X


def dense_values(values: Any) -> Any:
    """Return a sparse matrix or a frame of sparse columns as an array, anything else as it is."""
    values = sparse_frame(values)
    return values.toarray() if is_sparse(values) else values


def refuse_masked(name: str, values: object) -> None:
    """Refuse masked entries, which NumPy would take for numbers."""
    if np.ma.is_masked(values):
        raise InvalidInputError(
            f"{name} has masked entries, but every entry must be a number; fill them with "
            "filled(), or drop their rows."
        )


def refuse_unreal(name: str, values: Any) -> None:
    """Refuse masked entries, and complex numbers, of which NumPy would take the real part."""
    refuse_masked(name, values)
    if getattr(getattr(values, "dtype", None), "kind", None) == "c":
        raise InvalidInputError(
            f"Complex data not supported: {name} has entries of type {values.dtype}, but real "
            f"numbers are needed; convert it with {name}.real."
        )


def refuse_infinite(entries: Any, name: str = "X", names: Sequence[str] = ()) -> None:
    """Refuse NaN and infinity, naming the columns that hold them."""
    values = entries.data if is_sparse(entries) else entries
    if values.dtype.kind != "f" or values.size == 0:
        return
    with np.errstate(over="ignore"):
        # NaN and infinity propagate to both, which need no array of the size of X.
        if np.isfinite(values.max()) and np.isfinite(values.min()):
            return
    if is_sparse(entries):
        columns = np.unique(entries.tocoo().col[~np.isfinite(entries.tocoo().data)])
    else:
        columns = np.flatnonzero(~np.isfinite(entries).all(axis=0))
    few = ", ".join(repr(names[j]) if len(names) else str(j) for j in columns[:5])
    few += f" and {len(columns) - 5} more" if len(columns) > 5 else ""
    raise InvalidInputError(
        f"{name} contains NaN or infinity in column{'s' if len(columns) > 1 else ''} {few}, but "
        "every entry must be finite; fill such entries in, for example with "
        "sklearn.impute.SimpleImputer, or drop them."
    )


def check_size(name: str, entries: Any) -> None:
    """Refuse an array or sparse matrix whose largest entry has a square that is lost."""
    values = entries.data if is_sparse(entries) else entries
    size = max(float(np.max(values, initial=0.0)), -float(np.min(values, initial=0.0)))
    if size > 0 and not 1 / LARGEST <= size <= LARGEST:
        raise InvalidInputError(
            f"the largest entry of {name} is {size:.3g}, but numbers between {1 / LARGEST:.0e} and "
            f"{LARGEST:.0e} are needed, so that their squares fit a double; divide {name} by a "
            "constant first."
        )


def check_flags(**flags: Any) -> None:
    """Refuse anything but True and False as the value of an option."""
    for name, value in flags.items():
        if not isinstance(value, bool | np.bool_):
            raise unaccepted(name, value, "True or False")


def check_weights(weights: Any, n_samples: int, name: str = "sample_weight") -> FloatArray:
    """Weights of rows (m,), finite and >= 0, some of them > 0."""
    refuse_unreal(name, weights)
    try:
        checked = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise unaccepted(name, weights, "finite numbers >= 0, one per row") from None
    if checked.ndim == 0:
        checked = np.full(n_samples, float(checked))
    if checked.shape != (n_samples,):
        raise InvalidInputError(
            f"{name} has shape {checked.shape} but X has {n_samples} rows; pass ({n_samples},)."
        )
    bad = checked[~(np.isfinite(checked) & (checked >= 0))]
    if bad.size:
        raise InvalidInputError(f"{name} must hold finite numbers >= 0, not {bad[0]:g}.")
    if not (checked > 0).any():
        raise InvalidInputError(
            f"{name} is zero on every row, but at least one row needs weight; give weight to "
            "some rows."
        )
    return checked


def as_factor(name: str, values: ArrayLike) -> RealArray:
    """Return a copy of a thin factor (rows, rank), float32 or float64, checked as X is."""
    array = np.asarray(values)
    _check_shape(array.shape, name, "(rows, rank)")
    _check_kind(array.dtype, name)
    factor: RealArray = array.astype(floating(array.dtype))
    refuse_infinite(factor, name)
    return factor


def as_responses(y: ArrayLike, n_samples: int, *, squared: bool = False) -> FloatArray:
    """Return y, of shape (m,) or (m, t), as Y (m, t) in doubles, every number finite.

    With `squared`, refuse a response whose squares overflow or vanish. Estimators scale theirs
    themselves.
    """
    refuse_unreal("y", y)
    try:
        Y = np.asarray(dense_values(y), dtype=np.float64)
    except (TypeError, ValueError) as problem:
        if np.asarray(y, dtype=object).ndim == 0:
            raise InvalidInputError(
                f"y is of type {type(y).__name__}, but numbers of shape ({n_samples},) or "
                f"({n_samples}, t) are needed; pass those, and check the order of the arguments."
            ) from problem
        raise InvalidInputError(
            "y holds something that is not a number, but a response must be numeric; use a "
            "classifier for labels, or convert y."
        ) from problem
    Y = Y[:, None] if Y.ndim == 1 else Y
    if Y.ndim != 2 or len(Y) != n_samples or Y.shape[1] == 0:
        raise InvalidInputError(
            f"y has shape {np.shape(y)}, but X has {n_samples} rows; pass y of shape "
            f"({n_samples},) or ({n_samples}, t)."
        )
    if not np.isfinite(Y).all():
        raise InvalidInputError(
            "y contains NaN or infinity, but every response must be a finite number; remove or "
            "impute those rows first."
        )
    if squared:
        check_size("y", Y)
    return Y


def _as_array(X: Any) -> NDArray[Any]:
    """Return X as an array of any shape; refuse objects that NumPy can only wrap."""
    refuse_unreal("X", X)
    try:
        values = X if isinstance(X, np.memmap) else np.asarray(X)
    except ValueError as ragged:
        raise InvalidInputError(
            "X could not be read as a matrix because its rows differ in length, but an array of "
            "shape (n_samples, n_features) is needed; give every row the same number of entries."
        ) from ragged
    if values.dtype == object and values.ndim == 0:
        raise InvalidInputError(
            f"X is of type {type(X).__name__}, but a matrix of shape (n_samples, n_features) is "
            "needed; pass one, and check the order of the arguments."
        )
    if values.dtype == object and values.ndim == 2 and hasattr(X, "columns"):
        return _frame_numbers(values, list(map(str, X.columns)))
    return values


def _frame_numbers(values: NDArray[Any], names: Sequence[str]) -> NDArray[Any]:
    """Entries (m, n) of a data frame whose columns differ in type, as doubles."""
    columns = [np.array(column.tolist()) for column in values.T]
    bad = [name for name, c in zip(names, columns, strict=True) if c.dtype.kind not in "biuf"]
    if bad:
        few = ", ".join(map(repr, bad[:5])) + (f" and {len(bad) - 5} more" if len(bad) > 5 else "")
        raise InvalidInputError(
            f"X has columns that are not numbers ({few}), but real numbers are needed; encode "
            "text with sklearn.preprocessing.OneHotEncoder, fill gaps with "
            "sklearn.impute.SimpleImputer, or leave such columns out."
        )
    return np.column_stack(columns).astype(np.float64)


def _check_shape(
    shape: tuple[int, ...], name: str = "X", wanted: str = "(n_samples, n_features)"
) -> None:
    check_two_axes(shape, name, wanted)
    if 0 in shape:
        raise InvalidInputError(
            f"{name} is empty (shape {shape}), but at least one row and one column are needed; "
            "pass a matrix with entries."
        )


def _check_kind(dtype: np.dtype[Any], name: str = "X") -> None:
    if dtype.kind not in "biuf":
        raise InvalidInputError(
            f"{name} has entries of type {dtype}, but real numbers are needed; convert it with "
            f"{name}.astype(float)."
        )
