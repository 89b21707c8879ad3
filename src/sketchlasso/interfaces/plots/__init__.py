"""Plots of paths, scores, sketches, estimates, gaps and networks; they need the extra `plot`.

Every function returns a display: it holds what is drawn, its axes are ``ax_``, and ``plot(ax)``
draws it again.
Matplotlib is imported when something is drawn, never before, and no global setting is touched.
"""

from sketchlasso.interfaces.plots.cross_validation import CrossValidationDisplay, plot_cv
from sketchlasso.interfaces.plots.inference import (
    ForestDisplay,
    IntervalDisplay,
    VolcanoDisplay,
    plot_forest,
    plot_intervals,
    plot_volcano,
)
from sketchlasso.interfaces.plots.network import NetworkDisplay, plot_network
from sketchlasso.interfaces.plots.paths import (
    PathDisplay,
    StabilityDisplay,
    plot_path,
    plot_stability,
)
from sketchlasso.interfaces.plots.quality import (
    GapDisplay,
    SpectrumDisplay,
    plot_gaps,
    plot_spectrum,
)
from sketchlasso.interfaces.plots.scatter import (
    InfluenceDisplay,
    ScatterDisplay,
    plot_leave_one_out,
    plot_sketched_against_full,
)

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
