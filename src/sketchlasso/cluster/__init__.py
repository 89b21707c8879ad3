"""Functions over blocks of rows: here one after another, or on the workers of a cluster."""

from sketchlasso.cluster.context import active_engine, cluster, current_engine
from sketchlasso.cluster.engine import Block, Engine, OnProgress
from sketchlasso.cluster.held import holder_of, value_of
from sketchlasso.cluster.sequential import SequentialEngine

__all__ = [
    "Block",
    "Engine",
    "OnProgress",
    "SequentialEngine",
    "active_engine",
    "cluster",
    "current_engine",
    "holder_of",
    "value_of",
]
