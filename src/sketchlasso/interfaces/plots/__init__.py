"""Plots of paths, scores, sketches, estimates, gaps and networks; they need the extra `plot`.

Every function returns a display: it holds what is drawn, its axes are ``ax_``, and ``plot(ax)``
draws it again.
Matplotlib is imported when something is drawn, never before, and no global setting is touched.
"""

from sketchlasso.interfaces.plots.bands import IntervalDisplay, plot_intervals
from sketchlasso.interfaces.plots.cross_validation import CrossValidationDisplay, plot_cv
from sketchlasso.interfaces.plots.forest import ForestDisplay, plot_forest
from sketchlasso.interfaces.plots.gaps import GapDisplay, plot_gaps
from sketchlasso.interfaces.plots.influence import InfluenceDisplay, plot_leave_one_out
from sketchlasso.interfaces.plots.network import NetworkDisplay, plot_network
from sketchlasso.interfaces.plots.path import PathDisplay, plot_path
from sketchlasso.interfaces.plots.scatter import ScatterDisplay, plot_sketched_against_full
from sketchlasso.interfaces.plots.spectrum import SpectrumDisplay, plot_spectrum
from sketchlasso.interfaces.plots.stability import StabilityDisplay, plot_stability
from sketchlasso.interfaces.plots.volcano import VolcanoDisplay, plot_volcano

__all__ = [
    "CrossValidationDisplay",
    "ForestDisplay",
    "GapDisplay",
    "InfluenceDisplay",
    "IntervalDisplay",
    "NetworkDisplay",
    "PathDisplay",
    "ScatterDisplay",
    "SpectrumDisplay",
    "StabilityDisplay",
    "VolcanoDisplay",
    "plot_cv",
    "plot_forest",
    "plot_gaps",
    "plot_intervals",
    "plot_leave_one_out",
    "plot_network",
    "plot_path",
    "plot_sketched_against_full",
    "plot_spectrum",
    "plot_stability",
    "plot_volcano",
]
