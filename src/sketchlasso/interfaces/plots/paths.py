"""Coefficients, and shares of half-samples, against the penalty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces.plots import canvas, inputs
from sketchlasso.interfaces.plots.canvas import Axes, Display, ink
from sketchlasso.interfaces.plots.labels import label_line_ends
from sketchlasso.types import FloatArray

# With more lines than this, unnamed ones are fainter.
CROWD = 40


@dataclass(eq=False, kw_only=True)
class PathDisplay(Display):
    """Coefficients of every feature that is ever used, against the penalty.

    Parameters
    ----------
    alphas : ndarray of shape (a,)
        Largest first.
    coef : csr_array of shape (a, n)
    feature_names : sequence of str of length n
    alpha_used : float, optional
        A penalty to mark.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        The coefficients that are named, largest first.
    others_ : matplotlib LineCollection or None
        All other coefficients that are ever non-zero.
    labels_ : list of matplotlib Annotation
    count_axis_ : matplotlib SecondaryAxis
    """

    alphas: FloatArray
    coef: Any
    feature_names: Sequence[str]
    alpha_used: float | None = None

    def plot(self, ax: Axes | None = None, *, top: int = 8, **line_kw: Any) -> PathDisplay:
        """Draw the path; parameters are those of :func:`plot_path`."""
        inputs.check_top(top)
        seen = [] if self.alpha_used is None else [self.alpha_used]
        shown = canvas.check_penalties(np.append(self.alphas, seen))
        ax = self._start(ax)
        canvas.penalty_axis(ax, shown)
        used = np.unique(self.coef.indices)
        values = self.coef[:, used].toarray()
        size = self._sizes(values)
        named = np.argsort(-size, kind="stable")[: min(top, np.count_nonzero(size))]
        self._draw_others(ax, np.delete(values, named, axis=1))
        self.lines_ = canvas.ranked_lines(ax, self.alphas, values[:, named], **line_kw)
        if self.alpha_used is not None:
            ax.axvline(self.alpha_used, color=ink(ax), linewidth=1.1, linestyle=":")
            ax.set_xlabel(f"{ax.get_xlabel()} (dotted: {self.alpha_used:.3g}, used by the model)")
        ax.set_ylabel("coefficient")
        low, high = min(0.0, values.min(initial=0.0)), max(0.0, values.max(initial=0.0))
        air = 0.04 * (high - low) or 1.0
        ax.set_ylim(float(low - air), float(high + air))
        self.count_axis_ = canvas.count_axis(ax, self.alphas, np.diff(self.coef.indptr))
        names = [str(self.feature_names[used[column]]) for column in named]
        self.labels_ = label_line_ends(ax, self.lines_, names, outside=self._own)
        return self

    def _draw_others(self, ax: Axes, values: FloatArray) -> None:
        ax.axhline(0.0, color=ink(ax), linewidth=0.6, zorder=1)
        # Many lines together would look black; small ones are fainter.
        faint = max(0.04, 0.35 * min(1.0, (CROWD / max(values.shape[1], 1)) ** 0.6))
        peak = np.abs(values).max(axis=0)
        shades = faint + (0.4 - faint) * (peak / (peak.max(initial=0.0) or 1.0)) ** 2
        self.others_ = canvas.faint_lines(ax, self.alphas, values, shades)

    def _sizes(self, values: FloatArray) -> FloatArray:
        """Return sizes of coefficients: at the penalty used, else their largest."""
        if self.alpha_used is None:
            return np.asarray(np.abs(values).max(axis=0, initial=0.0))
        at = np.abs(np.log(self.alphas / self.alpha_used)).argmin()
        return np.asarray(np.abs(values[at]))


def plot_path(
    source: Any,
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    feature_names: Sequence[str] | None = None,
    top: int = 8,
    response: int = 0,
    radius: int = 0,
    ax: Axes | None = None,
    **line_kw: Any,
) -> PathDisplay:
    """Draw coefficients against the penalty, the largest penalty at the left.

    An estimator keeps one model only, so its path is solved again, on its sketch and at its
    radius; for a fit with sample weights pass a :class:`Path` instead.

    Parameters
    ----------
    source : Path or fitted estimator
    X : array-like or sparse matrix of shape (n_samples, n_features), optional
        What an estimator was fitted on; not for a path.
    y : array-like of shape (n_samples,) or (n_samples, n_targets), optional
        The responses of that fit; not for a path.
    feature_names : sequence of str, optional
        By default those an estimator was fitted with.
    top : int
        How many coefficients to name: the largest at the penalty an estimator used, the largest
        anywhere on a path.
    response, radius : int
        Which of those that were solved, counted from 0.
    ax : matplotlib Axes, optional
    **line_kw
        For the lines of the coefficients that are named.

    Returns
    -------
    PathDisplay
        Drawn on its `ax_`.
    """
    used = None
    if isinstance(source, sl.Path):
        line = inputs.line_of(source, response, radius)
    elif not inputs.is_fitted_model(source):
        remedy = "what sqrt_lasso_path or fit returns"
        raise inputs.not_accepted(source, "a Path or a fitted estimator", remedy)
    elif X is None or y is None:
        raise InvalidInputError(
            f"a {type(source).__name__} was given without data, but it keeps one model only; "
            "pass X and y as well, or a Path from sqrt_lasso_path."
        )
    else:
        line, used = inputs.line_of_estimator(source, X, y, response)
    known = getattr(source, "feature_names_in_", None)
    display = PathDisplay(
        alphas=line.alphas,
        coef=line.coef,
        feature_names=inputs.feature_labels(feature_names, line.coef.shape[1], known),
        alpha_used=used,
    )
    return display.plot(ax, top=top, **line_kw)


@dataclass(eq=False, kw_only=True)
class StabilityDisplay(Display):
    """Shares of half-samples on which features have been chosen, against the penalty.

    Parameters
    ----------
    alphas : ndarray of shape (a,)
        Largest first.
    shares : ndarray of shape (a, n)
    cutoff : float
        Share that a selected feature needs at the last penalty.
    selected : ndarray of shape (s,)
        Features that are selected.
    pfer : float
        The bound, for the label.
    feature_names : sequence of str of length n

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        The features that are named, those chosen most often first.
    others_ : matplotlib LineCollection or None
        All other features that are ever chosen.
    labels_ : list of matplotlib Annotation
    cutoff_line_ : matplotlib Line2D
    """

    alphas: FloatArray
    shares: FloatArray
    cutoff: float
    selected: NDArray[np.intp]
    pfer: float
    feature_names: Sequence[str]

    def plot(self, ax: Axes | None = None, *, top: int = 12, **line_kw: Any) -> StabilityDisplay:
        """Draw the paths; parameters are those of :func:`plot_stability`."""
        inputs.check_top(top)
        ax = self._start(ax)
        canvas.penalty_axis(ax, self.alphas)
        order = self.selected[np.argsort(-self.shares[-1, self.selected], kind="stable")]
        named = order[:top]
        others = np.setdiff1d(np.flatnonzero(self.shares[-1]), named)
        shades = np.full(len(others), 0.25)
        self.others_ = canvas.faint_lines(ax, self.alphas, self.shares[:, others], shades)
        self.lines_ = canvas.ranked_lines(ax, self.alphas, self.shares[:, named], **line_kw)
        self.cutoff_line_ = ax.axhline(self.cutoff, color=ink(ax), linewidth=1.1, linestyle=":")
        ax.set_ylim(-0.02, 1.04)
        ax.set_ylabel("share of half-samples")
        ax.set_title(
            f"{len(self.selected)} selected at {self.cutoff:g} (dotted); "
            f"at most {self.pfer:.3g} expected to be noise",
            fontsize="medium",
            color=ink(ax),
        )
        names = [str(self.feature_names[feature]) for feature in named]
        self.labels_ = label_line_ends(ax, self.lines_, names, outside=self._own)
        return self


def plot_stability(
    selector: sl.inference.StabilitySelection,
    *,
    feature_names: Sequence[str] | None = None,
    top: int = 12,
    ax: Axes | None = None,
    **line_kw: Any,
) -> StabilityDisplay:
    """Draw how often each feature has been chosen on half-samples, as the penalty falls.

    Parameters
    ----------
    selector : StabilitySelection
        Fitted.
    feature_names : sequence of str, optional
        By default those the selector was fitted with.
    top : int
        How many of the selected features to name at most, those chosen most often first.
    ax : matplotlib Axes, optional
    **line_kw
        For the lines of the features that are named.

    Returns
    -------
    StabilityDisplay
        Drawn on its `ax_`.
    """
    if not hasattr(selector, "stability_path_"):
        raise InvalidInputError(
            f"a {type(selector).__name__} without paths was given, but a fitted "
            "StabilitySelection is accepted; pass what its fit returns."
        )
    known = getattr(selector, "feature_names_in_", None)
    display = StabilityDisplay(
        alphas=selector.alphas_,
        shares=selector.stability_path_,
        cutoff=selector.cutoff_,
        selected=selector.get_support(indices=True),
        pfer=selector.pfer_,
        feature_names=inputs.feature_labels(feature_names, selector.n_features_in_, known),
    )
    return display.plot(ax, top=top, **line_kw)
