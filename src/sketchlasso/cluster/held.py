"""Dask values: which client holds a persisted value, and how to fetch it to this process."""

from __future__ import annotations

import sys
from typing import Any

from sketchlasso.errors import ClusterLostError

__all__ = ["holder_of", "value_of"]


def holder_of(collection: Any) -> Any:
    """Return the distributed.Client whose cluster holds parts of a Dask value, or None.

    ``persist()`` replaces tasks by futures, which only the scheduler that made them can
    resolve.
    """
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None  # without Dask nothing can be persisted
    futures = distributed.futures_of(collection)
    if not futures:
        return None
    client = futures[0].client
    if client is None:  # the value was unpickled
        try:
            client = distributed.get_client()
        except ValueError as nobody:
            raise ClusterLostError(
                "X was persisted on a Dask cluster, but no Dask client is current here; connect a "
                "distributed.Client to that cluster, or use the array before persist()."
            ) from nobody
    if client.status != "running":
        raise ClusterLostError(
            "X was persisted on a Dask cluster, but the client that did so is closed; persist the "
            "array again with an open client, or use the array before persist()."
        )
    return client


def value_of(source: Any) -> Any:
    """Return the value of a source; a Dask value is computed in this thread or fetched."""
    if not hasattr(source, "__dask_graph__"):
        return source
    client = holder_of(source)
    if client is None:
        return source.compute(scheduler="synchronous")
    from sketchlasso.cluster.dask_engine import DaskEngine  # installed, since Dask holds the value

    return DaskEngine(client).value(source)
