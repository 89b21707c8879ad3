"""Drawing pictures, light and dark; Matplotlib is imported when something is drawn."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

from reproduction.experiment import Picture
from sketchlasso.interfaces import COLOURS as PALETTE

__all__ = ["PALETTE", "drawn", "tidy"]

COMMON: dict[str, Any] = {
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "lines.linewidth": 1.6,
    "svg.fonttype": "path",
    "svg.hashsalt": "sketchlasso",
}
# No picture uses a colour of the light pages for anything else.
TEXT, BACK, GRID = (("#1f2328", "#dfe3e8"), ("#ffffff", "#16191d"), ("#e4e7eb", "#31363d"))


def drawn(draw: Callable[[Any], None], size: tuple[float, float], caption: str) -> Picture:
    """Draw on a figure of a size in inches; only colours differ between light and dark."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    inked = ["text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"]
    faces = ["figure.facecolor", "axes.facecolor", "savefig.facecolor"]
    colours = dict.fromkeys(inked, TEXT[0]) | dict.fromkeys(faces, BACK[0])
    settings: Any = {**COMMON, **colours, "grid.color": GRID[0]}
    with mpl.rc_context(settings):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        file = io.BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    light = file.getvalue().decode()
    dark = dict((TEXT, BACK, GRID))
    return Picture(light, re.sub("|".join(dark), lambda match: dark[match[0]], light), caption)


def tidy(ax: Any, x: str, y: str, title: str = "", whole: bool = False, **scales: str) -> None:
    """Name the axes, set their scales and readable ticks; `whole` numbers along x on request."""
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    if title:
        ax.set_title(title, fontsize=9.5, loc="left")
    if whole:
        ax.xaxis.get_major_locator().set_params(integer=True)
    if scales.get("xscale") == "log":
        ax.set_xscale("log")
        _plain_log(ax.xaxis)
    if scales.get("yscale") == "log":
        ax.set_yscale("log")
        _plain_log(ax.yaxis)


def _plain_log(axis: Any) -> None:
    """Write numbers on a logarithmic axis in plain form: 0.05, 20, 3000."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 60 * low else (1.0,)))
    axis.set_minor_formatter(NullFormatter())
    if low >= 1e-4 and high <= 1e6:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
