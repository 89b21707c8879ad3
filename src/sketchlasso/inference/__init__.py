"""What many regressions together say: errors of estimates, graphs, stability."""

from sketchlasso.inference.neighbourhoods import Neighbourhoods, neighbourhoods
from sketchlasso.inference.nodewise import Nodewise, nodewise
from sketchlasso.inference.precision import SparsePrecision

__all__ = ["Neighbourhoods", "Nodewise", "SparsePrecision", "neighbourhoods", "nodewise"]
