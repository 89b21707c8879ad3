"""What many regressions together say: errors of estimates, graphs, stability."""

from sketchlasso.inference.nodewise import Nodewise, nodewise

__all__ = ["Nodewise", "nodewise"]
