"""What many regressions together say: errors of estimates, graphs, stability."""

from sketchlasso.inference.neighbourhoods import Neighbourhoods, neighbourhoods
from sketchlasso.inference.nodewise import Nodewise, nodewise
from sketchlasso.inference.precision import SparsePrecision
from sketchlasso.inference.subspace_clustering import SparseSubspaceClustering

__all__ = [
    "Neighbourhoods",
    "Nodewise",
    "SparsePrecision",
    "SparseSubspaceClustering",
    "neighbourhoods",
    "nodewise",
]
