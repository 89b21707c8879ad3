"""Parts of all plots: axes, colours, logarithmic penalties, counts on top, points, legends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sketchlasso.errors import InvalidInputError, MissingExtraError
from sketchlasso.types import FloatArray

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.collections

Axes: TypeAlias = "matplotlib.axes.Axes"
# Points that look alike: a mask (p,), a label and a marker.
Group: TypeAlias = tuple[NDArray[np.bool_], str | None, str]

# Okabe and Ito's colours, which colour-blind readers can distinguish, without the black and the
# yellow, which are hard to see on a dark or a light background.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)))
SIZE = (7.2, 4.2)
# With a legend next to the axes.
WIDE = (8.8, 4.2)
COUNTS_SHOWN = 7  # at most, along the top
# Points that a count of four digits needs.
COUNT_WIDTH = 34.0


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
    _own: bool = field(init=False, repr=False, default=False)

    def _start(self, ax: Axes | None, size: tuple[float, float] = SIZE) -> Axes:
        """Return the axes to draw on: those given, else those of a new figure."""
        try:
            from matplotlib.axes import Axes as AxesType
        except ModuleNotFoundError:
            raise MissingExtraError("Plotting", "matplotlib", "plot") from None
        self._own = ax is None
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(figsize=size, layout="constrained")
            ax.spines[["top", "right"]].set_visible(False)
        elif not isinstance(ax, AxesType):
            raise InvalidInputError(
                f"ax is a {type(ax).__name__}, but Matplotlib axes or None is accepted; pass what "
                "plt.subplots() returns second."
            )
        self.ax_, self.figure_ = ax, ax.figure
        return ax

    def _legend(
        self, ax: Axes, handles: Sequence[Any], title: str | None = None, inside: str = "best"
    ) -> Any:
        """Draw a legend: next to the axes of a new figure, else inside, where it hides least.

        Inside, its background is opaque, so that no line crosses the text.
        """
        where: dict[str, Any] = {"loc": inside, "facecolor": ax.get_facecolor()}
        if self._own:
            where = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
        legend = ax.legend(
            handles=handles,
            title=title,
            alignment="left",
            frameon=not self._own,
            framealpha=1.0,
            edgecolor="none",
            fontsize="small",
            title_fontsize="small",
            labelcolor=ink(ax),
            **where,
        )
        legend.get_title().set_color(ink(ax))
        return legend

    def _draw_groups(
        self,
        ax: Axes,
        points: FloatArray,
        groups: Sequence[Group],
        *,
        title: str | None = None,
        bottom: float | None = None,
        **scatter_kw: Any,
    ) -> None:
        """Draw points (p, 2) in groups around x = 0, below a legend that hides none of them."""
        ax.axvline(0.0, color=ink(ax), linewidth=0.6, alpha=0.5, zorder=1)
        self.points_: Any = scatter_groups(ax, points, groups, **scatter_kw)
        ax.margins(0.06)
        ax.autoscale_view()
        if bottom is not None:
            ax.set_ylim(bottom=bottom)
        if not self._own:
            headroom(ax, len(self.points_))
        self.legend_ = self._legend(ax, self.points_, title, inside="upper center")


def hue(number: int) -> str:
    """Return the colour of the series with this number."""
    return PALETTE[number % len(PALETTE)]


def dash(number: int) -> Any:
    """Return the line style of a series: another one each time the colours start again."""
    return DASHES[number // len(PALETTE) % len(DASHES)]


def ink(ax: Axes) -> Any:
    """Return the text colour of these axes."""
    return ax.xaxis.label.get_color()


def opacity(ax: Axes, on_light: float) -> float:
    """Return the opacity of a mark; larger on a dark background, which would dim it."""
    from matplotlib.colors import rgb_to_hsv, to_rgb

    brightness = float(rgb_to_hsv(to_rgb(ax.get_facecolor()))[2])
    return on_light if brightness > 0.5 else 0.5 + 0.5 * on_light


def check_penalties(alphas: ArrayLike) -> FloatArray:
    """Refuse penalties that a log scale cannot show, before any figure is made."""
    values = np.asarray(alphas, dtype=np.float64)
    if values.size == 0 or not np.isfinite(values).all() or values.min() <= 0:
        smallest = (
            f"the smallest penalty is {values.min():g}" if values.size else "no penalty was given"
        )
        raise InvalidInputError(
            f"{smallest}, but a logarithmic axis shows positive ones only; solve for positive "
            "alphas."
        )
    return values


def penalty_axis(ax: Axes, alphas: ArrayLike) -> None:
    """Make x the penalty on a log scale, the largest of `alphas` at the left."""
    values = check_penalties(alphas)
    low, high = float(values.min()), float(values.max())
    edge = (high / low) ** 0.02 if high > low else 1.5
    ax.set_xscale("log")
    ax.set_xlim(high * edge, low / edge)
    log_ticks(ax.xaxis, low / edge, high * edge)
    ax.set_xlabel(r"penalty $\alpha$, decreasing")


def log_ticks(axis: Any, low: float, high: float) -> None:
    """Write numbers without exponents (0.05, 20) where they are neither tiny nor huge."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    decades = np.log10(high / low)
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if decades < 2.2 else (1.0,)))
    axis.set_minor_formatter(NullFormatter())
    if low >= 1e-4 and high <= 1e5:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def count_axis(ax: Axes, alphas: FloatArray, counts: ArrayLike) -> Any:
    """Write counts (a,) of non-zero coefficients along the top, at some of the alphas (a,)."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    shown_at_most = int(np.clip(extent_in_points(ax)[0] / COUNT_WIDTH, 2, COUNTS_SHOWN))
    where = np.geomspace(alphas[0], alphas[-1], shown_at_most)
    nearest = np.abs(np.log(alphas[:, None] / where)).argmin(axis=0)
    shown = np.unique(nearest)
    values = np.asarray(counts)[shown]
    top = ax.secondary_xaxis("top")
    top.xaxis.set_major_locator(FixedLocator(alphas[shown].tolist()))
    top.xaxis.set_major_formatter(FixedFormatter([f"{value:.0f}" for value in values]))
    top.xaxis.set_minor_locator(NullLocator())
    top.set_xlabel("non-zero coefficients")
    top.xaxis.label.set_color(ink(ax))
    top.tick_params(colors=ink(ax))
    return top


def ranked_lines(ax: Axes, alphas: FloatArray, values: FloatArray, **line_kw: Any) -> list[Any]:
    """Draw the columns of values (a, l) against alphas (a,), each in its own style."""
    single = {"marker": "o"} if len(alphas) == 1 else {}
    return [
        ax.plot(alphas, line, **{"color": hue(rank), "linestyle": dash(rank), **single, **line_kw})[
            0
        ]
        for rank, line in enumerate(values.T)
    ]


def faint_lines(
    ax: Axes, alphas: FloatArray, values: FloatArray, shades: FloatArray
) -> matplotlib.collections.LineCollection | None:
    """Draw thousands of lines (a, k) as one collection, with opacities (k,); None for no line."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgba

    if values.shape[1] == 0:
        return None
    segments = [np.column_stack([alphas, line]) for line in values.T]
    colors = [to_rgba(ink(ax), share) for share in shades]
    lines = LineCollection(segments, colors=colors, linewidths=0.7, zorder=1.5)
    ax.add_collection(lines, autolim=False)
    return lines


