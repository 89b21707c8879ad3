"""Prediction intervals of rows in the order of their predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces.models import Regressor
from sketchlasso.interfaces.plots.canvas import Display, hue, ink, opacity
from sketchlasso.interfaces.plots.inputs import check_index
from sketchlasso.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["IntervalDisplay", "plot_intervals"]


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
        words = f"{100 * self.level:g} % intervals ({self.method})"
        if self.y is not None:
            own = self.y[order]
            inside = (low <= own) & (own <= high)
            self.coverage_ = float(inside.mean())
            dots: dict[str, Any] = {"linestyle": "none", "markersize": 3.0}
            (self.inside_,) = ax.plot(
                place[inside], own[inside], marker="o", color=ink(ax), label="inside", **dots
            )
            (self.outside_,) = ax.plot(
                place[~inside], own[~inside], marker="x", color=hue(1), label="outside", **dots
            )
            words += f", {100 * self.coverage_:.1f} % of {len(own)} responses inside"
        ax.set_xlabel("rows, by their predictions")
        ax.set_ylabel("response")
        ax.set_title(words, fontsize="medium", color=ink(ax))
        handles = [self.band_, self.line_, self.inside_, self.outside_]
        self._legend(ax, [handle for handle in handles if handle is not None])
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
        raise InvalidInputError(
            f"a {type(estimator).__name__} was given, but a fitted and calibrated SqrtLasso or "
            "SqrtLassoCV is accepted; pass one."
        )
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
