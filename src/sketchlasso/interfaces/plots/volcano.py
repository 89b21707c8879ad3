"""Volcano plot: p-values against estimates, one point per feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import sketchlasso as sl
from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.interfaces.plots.canvas import WIDE, Display, headroom, hue, ink, opacity
from sketchlasso.interfaces.plots.forest import inferred
from sketchlasso.interfaces.plots.inputs import check_top, feature_labels
from sketchlasso.interfaces.plots.labels import label_points
from sketchlasso.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["VolcanoDisplay", "plot_volcano"]


# p-values below this are drawn at it; doubles end soon after.
SMALLEST = 1e-300


@dataclass(eq=False, kw_only=True)
class VolcanoDisplay(Display):
    """-log10 of p-values against estimates; discoveries stand out.

    Parameters
    ----------
    estimate, p_value, adjusted : ndarray of shape (c,)
    names : list of str
    cutoff : float
        Features with adjusted p-values up to it are discoveries.
    adjustment : str

    Attributes
    ----------
    points_ : list of matplotlib PathCollection
        Features that are no discoveries, and discoveries.
    labels_ : list of matplotlib Annotation
    legend_ : matplotlib Legend
    """

    estimate: FloatArray
    p_value: FloatArray
    adjusted: FloatArray
    names: Sequence[str]
    cutoff: float
    adjustment: str

    def plot(self, ax: Axes | None = None, *, top: int = 8, **scatter_kw: Any) -> VolcanoDisplay:
        """Draw the features; parameters are those of :func:`plot_volcano`."""
        named = np.argsort(self.p_value, kind="stable")[: check_top(top)]
        ax = self._start(ax, WIDE)
        heights = -np.log10(np.maximum(self.p_value, SMALLEST))
        ax.axvline(0.0, color=ink(ax), linewidth=0.6, alpha=0.5, zorder=1)
        discovered = self.adjusted <= self.cutoff
        words = (f"adjusted p > {self.cutoff:g}", f"adjusted p <= {self.cutoff:g}")
        self.points_: list[Any] = []
        for number, (marker, label) in enumerate(zip("o^", words, strict=True)):
            chosen = discovered == bool(number)
            options = {"s": 18, "alpha": opacity(ax, 0.7), "linewidths": 0, "color": hue(number)}
            self.points_.append(
                ax.scatter(
                    self.estimate[chosen],
                    heights[chosen],
                    marker=marker,
                    label=f"{label} ({np.count_nonzero(chosen)})",
                    **{**options, **scatter_kw},
                )
            )
        ax.set_xlabel("estimate")
        ax.set_ylabel(r"$-\log_{10}$ of the p-value")
        ax.margins(0.06)
        ax.autoscale_view()
        ax.set_ylim(bottom=0.0)
        if not self._own:
            headroom(ax, len(self.points_))
        self.legend_ = self._legend(ax, self.points_, self.adjustment, inside="upper center")
        everyone = np.column_stack([self.estimate, heights])
        texts = [str(self.names[j]) for j in named]
        self.labels_ = label_points(ax, everyone[named], texts, everyone)
        return self


def plot_volcano(
    found: sl.inference.Desparsified | sl.inference.TreatmentEffects,
    *,
    cutoff: float = 0.05,
    adjustment: Any = "benjamini-hochberg",
    top: int = 8,
    feature_names: Sequence[str] | None = None,
    response: int = 0,
    ax: Axes | None = None,
    **scatter_kw: Any,
) -> VolcanoDisplay:
    """Draw p-values against estimates, and name the features of the smallest ones.

    Parameters
    ----------
    found : Desparsified or TreatmentEffects
    cutoff : float
        Features with adjusted p-values up to it are discoveries; strictly between 0 and 1.
    adjustment : {"holm", "benjamini-hochberg", "benjamini-yekutieli"}
    top : int
        How many features to name: those of the smallest p-values.
    feature_names : sequence of str of length c, optional
        By default those of the estimates.
    response : int
        Which of several responses.
    ax : matplotlib Axes, optional
    **scatter_kw
        For the points.

    Returns
    -------
    VolcanoDisplay
        Drawn on its `ax_`.
    """
    if not 0 < cutoff < 1:
        raise InvalidInputError(
            Argument("cutoff", cutoff),
            " was given, but a number strictly between 0 and 1 is accepted; pass for example 0.05.",
        )
    estimate, _, one = inferred(found, response)
    display = VolcanoDisplay(
        estimate=estimate,
        p_value=one(found.p_value),
        adjusted=one(found.adjusted(adjustment)),
        names=feature_labels(feature_names, len(estimate), found.names),
        cutoff=cutoff,
        adjustment=adjustment,
    )
    return display.plot(ax, top=top, **scatter_kw)
