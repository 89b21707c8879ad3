"""Estimates with their confidence intervals, one line per feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import sketchlasso as sl
from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.interfaces.plots.canvas import Display, hue, ink
from sketchlasso.interfaces.plots.inputs import check_index, check_top, feature_labels
from sketchlasso.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ForestDisplay", "inferred", "plot_forest"]


# Inches per line, and of what stands above and below.
LINE, FRAME = 0.28, 1.2
SHOWN = 20


def inferred(found: Any, response: int) -> tuple[FloatArray, FloatArray, Any]:
    """Estimates (c,), errors (c,) and a function that takes one response of other arrays."""
    if not isinstance(found, sl.inference.Desparsified | sl.inference.TreatmentEffects):
        raise InvalidInputError(
            f"a {type(found).__name__} was given, but a Desparsified or TreatmentEffects is "
            "accepted; pass what desparsified or treatment_effect returns."
        )
    several = found.estimate.ndim == 2
    chosen = check_index("response", response, found.estimate.shape[1] if several else 1)

    def one(values: FloatArray) -> FloatArray:
        return values[..., chosen] if several else values

    return one(found.estimate), one(found.standard_error), one


@dataclass(eq=False, kw_only=True)
class ForestDisplay(Display):
    """Intervals of single coefficients, and of all at once where they are given.

    Parameters
    ----------
    estimate : ndarray of shape (c,)
    interval : ndarray of shape (2, c)
        Lower and upper ends.
    p_value : ndarray of shape (c,)
        By which features are ordered.
    names : list of str
    level : float
        Of the intervals.
    simultaneous : ndarray of shape (2, c), optional
        Wider intervals that hold all at once.

    Attributes
    ----------
    points_ : matplotlib Line2D
    bars_, wide_bars_ : matplotlib LineCollection or None
    """

    estimate: FloatArray
    interval: FloatArray
    p_value: FloatArray
    names: Sequence[str]
    level: float
    simultaneous: FloatArray | None = None

    def plot(self, ax: Axes | None = None, *, top: int = SHOWN, **line_kw: Any) -> ForestDisplay:
        """Draw the intervals; parameters are those of :func:`plot_forest`."""
        chosen = np.argsort(self.p_value, kind="stable")[: check_top(top)]
        heights = np.arange(len(chosen))[::-1]
        ax = self._start(ax, (7.2, FRAME + LINE * max(len(chosen), 3)))
        ax.axvline(0.0, color=ink(ax), linewidth=0.8, alpha=0.6, zorder=1)
        self.wide_bars_: Any = None
        if self.simultaneous is not None:
            self.wide_bars_ = ax.hlines(
                heights, *self.simultaneous[:, chosen], color=hue(0), linewidth=0.8, alpha=0.7
            )
        self.bars_ = ax.hlines(heights, *self.interval[:, chosen], color=hue(0), linewidth=2.2)
        options = {"marker": "o", "markersize": 4.5, "color": hue(1), "linestyle": "", **line_kw}
        (self.points_,) = ax.plot(self.estimate[chosen], heights, zorder=3, **options)
        ax.set_yticks(heights, [str(self.names[j]) for j in chosen])
        ax.set_ylim(-0.7, max(len(chosen), 1) - 0.3)
        words = f"estimate and {100 * self.level:g} % interval"
        if self.simultaneous is not None:
            words += ", thin: all at once"
        ax.set_xlabel(words)
        return self


def plot_forest(
    found: sl.inference.Desparsified | sl.inference.TreatmentEffects,
    *,
    level: float = 0.95,
    top: int = SHOWN,
    simultaneous: bool = False,
    feature_names: Sequence[str] | None = None,
    response: int = 0,
    random_state: Any = 0,
    ax: Axes | None = None,
    **line_kw: Any,
) -> ForestDisplay:
    """Draw estimates with their confidence intervals, the smallest p-value on top.

    Parameters
    ----------
    found : Desparsified or TreatmentEffects
    level : float
        Of the intervals.
    top : int
        How many features to show: those of the smallest p-values.
    simultaneous : bool
        Whether to draw intervals that hold all at once too, thin; of a Desparsified.
    feature_names : sequence of str of length c, optional
        By default those of the estimates.
    response : int
        Which of several responses.
    random_state : int, Generator or None
        Of the simultaneous intervals.
    ax : matplotlib Axes, optional
    **line_kw
        For the points.

    Returns
    -------
    ForestDisplay
        Drawn on its `ax_`.
    """
    estimate, _, one = inferred(found, response)
    wide = None
    if simultaneous:
        if not isinstance(found, sl.inference.Desparsified):
            raise InvalidInputError(
                Argument("simultaneous", True),
                " was given with TreatmentEffects, but only a Desparsified has such intervals; "
                "leave it out.",
            )
        wide = one(found.simultaneous(level, random_state=random_state))
    display = ForestDisplay(
        estimate=estimate,
        interval=one(found.interval(level)),
        p_value=one(found.p_value),
        names=feature_labels(feature_names, len(estimate), found.names),
        level=level,
        simultaneous=wide,
    )
    return display.plot(ax, top=top, **line_kw)
