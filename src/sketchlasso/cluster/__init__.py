"""Functions over blocks of rows: in this process, or on the workers of a cluster."""

from sketchlasso.cluster.engine import (
    Block,
    Each,
    Engine,
    OnProgress,
    Work,
    active_engine,
    cluster,
    current_engine,
    holder_of,
    value_of,
)

__all__ = [
    "Block",
    "Each",
    "Engine",
    "OnProgress",
    "Work",
    "active_engine",
    "cluster",
    "current_engine",
    "holder_of",
    "value_of",
]
