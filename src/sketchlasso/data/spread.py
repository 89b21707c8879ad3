"""Start and stop workers for calls where X is a dask array."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from sketchlasso.cluster import active_engine, cluster, holder_of
from sketchlasso.data.blocks import BlockMatrix
from sketchlasso.data.opening import is_dask_array

__all__ = ["spread"]

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def spread(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Run a function of a dask array in a ``cluster()`` of its own, unless one is there.

    A dask array among the arguments, or blocks made from one, is processed by the Dask client
    that persisted it, else by the current one, else by worker processes that stop at the end
    of the call. Any other X changes nothing.
    """

    @wraps(function)
    def called(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        values = map(_dask_value, (*args[:2], kwargs.get("X")))
        far = next((value for value in values if value is not None), None)
        if active_engine() is not None or far is None:
            return function(*args, **kwargs)
        with cluster(holder_of(far)):
            return function(*args, **kwargs)

    return called


def _dask_value(X: Any) -> Any:
    """A dask array, or a Dask value that blocks were made from; None for any other X."""
    if is_dask_array(X):
        return X
    return X.dask_value if isinstance(X, BlockMatrix) else None
