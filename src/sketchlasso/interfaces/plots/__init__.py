"""Plots of paths, searches, estimates, influence and networks; they need the extra `plot`.

Every function draws on Matplotlib axes, those given as `ax` or those of a new figure, and returns
them. Matplotlib is imported when something is drawn, and no global setting is touched.
"""

from sketchlasso.interfaces.plots.network import plot_network
from sketchlasso.interfaces.plots.paths import plot_path, plot_stability
from sketchlasso.interfaces.plots.points import plot_forest, plot_leave_one_out, plot_volcano
from sketchlasso.interfaces.plots.search import plot_cv

__all__ = [
    "plot_cv",
    "plot_forest",
    "plot_leave_one_out",
    "plot_network",
    "plot_path",
    "plot_stability",
    "plot_volcano",
]
