"""Checks and predictions of estimators, for X in memory or in blocks.

Predictions of a dask array are a lazy dask array, as users of Dask expect. Predictions of a
BlockMatrix are in memory, one per row.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_X_y, validate_data

from sketchlasso.cluster import holder_of
from sketchlasso.data import BlockMatrix, MatrixLike, as_blocks, as_entries, as_responses
from sketchlasso.data.blocks import is_dask_array
from sketchlasso.data.entries import is_sparse, product
from sketchlasso.data.validate import as_floating, dense_values, refuse_unreal, sparse_frame
from sketchlasso.errors import InvalidInputError
from sketchlasso.types import FloatArray

ACCEPTED = {
    "accept_sparse": ("csr", "csc"),
    "dtype": (np.float64, np.float32),
    "accept_large_sparse": True,
}


def in_memory(values: Any) -> Any:
    """Compute a Dask value with one number or label per row; return anything else as it is."""
    if not hasattr(values, "__dask_graph__"):
        return values
    return values.compute(scheduler=holder_of(values))


def validated(
    estimator: BaseEstimator, X: MatrixLike, *y: Any, reset: bool = True, **checks: Any
) -> Any:
    """Return X, or X and y, as scikit-learn's validate_data does, for X in memory or in blocks.

    Blocks are checked for their number of columns now, and for NaN when they are first read. With
    `reset`, as in fit, X sets the number of features. Other `checks` are passed to validate_data.
    """
    X = as_blocks(X)
    responses = [dense_values(in_memory(values)) for values in y]
    for name, values in zip("Xy", [X, *responses], strict=False):
        refuse_unreal(name, values)
    _refuse_dates("X", X)
    if responses and checks.get("y_numeric"):
        _refuse_dates("y", responses[0])
    if not isinstance(X, BlockMatrix):
        entries = sparse_frame(X)
        # As a frame it keeps the names of its columns.
        X = X if is_sparse(entries) else entries
        try:
            checked = validate_data(estimator, X, *responses, reset=reset, **ACCEPTED, **checks)
        except ValueError as error:
            # These name the columns that hold text or gaps, and what is wrong with y.
            came = str(error).partition("\n")[0]
            if came.startswith(("could not convert", "Input X contains", "Input y contains")):
                as_entries(X)
                if responses and checks.get("y_numeric"):
                    as_responses(responses[0], len(responses[0]))
                raise InvalidInputError(
                    f"{came.rstrip('.')}, but every value must be a finite number; replace or drop "
                    "such values first."
                ) from error
            raise
        # scikit-learn keeps the type of a sparse frame, which may be bool.
        return (as_floating(checked[0]), *checked[1:]) if responses else as_floating(checked)
    validate_data(estimator, X, *responses, reset=reset, skip_check_array=True)
    if not responses:
        return X
    # scikit-learn's checks of y depend on X by its length alone.
    stand_in = np.broadcast_to(0.0, (X.shape[0], 1))
    return X, check_X_y(stand_in, responses[0], estimator=estimator, **checks)[1]


def _refuse_dates(name: str, values: object) -> None:
    """Refuse dates and durations, which scikit-learn would take as integers."""
    types = getattr(values, "dtypes", None)
    each = list(types) if isinstance(types, Iterable) else [getattr(values, "dtype", None)]
    dates = [str(one) for one in each if getattr(one, "kind", None) in ("m", "M")]
    if dates:
        raise InvalidInputError(
            f"{name} holds values of type {dates[0]}, but real numbers are needed; convert them, "
            "for example to days with (values - values.min()) / np.timedelta64(1, 'D')."
        )


def validated_rows(estimator: BaseEstimator, X: MatrixLike) -> Any:
    """X for predictions: checked now, or, where it is a dask array, when it is computed."""
    if not is_dask_array(X):
        return validated(estimator, X, reset=False)
    validate_data(estimator, X, reset=False, skip_check_array=True)
    return X


def linear_values(X: Any, coef: FloatArray, intercept: Any) -> Any:
    """X v + d of shape (n_samples,) or (n_samples, t), for validated X or a dask array.

    The coefficients v are (n_features,) or (t, n_features), the intercepts d a number or (t,).
    """
    if is_dask_array(X):
        return map_rows(X, _values_of_block, coef.shape[:-1], coef=coef, intercept=intercept)
    return _values_of(X, coef, intercept)


def _values_of(X: Any, coef: FloatArray, intercept: Any) -> FloatArray:
    """X v + d in double precision, for X of any floating type."""
    if isinstance(X, BlockMatrix):
        return X @ coef.T + intercept
    return product(X, np.atleast_2d(coef).T).reshape(X.shape[0], *coef.shape[:-1]) + intercept


def map_rows(X: Any, work: Any, tail: tuple[int, ...], **options: Any) -> Any:
    """Return `work(X, **options)`; for a dask array a lazy one with the same chunks of rows.

    `work` maps a block of rows to an array with as many rows of shape `tail`, () or (t,). Its
    result for no rows shows the type.
    """
    if not is_dask_array(X):
        return work(X, **options)
    if X.ndim == 2 and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    meta = work(np.empty((0, *X.shape[1:]), dtype=X.dtype), **options)
    chunks = (X.chunks[0], *((size,) for size in tail))
    drop = list(range(1 + len(tail), X.ndim))
    new = list(range(X.ndim, 1 + len(tail)))
    return X.map_blocks(
        work, meta=meta, chunks=chunks, drop_axis=drop, new_axis=new or None, **options
    )


def _values_of_block(block: Any, *, coef: FloatArray, intercept: Any) -> NDArray[Any]:
    values = _values_of(block, coef, intercept)
    if not np.isfinite(values).all():
        raise InvalidInputError(
            "a block of X holds NaN or infinity, but every entry must be finite; replace or drop "
            "such entries first."
        )
    return np.asarray(values)