def scatter_groups(
    ax: Axes,
    points: FloatArray,
    groups: Sequence[Group],
    **scatter_kw: Any,
) -> list[Any]:
    """Draw points (p, 2) in groups, each in its own colour."""
    common: dict[str, Any] = {"s": 18, "alpha": opacity(ax, 0.7), "linewidths": 0}
    return [
        ax.scatter(
            *points[chosen].T,
            marker=marker,
            label=label,
            **{**common, "color": hue(number), **scatter_kw},
        )
        for number, (chosen, label, marker) in enumerate(groups)
    ]


def settle(ax: Axes) -> None:
    """Let the figure's layout, if it has one, give the axes their final size."""
    engine = ax.figure.get_layout_engine()
    if engine is not None:
        root: Any = ax.figure.figure
        engine.execute(root)


def headroom(ax: Axes, lines: int) -> None:
    """Raise the upper limit of y, on a linear scale, by what a legend of some lines needs."""
    share = min(0.5, (1.5 * lines + 1.0) * font_points() / extent_in_points(ax)[1])
    low, high = ax.get_ylim()
    ax.set_ylim(low, low + (high - low) / (1.0 - share))


def extent_in_points(ax: Axes) -> FloatArray:
    """Return width and height (2,) of the axes, in points."""
    return np.asarray(ax.get_window_extent().size) * 72.0 / ax.figure.dpi


def font_points() -> float:
    """Return the size of small letters, in points."""
    from matplotlib.font_manager import FontProperties

    return float(FontProperties(size="small").get_size_in_points())
