"""Functions over blocks of rows: in this process, or on the workers of a cluster."""

from sketchlasso.cluster.engine import (
    Each,
    Engine,
    Work,
    active_engine,
    cluster,
    engine_of,
    holder_of,
)

__all__ = ["Each", "Engine", "Work", "active_engine", "cluster", "engine_of", "holder_of"]
