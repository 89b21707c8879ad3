"""Convert a user's X and y to stored numbers, or refuse them in one sentence; products with X."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from sketchlasso.cluster import active_engine, cluster, holder_of
from sketchlasso.data.blocks import BlockMatrix
from sketchlasso.data.indirect import BlockStorage
from sketchlasso.data.protocol import Storage
from sketchlasso.data.storage import (
    DenseStorage,
    SparseStorage,
    canonical,
    check_two_axes,
    dense_product,
    find_entry,
    floating,
    is_dask_array,
    is_sparse,
)
from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.types import FloatArray, IntArray, RealArray

# Squares and sums of numbers up to this one, and of its inverse, are doubles.
LARGEST = 1e100

MatrixLike: TypeAlias = "ArrayLike | sparse.sparray[Any, Any] | sparse.spmatrix[Any] | BlockMatrix"
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def as_storage(X: MatrixLike) -> Storage:
    """Return X (m, n) as dense, sparse, or block storage; refuse other than real numbers.

    float32 stays float32, any other real type is computed with as float64. Sparse formats other
    than CSR and CSC are converted to CSR.
    """
    X = as_blocks(sparse_frame(X))
    if isinstance(X, BlockMatrix):
        return BlockStorage(X)
    stored: Any = X if is_sparse(X) else _as_array(X)
    _check_shape(tuple(stored.shape))
    _check_kind(np.dtype(stored.dtype))
    if is_sparse(stored):
        by_columns = stored.format == "csc"
        array = canonical(sparse.csc_array(stored) if by_columns else sparse.csr_array(stored))
        array = array.astype(floating(array.dtype), copy=False)
        _check_finite(array)
        return SparseStorage(array)
    # A memory map is cast block by block; an array in memory is cast once.
    if stored.dtype.kind in "biu" and not isinstance(stored, np.memmap):
        stored = stored.astype(np.float64)
    if stored.dtype.kind == "f":
        _check_finite(stored)
    return DenseStorage(stored)


def as_rows(X: Any) -> Any:
    """Return X in a form whose rows can be taken: blocks, CSR, or the array itself.

    Its shape is checked, its entries are not looked at. Repeated entries are added up, as sums of
    squares need it. Entries of a type other than float32 and float64 become float64.
    """
    stored: Any = as_blocks(sparse_frame(X))
    if isinstance(stored, BlockMatrix):
        return stored
    rows: Any = canonical(sparse.csr_array(stored)) if is_sparse(stored) else _as_array(stored)
    _check_shape(rows.shape)
    return rows if isinstance(rows, np.memmap) else as_floating(rows)


def as_floating(entries: Any) -> Any:
    """Return an array or sparse matrix in float32 or float64; itself where it is."""
    _check_kind(np.dtype(entries.dtype))
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


def products(X: Any, pairs: Sequence[tuple[IntArray | None, Any]]) -> list[FloatArray]:
    """Return X[rows] V for several pairs of rows (None: all) and V (n, t): one pass over blocks.

    An array or sparse matrix in memory is multiplied directly.
    """
    if not (isinstance(X, np.ndarray) or is_sparse(X)):
        return BlockMatrix.of(X).products(pairs)
    entries = X.tocsr() if is_sparse(X) else X
    return [dense_product(entries if rows is None else entries[rows], V) for rows, V in pairs]


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
            f"{name} has entries of type {values.dtype}, but real numbers are needed; convert it "
            f"with {name}.real."
        )


def check_flags(**flags: Any) -> None:
    """Refuse anything but True and False as the value of an option."""
    for name, value in flags.items():
        if not isinstance(value, bool | np.bool_):
            raise unaccepted(name, value, "True or False")


def as_factor(name: str, values: ArrayLike) -> RealArray:
    """Return a copy of a thin factor (rows, rank), float32 or float64, checked as X is."""
    array = np.asarray(values)
    _check_shape(array.shape, name, "(rows, rank)")
    _check_kind(array.dtype, name)
    factor: RealArray = array.astype(floating(array.dtype))
    _check_finite(factor, name)
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


def dense_values(values: Any) -> Any:
    """Return a sparse matrix or a frame of sparse columns as an array, anything else as it is."""
    values = sparse_frame(values)
    return values.toarray() if is_sparse(values) else values


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
            "them, for example with pandas.get_dummies, or leave them out."
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


def _check_finite(entries: Any, name: str = "X") -> None:
    found = find_entry(entries, lambda values: ~np.isfinite(values))
    if found is not None:
        row, column, value = found
        raise InvalidInputError(
            f"{name} holds {value} in row {row}, column {column}, but every entry must be finite; "
            "replace or drop such entries first."
        )


def spread(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Run a function of a dask array in a new ``cluster()``, unless one is active.

    A dask array among the arguments, or blocks made from one, is processed by the Dask client
    that persisted it, else by the current one, else by worker processes that stop at the end
    of the call. Any other X changes nothing.
    """

    @wraps(function)
    def called(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        far: Any = None
        for X in (*args[:2], kwargs.get("X")):
            found = X.dask_value if isinstance(X, BlockMatrix) else X if is_dask_array(X) else None
            far = found if far is None else far
        if far is None or active_engine() is not None:
            return function(*args, **kwargs)
        with cluster(holder_of(far)):
            return function(*args, **kwargs)

    return called
