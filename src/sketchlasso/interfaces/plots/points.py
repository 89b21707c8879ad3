"""Estimates with confidence intervals, p-values, and the influence of single rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces.plots import canvas
from sketchlasso.interfaces.plots.canvas import Axes, hue, ink
from sketchlasso.types import FloatArray, is_number


def _one_response(inference: object, response: int) -> Callable[[FloatArray], FloatArray]:
    """Return a function that takes one response (c,) of the arrays of an inference."""
    if not isinstance(inference, sl.inference.Desparsified | sl.inference.TreatmentEffects):
        raise InvalidInputError(
            "inference must be what desparsified or treatment_effect returns, not a "
            f"{type(inference).__name__}."
        )
    several = inference.estimate.ndim == 2
    at = canvas.check_index("response", response, inference.estimate.shape[1] if several else 1)
    return lambda values: values[..., at] if several else values


def plot_forest(
    inference: sl.inference.Desparsified | sl.inference.TreatmentEffects,
    *,
    level: float = 0.95,
    top: int = 20,
    simultaneous: bool = False,
    feature_names: Sequence[str] | None = None,
    response: int = 0,
    random_state: Any = 0,
    ax: Axes | None = None,
    **line_kw: Any,
) -> Axes:
    """Draw estimates with their confidence intervals, the smallest p-value on top.

    Parameters
    ----------
    inference : Desparsified or TreatmentEffects
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
    matplotlib Axes
    """
    one = _one_response(inference, response)
    names = canvas.feature_labels(feature_names, len(inference.estimate), inference.names)
    order = np.argsort(one(inference.p_value), kind="stable")[: canvas.check_top(top)]
    wide = None
    if simultaneous:
        if not isinstance(inference, sl.inference.Desparsified):
            raise InvalidInputError(
                "only a Desparsified has simultaneous intervals; leave simultaneous out."
            )
        wide = one(inference.simultaneous(level, random_state=random_state))
    heights = np.arange(len(order))[::-1]
    ax = canvas.start(ax, (7.2, 1.2 + 0.28 * max(len(order), 3)))
    ax.axvline(0.0, color=ink(ax), linewidth=0.8, alpha=0.6, zorder=1)
    words = f"estimate and {100 * level:g} % interval"
    if wide is not None:
        ax.hlines(heights, *wide[:, order], color=hue(0), linewidth=0.8, alpha=0.7)
        words += ", thin: simultaneous"
    ax.hlines(heights, *one(inference.interval(level))[:, order], color=hue(0), linewidth=2.2)
    options = {"marker": "o", "markersize": 4.5, "color": hue(1), "linestyle": "", **line_kw}
    ax.plot(one(inference.estimate)[order], heights, zorder=3, **options)
    texts, families = canvas.labels_of([names[j] for j in order])
    ax.set_yticks(heights, texts, fontfamily=families)
    ax.set_ylim(-0.7, max(len(order), 1) - 0.3)
    ax.set_xlabel(words)
    return ax


def plot_volcano(
    inference: sl.inference.Desparsified | sl.inference.TreatmentEffects,
    *,
    cutoff: float = 0.05,
    adjustment: Any = "benjamini-hochberg",
    top: int = 8,
    feature_names: Sequence[str] | None = None,
    response: int = 0,
    ax: Axes | None = None,
    **scatter_kw: Any,
) -> Axes:
    """Draw p-values against estimates, and name the features of the smallest ones.

    Parameters
    ----------
    inference : Desparsified or TreatmentEffects
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
    matplotlib Axes
    """
    if not (is_number(cutoff) and 0 < cutoff < 1):
        raise InvalidInputError(f"cutoff must be strictly between 0 and 1, not {cutoff!r}.")
    one = _one_response(inference, response)
    names = canvas.feature_labels(feature_names, len(inference.estimate), inference.names)
    p_value = one(inference.p_value)
    named = np.argsort(p_value, kind="stable")[: canvas.check_top(top)]
    discovered = one(inference.adjusted(adjustment)) <= cutoff
    # Smaller doubles lose precision.
    points = np.column_stack([one(inference.estimate), -np.log10(np.maximum(p_value, 1e-300))])
    groups = [
        (chosen, f"adjusted p {sign} {cutoff:g} ({np.count_nonzero(chosen)})", marker)
        for chosen, sign, marker in ((~discovered, ">", "o"), (discovered, "<=", "^"))
    ]
    ax = canvas.start(ax)
    _scatter(ax, points, groups, adjustment, **scatter_kw)
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel("estimate")
    ax.set_ylabel(r"$-\log_{10}$ of the p-value")
    canvas.name_points(ax, points[named], [names[j] for j in named])
    return ax


def plot_leave_one_out(
    result: sl.LeaveOneOut,
    *,
    top: int = 6,
    row_names: Sequence[str] | None = None,
    ax: Axes | None = None,
    **scatter_kw: Any,
) -> Axes:
    """Draw how far the model moves without each row, against how badly it predicts that row.

    Parameters
    ----------
    result : LeaveOneOut
    top : int
        How many rows to name: those of the largest shifts.
    row_names : sequence of str of length m, optional
        One per row of X; by default rows are named by their numbers, counted from 0.
    ax : matplotlib Axes, optional
    **scatter_kw
        For the points.

    Returns
    -------
    matplotlib Axes
    """
    if not isinstance(result, sl.LeaveOneOut):
        raise InvalidInputError(
            f"result must be what leave_one_out returns, not a {type(result).__name__}."
        )
    rows, shift = result.rows, result.coefficient_shift
    if row_names is not None and (isinstance(row_names, str) or len(row_names) <= rows.max()):
        raise InvalidInputError(
            f"row_names must hold one name for each row of X, of which row {rows.max()} was left "
            f"out, not {1 if isinstance(row_names, str) else len(row_names)}."
        )
    top = canvas.check_top(top)
    changed = (result.features_gained + result.features_lost) > 0
    points = np.column_stack([result.residuals, shift])
    groups = [
        (~changed, f"same features ({np.count_nonzero(~changed)})", "o"),
        (changed, f"other features ({np.count_nonzero(changed)})", "^"),
    ]
    ax = canvas.start(ax)
    _scatter(ax, points, groups, "without the row", **scatter_kw)
    ax.set_xlabel("residual of the left-out row")
    ax.set_ylabel("shift of the coefficients")
    largest = np.argsort(-shift, kind="stable")[: min(top, np.count_nonzero(shift > 0))]
    names = [f"row {row}" if row_names is None else str(row_names[row]) for row in rows[largest]]
    canvas.name_points(ax, points[largest], names)
    return ax


def _scatter(
    ax: Axes,
    points: FloatArray,
    groups: Sequence[tuple[NDArray[np.bool_], str, str]],
    title: str,
    **scatter_kw: Any,
) -> None:
    """Draw points (p, 2) in groups around x = 0, each a mask (p,), a label and a marker."""
    ax.axvline(0.0, color=ink(ax), linewidth=0.6, alpha=0.5, zorder=1)
    common: dict[str, Any] = {"s": 18, "alpha": 0.75, "linewidths": 0}
    handles = [
        ax.scatter(
            *points[chosen].T,
            marker=marker,
            label=label,
            **{**common, "color": hue(number), **scatter_kw},
        )
        for number, (chosen, label, marker) in enumerate(groups)
    ]
    ax.margins(0.08)
    ax.autoscale_view()
    canvas.legend(ax, handles, title)
