"""What many regressions together say: errors of estimates, graphs, stability."""

from sketchlasso.inference.nodewise import Nodewise, nodewise
from sketchlasso.inference.precision import SparsePrecision

__all__ = ["Nodewise", "SparsePrecision", "nodewise"]
