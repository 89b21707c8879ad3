"""How often features are chosen on half-samples, against the penalty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces.plots.canvas import Display, dash, faint_lines, hue, ink, penalty_axis
from sketchlasso.interfaces.plots.inputs import check_top, feature_labels
from sketchlasso.interfaces.plots.labels import label_line_ends
from sketchlasso.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["StabilityDisplay", "plot_stability"]


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
        Of the features that are named, those chosen most often first.
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
        check_top(top)
        ax = self._start(ax)
        penalty_axis(ax, self.alphas)
        order = self.selected[np.argsort(-self.shares[-1, self.selected], kind="stable")]
        named = order[:top]
        others = np.setdiff1d(np.flatnonzero(self.shares[-1]), named)
        shades = np.full(len(others), 0.25)
        self.others_ = faint_lines(ax, self.alphas, self.shares[:, others], shades)
        self.lines_: list[Any] = [
            ax.plot(
                self.alphas,
                self.shares[:, feature],
                **{"color": hue(rank), "linestyle": dash(rank), **line_kw},
            )[0]
            for rank, feature in enumerate(named)
        ]
        self.cutoff_line_ = ax.axhline(self.cutoff, color=ink(ax), linewidth=1.1, linestyle=":")
        ax.set_ylim(-0.02, 1.04)
        ax.set_ylabel("share of half-samples")
        ax.set_title(
            f"{len(self.selected)} selected at {self.cutoff:g} (dotted); "
            f"at most {self.pfer:.3g} expected to be noise",
            fontsize="medium",
            color=ink(ax),
        )
        self.labels_ = label_line_ends(
            ax,
            float(self.alphas[-1]),
            self.shares[-1, named],
            [str(self.feature_names[feature]) for feature in named],
            [line.get_color() for line in self.lines_],
            outside=self._own,
        )
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
    if feature_names is None:
        feature_names = getattr(selector, "feature_names_in_", None)
    display = StabilityDisplay(
        alphas=selector.alphas_,
        shares=selector.stability_path_,
        cutoff=selector.cutoff_,
        selected=selector.get_support(indices=True),
        pfer=selector.pfer_,
        feature_names=feature_labels(feature_names, selector.n_features_in_),
    )
    return display.plot(ax, top=top, **line_kw)
