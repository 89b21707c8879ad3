"""Start and stop workers for calls where X is a dask array."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from sketchlasso.cluster import active_engine, cluster, holder_of
from sketchlasso.data.block_handles import DaskBlock, is_dask_array
from sketchlasso.data.blocks import BlockMatrix

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
        far = next(filter(_needs_dask, (*args[:2], kwargs.get("X"))), None)
        if active_engine() is not None or far is None:
            return function(*args, **kwargs)
        with cluster(_holder(far)):
            return function(*args, **kwargs)

    return called


def _needs_dask(X: Any) -> bool:
    return is_dask_array(X) or (isinstance(X, BlockMatrix) and X.distributed)


def _holder(far: Any) -> Any:
    """The client that persisted a dask array, or the one that blocks were made from, or None."""
    if not isinstance(far, BlockMatrix):
        return holder_of(far)
    handle = next(part.handle for part in far._parts if isinstance(part.handle, DaskBlock))
    return holder_of(handle.delayed)
