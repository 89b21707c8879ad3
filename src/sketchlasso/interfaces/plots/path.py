"""Coefficients against the penalty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces.plots.canvas import (
    Display,
    check_penalties,
    count_axis,
    dash,
    faint_lines,
    hue,
    ink,
    penalty_axis,
)
from sketchlasso.interfaces.plots.inputs import (
    check_top,
    feature_labels,
    is_fitted_model,
    line_of,
    line_of_estimator,
)
from sketchlasso.interfaces.plots.labels import label_line_ends
from sketchlasso.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PathDisplay", "plot_path"]


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
        check_top(top)
        seen = [] if self.alpha_used is None else [self.alpha_used]
        shown = check_penalties(np.append(self.alphas, seen))
        ax = self._start(ax)
        penalty_axis(ax, shown)
        used = np.unique(self.coef.indices)
        values = self.coef[:, used].toarray()
        size = self._sizes(values)
        named = np.argsort(-size, kind="stable")[: min(top, np.count_nonzero(size))]
        self._draw_others(ax, np.delete(values, named, axis=1))
        single = {"marker": "o"} if len(self.alphas) == 1 else {}
        self.lines_: list[Any] = [
            ax.plot(
                self.alphas,
                values[:, column],
                **{"color": hue(rank), "linestyle": dash(rank), **single, **line_kw},
            )[0]
            for rank, column in enumerate(named)
        ]
        if self.alpha_used is not None:
            ax.axvline(self.alpha_used, color=ink(ax), linewidth=1.1, linestyle=":")
            ax.set_xlabel(f"{ax.get_xlabel()} (dotted: {self.alpha_used:.3g}, used by the model)")
        ax.set_ylabel("coefficient")
        ax.set_ylim(*_room(values))
        self.count_axis_ = count_axis(ax, self.alphas, np.diff(self.coef.indptr))
        self.labels_ = label_line_ends(
            ax,
            float(self.alphas[-1]),
            values[-1, named],
            [str(self.feature_names[used[column]]) for column in named],
            [line.get_color() for line in self.lines_],
            outside=self._own,
        )
        return self

    def _draw_others(self, ax: Axes, values: FloatArray) -> None:
        ax.axhline(0.0, color=ink(ax), linewidth=0.6, zorder=1)
        # A crowd of lines would end in one black blot; small ones step back.
        faint = max(0.04, 0.35 * min(1.0, (CROWD / max(values.shape[1], 1)) ** 0.6))
        peak = np.abs(values).max(axis=0)
        shades = faint + (0.4 - faint) * (peak / (peak.max(initial=0.0) or 1.0)) ** 2
        self.others_ = faint_lines(ax, self.alphas, values, shades)

    def _sizes(self, values: FloatArray) -> FloatArray:
        """How large a coefficient is: at the penalty used, else where it is largest."""
        if self.alpha_used is None:
            return np.asarray(np.abs(values).max(axis=0, initial=0.0))
        at = np.abs(np.log(self.alphas / self.alpha_used)).argmin()
        return np.asarray(np.abs(values[at]))


def _room(values: FloatArray) -> tuple[float, float]:
    """Limits with some air around what is drawn, zero included."""
    low, high = min(0.0, values.min(initial=0.0)), max(0.0, values.max(initial=0.0))
    air = 0.04 * (high - low) or 1.0
    return float(low - air), float(high + air)


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

    An estimator keeps one model only, so the path that it lies on is solved again, on its sketch
    and at its radius; for a fit with sample weights pass a :class:`Path` of your own.

    Parameters
    ----------
    source : Path or fitted estimator
    X : array-like or sparse matrix of shape (n_samples, n_features), optional
        What an estimator was fitted on; not for a path.
    y : array-like of shape (n_samples,) or (n_samples, n_targets), optional
        As X.
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
        line = line_of(source, response, radius)
    elif not is_fitted_model(source):
        raise InvalidInputError(
            f"a {type(source).__name__} was given, but a Path or a fitted estimator is accepted; "
            "pass what sqrt_lasso_path or fit returns."
        )
    elif X is None or y is None:
        raise InvalidInputError(
            f"a {type(source).__name__} was given without data, but it keeps one model only; "
            "pass X and y as well, or a Path from sqrt_lasso_path."
        )
    else:
        line, used = line_of_estimator(source, X, y, response)
        if feature_names is None:
            feature_names = getattr(source, "feature_names_in_", None)
    display = PathDisplay(
        alphas=line.alphas,
        coef=line.coef,
        feature_names=feature_labels(feature_names, line.coef.shape[1]),
        alpha_used=used,
    )
    return display.plot(ax, top=top, **line_kw)
