"""The option --plot of fit and cv: scores, path and effects in one picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np

import sketchlasso as sl
from sketchlasso.interfaces.commands.describe import feature_name
from sketchlasso.interfaces.commands.effects import effects_of
from sketchlasso.interfaces.commands.given import Given
from sketchlasso.interfaces.commands.outputs import panels, plot_option, save_picture
from sketchlasso.interfaces.commands.report import wrote
from sketchlasso.interfaces.models import Model
from sketchlasso.interfaces.plots.canvas import hue

__all__ = ["Picture", "draw_model"]

Picture = Annotated[
    Path | None,
    plot_option("Picture of the path and the effects, in cv of the scores too"),
]
MOST_BARS = 15


def draw_model(estimator: Model, given: Given, path: Path | None) -> tuple[tuple[str, str], ...]:
    """Draw the scores of a search, the path and the effects; of several classes the first."""
    if path is None:
        return ()
    by_penalty = []
    if hasattr(estimator, "score_path_"):
        by_penalty.append("scores")
    if not isinstance(given.X, sl.io.BlockMatrix):
        by_penalty.append("path")
    axes = panels([[name, "effects"] for name in by_penalty] or [["effects"]])
    if "scores" in axes:
        sl.plots.plot_cv(estimator, ax=axes["scores"])
    if "path" in axes:
        names, y = given.names, given.response
        drawn = sl.plots.plot_path(estimator, given.X, y, feature_names=names, ax=axes["path"])
        if "scores" in axes:
            _share_penalties(axes["scores"], drawn)
    _draw_effects(estimator, given, axes["effects"])
    save_picture(axes["effects"], path)
    return wrote(path)


def _share_penalties(scores: Any, drawn: sl.plots.PathDisplay) -> None:
    """Give the path the penalties of the scores above it, so that both are labelled once."""
    (left, right), (first, last) = scores.get_xlim(), drawn.ax_.get_xlim()
    for ax in (scores, drawn.ax_):
        ax.set_xlim(max(left, first), min(right, last))
    scores.set_xlabel("")
    scores.tick_params(axis="x", which="both", labelbottom=False)
    drawn.count_axis_.set_visible(False)


def _draw_effects(estimator: Model, given: Given, ax: Any) -> None:
    """Draw the largest effects as bars, the largest on top."""
    effects = effects_of(estimator, given.X)[0]
    used = np.flatnonzero(effects)
    order = used[np.argsort(-np.abs(effects[used]), kind="stable")][:MOST_BARS][::-1]
    names = [feature_name(given.names, int(j)) for j in order]
    ax.barh(names, effects[order], color=[hue(int(effects[j] < 0)) for j in order])
    ax.locator_params(axis="x", nbins=5)
    ax.axvline(0.0, color="0.5", linewidth=0.8)
    ax.set_xlabel("effect of one standard deviation")
    ax.set_title(f"{len(order)} largest of {len(used)} effects", fontsize="medium")
