"""Estimates with confidence intervals, p-values, and intervals of predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import sketchlasso as sl
from sketchlasso.errors import Argument, InvalidInputError, unaccepted
from sketchlasso.interfaces import Regressor, as_drawn
from sketchlasso.interfaces.plots.canvas import WIDE, Axes, Display, hue, ink, opacity
from sketchlasso.interfaces.plots.inputs import check_index, check_top, feature_labels, not_accepted
from sketchlasso.interfaces.plots.labels import label_points
from sketchlasso.types import FloatArray, is_number

SHOWN = 20  # features, by default
# p-values below this are drawn as this; smaller doubles lose precision.
SMALLEST = 1e-300


def _one_response(found: object, response: int) -> Callable[[FloatArray], FloatArray]:
    """Return a function that takes one response (c,) of the arrays of an inference."""
    if not isinstance(found, sl.inference.Desparsified | sl.inference.TreatmentEffects):
        remedy = "what desparsified or treatment_effect returns"
        raise not_accepted(found, "a Desparsified or TreatmentEffects", remedy)
    several = found.estimate.ndim == 2
    chosen = check_index("response", response, found.estimate.shape[1] if several else 1)
    return lambda values: values[..., chosen] if several else values


@dataclass(eq=False, kw_only=True)
class ForestDisplay(Display):
    """Intervals of single coefficients, and simultaneous ones if they are given.

    Parameters
    ----------
    estimate : ndarray of shape (c,)
    interval : ndarray of shape (2, c)
        Lower and upper ends.
    p_value : ndarray of shape (c,)
        By which features are ordered.
    names : list of str
    level : float
        Level of the intervals.
    simultaneous : ndarray of shape (2, c), optional
        Wider intervals that hold simultaneously.

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
        ax = self._start(ax, (7.2, 1.2 + 0.28 * max(len(chosen), 3)))
        ax.axvline(0.0, color=ink(ax), linewidth=0.8, alpha=0.6, zorder=1)
        words = f"estimate and {100 * self.level:g} % interval"
        self.wide_bars_: Any = None
        if self.simultaneous is not None:
            self.wide_bars_ = ax.hlines(
                heights, *self.simultaneous[:, chosen], color=hue(0), linewidth=0.8, alpha=0.7
            )
            words += ", thin: simultaneous"
        self.bars_ = ax.hlines(heights, *self.interval[:, chosen], color=hue(0), linewidth=2.2)
        options = {"marker": "o", "markersize": 4.5, "color": hue(1), "linestyle": "", **line_kw}
        (self.points_,) = ax.plot(self.estimate[chosen], heights, zorder=3, **options)
        ax.set_yticks(heights, [as_drawn(str(self.names[j])) for j in chosen])
        ax.set_ylim(-0.7, max(len(chosen), 1) - 0.3)
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
        Level of the intervals.
    top : int
        How many features to show: those of the smallest p-values.
    simultaneous : bool
        Whether to draw simultaneous intervals too, as thin lines; only for a Desparsified.
    feature_names : sequence of str of length c, optional
        By default those of the estimates.
    response : int
        Which of several responses.
    random_state : int, Generator or None
        Seed of the simultaneous intervals.
    ax : matplotlib Axes, optional
    **line_kw
        For the points.

    Returns
    -------
    ForestDisplay
        Drawn on its `ax_`.
    """
    one = _one_response(found, response)
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
        estimate=one(found.estimate),
        interval=one(found.interval(level)),
        p_value=one(found.p_value),
        names=feature_labels(feature_names, len(found.estimate), found.names),
        level=level,
        simultaneous=wide,
    )
    return display.plot(ax, top=top, **line_kw)


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
        Features that are not discoveries, and discoveries.
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
        discovered = self.adjusted <= self.cutoff
        groups = [
            (chosen, f"adjusted p {sign} {self.cutoff:g} ({np.count_nonzero(chosen)})", marker)
            for chosen, sign, marker in ((~discovered, ">", "o"), (discovered, "<=", "^"))
        ]
        everyone = np.column_stack([self.estimate, heights])
        self._draw_groups(ax, everyone, groups, title=self.adjustment, bottom=0.0, **scatter_kw)
        ax.set_xlabel("estimate")
        ax.set_ylabel(r"$-\log_{10}$ of the p-value")
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
    if not (is_number(cutoff) and 0 < cutoff < 1):
        raise unaccepted(
            "cutoff", cutoff, "a number strictly between 0 and 1", "pass for example 0.05"
        )
    one = _one_response(found, response)
    display = VolcanoDisplay(
        estimate=one(found.estimate),
        p_value=one(found.p_value),
        adjusted=one(found.adjusted(adjustment)),
        names=feature_labels(feature_names, len(found.estimate), found.names),
        cutoff=cutoff,
        adjustment=adjustment,
    )
    return display.plot(ax, top=top, **scatter_kw)


@dataclass(eq=False, kw_only=True)
class IntervalDisplay(Display):
    """Intervals as a band, rows in the order of their predictions, with responses as points.

    Parameters
    ----------
    predictions : ndarray of shape (m,)
    intervals : ndarray of shape (m, 2)
    y : ndarray of shape (m,), optional
        Responses, if they are known.
    level : float
    method : str

    Attributes
    ----------
    band_ : matplotlib collection
    line_ : matplotlib Line2D
        The predictions.
    inside_, outside_ : matplotlib Line2D or None
        Responses that lie in their intervals, and those that do not.
    coverage_ : float or None
        Share of responses that lie in their intervals.
    """

    predictions: FloatArray
    intervals: FloatArray
    y: FloatArray | None = None
    level: float
    method: str

    def plot(self, ax: Axes | None = None, **band_kw: Any) -> IntervalDisplay:
        """Draw the band; parameters are those of :func:`plot_intervals`."""
        if not np.isfinite(self.intervals).all():
            raise InvalidInputError(
                f"the intervals at level {self.level:g} are infinite, but a picture shows finite "
                "ones; lower the level, or calibrate on more rows."
            )
        ax = self._start(ax)
        order = np.argsort(self.predictions, kind="stable")
        place = np.arange(len(order))
        low, high = self.intervals[order].T
        kind = {"color": hue(0), "alpha": opacity(ax, 0.25), "linewidth": 0.0, **band_kw}
        self.band_ = ax.fill_between(place, low, high, step="mid", label="interval", **kind)
        (self.line_,) = ax.plot(
            place, self.predictions[order], color=hue(0), linewidth=1.2, label="prediction"
        )
        self.inside_: Any = None
        self.outside_: Any = None
        self.coverage_: float | None = None
        handles = [self.band_, self.line_]
        words = f"{100 * self.level:g} % intervals ({self.method})"
        if self.y is not None:
            own = self.y[order]
            inside = (low <= own) & (own <= high)
            self.coverage_ = float(inside.mean())
            self.inside_, self.outside_ = (
                ax.plot(place[at], own[at], marker, color=color, markersize=3.0, label=label)[0]
                for at, marker, color, label in (
                    (inside, "o", ink(ax), "inside"),
                    (~inside, "x", hue(1), "outside"),
                )
            )
            words += f", {100 * self.coverage_:.1f} % of {len(own)} responses inside"
            handles += [self.inside_, self.outside_]
        ax.set_xlabel("rows, by their predictions")
        ax.set_ylabel("response")
        ax.set_title(words, fontsize="medium", color=ink(ax))
        self._legend(ax, handles)
        return self


def plot_intervals(
    estimator: Regressor,
    X: Any,
    y: ArrayLike | None = None,
    *,
    level: float = 0.9,
    response: int = 0,
    ax: Axes | None = None,
    **band_kw: Any,
) -> IntervalDisplay:
    """Draw prediction intervals as a band, rows in the order of their predictions.

    Parameters
    ----------
    estimator : SqrtLasso or SqrtLassoCV
        Fitted and calibrated.
    X : array-like or sparse matrix of shape (m, n)
        New rows.
    y : array-like of shape (m,) or (m, t), optional
        Their responses, drawn as points.
    level : float
    response : int
        Which target.
    ax : matplotlib Axes, optional
    **band_kw
        For the band.

    Returns
    -------
    IntervalDisplay
        Drawn on its `ax_`.
    """
    if not hasattr(estimator, "predict_interval"):
        accepted = "a fitted and calibrated SqrtLasso or SqrtLassoCV"
        raise not_accepted(estimator, accepted, "one")
    ends = estimator.predict_interval(X, level)
    predictions = np.asarray(estimator.predict(X))
    several = ends.ndim == 3
    response = check_index("response", response, ends.shape[1] if several else 1)
    known = None if y is None else np.asarray(y, dtype=np.float64)
    if several:
        ends, predictions = ends[:, response], predictions[:, response]
        known = known if known is None or known.ndim == 1 else known[:, response]
    if known is not None and known.shape != predictions.shape:
        raise InvalidInputError(
            f"y has shape {known.shape}, but X has {len(predictions)} rows; pass one response "
            "per row."
        )
    display = IntervalDisplay(
        predictions=predictions,
        intervals=ends,
        y=known,
        level=level,
        method=estimator.calibration_.method,
    )
    return display.plot(ax, **band_kw)
