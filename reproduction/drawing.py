"""Drawing pictures, light and dark; Matplotlib is imported when something is drawn."""

from __future__ import annotations

import io
import re
from typing import Any

from reproduction.experiment import Picture
from sketchlasso.interfaces.plots.canvas import PALETTE

__all__ = ["DASHES", "INK", "PALETTE", "drawn", "plain_log", "tidy"]

DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (4, 1, 1, 1)))
# Readable on white and on nearly black alike.
INK = "0.5"
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
# The same keys in both. No picture uses a colour of LIGHT for anything else.
LIGHT = {"text": "#1f2328", "back": "#ffffff", "grid": "#e4e7eb"}
DARK = {"text": "#dfe3e8", "back": "#16191d", "grid": "#31363d"}


def drawn(picture: Picture) -> tuple[bytes, bytes]:
    """Return a picture as the bytes of two SVG files, one for light pages and one for dark.

    Matplotlib draws it once: to lay it out takes most of the time, and only colours differ.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    colours = dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"),
        LIGHT["text"],
    )
    faces = dict.fromkeys(
        ("figure.facecolor", "axes.facecolor", "savefig.facecolor"), LIGHT["back"]
    )
    settings: Any = {**COMMON, **colours, **faces, "grid.color": LIGHT["grid"]}
    with mpl.rc_context(settings):
        figure = Figure(figsize=picture.size, layout="constrained")
        picture.draw(figure)
        file = io.BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    light = file.getvalue()
    dark = {LIGHT[part].encode(): DARK[part].encode() for part in LIGHT}
    return light, re.sub(b"|".join(dark), lambda found: dark[found.group()], light)


def plain_log(axis: Any) -> None:
    """Write numbers on a logarithmic axis in plain form: 0.05, 20, 3000."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    decades = abs(high / low) if low > 0 else 10.0
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if decades < 60 else (1.0,)))
    axis.set_minor_formatter(NullFormatter())
    if low >= 1e-4 and high <= 1e6:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


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
        plain_log(ax.xaxis)
    if scales.get("yscale") == "log":
        ax.set_yscale("log")
        plain_log(ax.yaxis)
