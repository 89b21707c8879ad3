"""What all plots share: axes, colours, logarithmic penalties, counts on top, legends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import sketchlasso as sl

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "PALETTE",
    "Display",
    "count_axis",
    "dash",
    "hue",
    "ink",
    "legend_beside",
    "log_ticks",
    "penalty_axis",
]

FloatArray = NDArray[np.float64]

# Okabe and Ito's colours, which colour-blind readers can tell apart, less the black and the yellow
# that one of a dark and a light background would swallow.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)))
SIZE = (7.2, 4.2)
COUNTS_SHOWN = 7


@dataclass(eq=False, kw_only=True)
class Display:
    """A plot that has not been drawn yet, or was drawn on `ax_`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn last.
    figure_ : matplotlib Figure
    """

    ax_: Any = field(init=False, repr=False)
    figure_: Any = field(init=False, repr=False)

    def _start(self, ax: Axes | None, size: tuple[float, float] = SIZE) -> Axes:
        """The axes to draw on: those given, else new ones on a figure of their own."""
        axes_type = _axes_type()
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(figsize=size, layout="constrained")
            ax.spines[["top", "right"]].set_visible(False)
        elif not isinstance(ax, axes_type):
            raise sl.InvalidInputError(
                f"ax is a {type(ax).__name__}, but Matplotlib axes or None is accepted; pass what "
                "plt.subplots() returns second."
            )
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def _axes_type() -> type[Any]:
    try:
        from matplotlib.axes import Axes
    except ModuleNotFoundError:
        raise sl.MissingExtraError("Plotting", "matplotlib", "plot") from None
    return Axes


def hue(number: int) -> str:
    """Colour of the series with this number."""
    return PALETTE[number % len(PALETTE)]


def dash(number: int) -> Any:
    """Line style of the series with this number: another one for every round of colours."""
    return DASHES[number // len(PALETTE) % len(DASHES)]


def ink(ax: Axes) -> Any:
    """The colour in which these axes write, dark on light or light on dark."""
    return ax.xaxis.label.get_color()


def penalty_axis(ax: Axes, alphas: ArrayLike) -> None:
    """Make x the penalty on a log scale, the largest at the left.

    Parameters
    ----------
    ax : matplotlib Axes
    alphas : array-like
        All penalties that must be seen.
    """
    values = np.asarray(alphas, dtype=np.float64)
    values = values[np.isfinite(values)]
    if values.size == 0 or values.min() <= 0:
        raise sl.InvalidInputError(
            f"the penalties {'start at 0' if values.size else 'are empty'}, but a logarithmic axis "
            "shows positive ones only; solve for positive alphas."
        )
    low, high = float(values.min()), float(values.max())
    edge = (high / low) ** 0.02 if high > low else 1.5
    ax.set_xscale("log")
    ax.set_xlim(high * edge, low / edge)
    log_ticks(ax.xaxis, low / edge, high * edge)
    ax.set_xlabel(r"penalty $\alpha$, decreasing")


def log_ticks(axis: Any, low: float, high: float) -> None:
    """Write numbers as people do (0.05, 20) where they are neither tiny nor huge."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    decades = np.log10(high / low)
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if decades < 2.2 else (1.0,)))
    axis.set_minor_formatter(NullFormatter())
    if low >= 1e-4 and high <= 1e5:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def count_axis(ax: Axes, alphas: FloatArray, counts: ArrayLike) -> Any:
    """Numbers of non-zero coefficients along the top, at penalties of the grid.

    Parameters
    ----------
    ax : matplotlib Axes
        With a logarithmic penalty axis.
    alphas : ndarray of shape (a,)
    counts : array-like of shape (a,)

    Returns
    -------
    matplotlib SecondaryAxis
    """
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    where = np.geomspace(alphas[0], alphas[-1], COUNTS_SHOWN)
    nearest = np.abs(np.log(alphas[:, None] / where)).argmin(axis=0)
    shown = np.unique(nearest)
    values = np.asarray(counts)[shown]
    top = ax.secondary_xaxis("top")
    top.xaxis.set_major_locator(FixedLocator(alphas[shown].tolist()))
    top.xaxis.set_major_formatter(FixedFormatter([f"{value:.0f}" for value in values]))
    top.xaxis.set_minor_locator(NullLocator())
    top.set_xlabel("non-zero coefficients")
    for part in (top.xaxis.label, *top.get_xticklabels()):
        part.set_color(ink(ax))
    top.tick_params(colors=ink(ax))
    return top


def legend_beside(ax: Axes, handles: Sequence[Any] | None = None) -> Any:
    """A legend right of the axes where the figure makes room for it, else where it hides least."""
    options: dict[str, Any] = {"frameon": False, "fontsize": "small", "labelcolor": ink(ax)}
    if handles is not None:
        options["handles"] = handles
    if ax.figure.get_layout_engine() is None:
        return ax.legend(loc="best", **options)
    return ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), **options)
