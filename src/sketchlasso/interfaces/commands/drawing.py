"""The option --plot of fit and cv: scores, path and effects in one picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import sketchlasso as sl
from sketchlasso.errors import MissingExtraError
from sketchlasso.interfaces.commands.data import Given
from sketchlasso.interfaces.commands.describe import feature_name
from sketchlasso.interfaces.commands.effects import effects_of
from sketchlasso.interfaces.commands.outputs import save_picture

__all__ = ["Picture", "draw_model"]

Picture = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        show_default=False,
        help="Picture of the path and the effects, in cv of the scores too (.png, .svg, .pdf).",
    ),
]
PANEL = (5.2, 4.0)
MOST_BARS = 15


def draw_model(estimator: Any, given: Given, path: Path | None) -> tuple[tuple[str, str], ...]:
    """Draw the scores of a search, the path and the effects; of several classes the first."""
    if path is None:
        return ()
    searched, in_memory = hasattr(estimator, "score_path_"), not _in_blocks(given)
    canvas = _canvas(searched + in_memory + 1)
    axes = iter(canvas.axes)
    if searched:
        sl.plots.plot_cv(estimator, ax=next(axes))
    if in_memory:
        y = given.response
        sl.plots.plot_path(estimator, given.X, y, feature_names=given.names, ax=next(axes))
    _draw_effects(estimator, given, next(axes))
    save_picture(canvas.axes[0], path)
    return (("wrote", str(path)),)


def _canvas(panels: int) -> Any:
    """Return a figure of so many panels, side by side."""
    try:
        from matplotlib.figure import Figure
    except ImportError as missing:
        raise MissingExtraError("--plot", "matplotlib", "plot") from missing
    figure = Figure(figsize=(panels * PANEL[0], PANEL[1]), layout="constrained")
    figure.subplots(1, panels)
    return figure


def _in_blocks(given: Given) -> bool:
    return isinstance(given.X, sl.io.BlockMatrix)


def _draw_effects(estimator: Any, given: Given, ax: Any) -> None:
    """Draw the largest effects as bars, the largest on top."""
    effects = effects_of(estimator, given.X)[0]
    used = np.flatnonzero(effects)
    order = used[np.argsort(-np.abs(effects[used]), kind="stable")][:MOST_BARS][::-1]
    names = [feature_name(given.names, int(j)) for j in order]
    colours = ["tab:green" if effects[j] > 0 else "tab:red" for j in order]
    ax.barh(names, effects[order], color=colours)
    ax.locator_params(axis="x", nbins=5)
    ax.axvline(0.0, color="0.5", linewidth=0.8)
    ax.set_xlabel("effect of one standard deviation")
    ax.set_title(f"{len(order)} largest of {len(used)} effects")
