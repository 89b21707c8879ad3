"""Parts of all plots: axes, colours, logarithmic penalties, labels, legends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sketchlasso.errors import InvalidInputError, MissingExtraError, SketchlassoWarning
from sketchlasso.interfaces import COLOURS, as_drawn
from sketchlasso.types import FloatArray, is_whole
from sketchlasso.warn import warn_user

if TYPE_CHECKING:
    import matplotlib.axes

Axes: TypeAlias = "matplotlib.axes.Axes"

# The penalty of a model has this style in every plot.
CHOSEN: dict[str, Any] = {"linestyle": "--", "linewidth": 1.2}
# Fonts for scripts that Matplotlib's own font does not have; the installed ones are used.
FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans Devanagari",
    "Noto Sans Bengali",
    "Noto Sans Arabic",
    "Noto Sans Thai",
    "Microsoft YaHei",
    "Hiragino Sans",
    "Arial Unicode MS",
)


def start(ax: Axes | None, size: tuple[float, float] = (7.2, 4.2)) -> Axes:
    """Return the axes to draw on: those given, else those of a new figure."""
    try:
        from matplotlib.axes import Axes as AxesType
    except ModuleNotFoundError:
        raise MissingExtraError("Plotting", "matplotlib", "plot") from None
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=size, layout="constrained")
        ax.spines[["top", "right"]].set_visible(False)
    elif not isinstance(ax, AxesType):
        raise InvalidInputError(
            f"ax must be Matplotlib axes or None, not a {type(ax).__name__}; pass what "
            "plt.subplots() returns second."
        )
    return ax


def hue(number: int) -> str:
    """Return the colour of the series with this number."""
    return COLOURS[number % len(COLOURS)]


def ink(ax: Axes) -> Any:
    """Return the text colour of these axes."""
    return ax.xaxis.label.get_color()


def check_index(name: str, value: int, count: int) -> int:
    """Return a position in a list of `count`, counted from the end if negative."""
    if not is_whole(value) or not -count <= value < count:
        raise InvalidInputError(f"{name} must be an integer from 0 to {count - 1}, not {value!r}.")
    return int(value) % count


def check_top(top: int) -> int:
    """Return how many features to show or name."""
    if not is_whole(top) or top < 0:
        raise InvalidInputError(f"top must be an integer >= 0, not {top!r}.")
    return int(top)


def feature_labels(
    names: Sequence[str] | None, n: int, default: Sequence[str] | None = None
) -> list[str]:
    """Return the names of n features: those given, else the default ones, else x0, x1, ..."""
    if names is None:
        names = [f"x{j}" for j in range(n)] if default is None else default
    if isinstance(names, str) or len(names) != n:
        raise InvalidInputError(
            f"feature_names must hold one name for each of the {n} features, not "
            f"{1 if isinstance(names, str) else len(names)}."
        )
    return [str(name) for name in names]


def check_penalties(alphas: ArrayLike) -> FloatArray:
    """Refuse penalties that a log scale cannot show, before any figure is made."""
    values = np.asarray(alphas, dtype=np.float64)
    if values.size == 0 or not np.isfinite(values).all() or values.min() <= 0:
        smallest = f"the smallest is {values.min():g}" if values.size else "there is none"
        raise InvalidInputError(f"a plot shows positive penalties, but {smallest}.")
    return values


def penalty_axis(ax: Axes, alphas: ArrayLike) -> None:
    """Make x the penalty on a log scale, the largest of `alphas` at the left."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    values = check_penalties(alphas)
    low, high = float(values.min()), float(values.max())
    edge = (high / low) ** 0.02 if high > low else 1.5
    ax.set_xscale("log")
    ax.set_xlim(high * edge, low / edge)
    ax.set_xlabel(r"penalty $\alpha$, decreasing")
    narrow = extent_in_points(ax)[0] < 250
    few_decades = np.log10(high / low) < (1.2 if narrow else 2.2)
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few_decades else (1.0,)))
    ax.xaxis.set_minor_formatter(NullFormatter())
    if low >= 1e-4 and high <= 1e5:  # numbers without exponents
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def count_axis(ax: Axes, alphas: FloatArray, counts: ArrayLike, label: str) -> None:
    """Write counts (a,) along the top, at some of the alphas (a,)."""
    from matplotlib.ticker import NullLocator

    # Four digits need 34 points.
    at_most = int(np.clip(extent_in_points(ax)[0] / 34.0, 2, 7))
    where = np.geomspace(alphas[0], alphas[-1], at_most)
    shown = np.unique(np.abs(np.log(alphas[:, None] / where)).argmin(axis=0))
    top = ax.secondary_xaxis("top")
    top.set_xticks(alphas[shown], [f"{value:.0f}" for value in np.asarray(counts)[shown]])
    top.xaxis.set_minor_locator(NullLocator())
    top.set_xlabel(label)
    top.xaxis.label.set_color(ink(ax))
    top.tick_params(colors=ink(ax))


def ranked_lines(ax: Axes, alphas: FloatArray, values: FloatArray, **line_kw: Any) -> list[Any]:
    """Draw the columns of values (a, l) against alphas (a,), each in its own style."""
    dashes = ("-", (0, (5, 1.5)), (0, (1, 1)))
    lines = []
    for rank, line in enumerate(values.T):
        # Another style each time the colours start again.
        dash = dashes[rank // len(COLOURS) % len(dashes)]
        style: dict[str, Any] = {"color": hue(rank), "linestyle": dash}
        if len(alphas) == 1:
            style["marker"] = "o"
        lines += ax.plot(alphas, line, **{**style, **line_kw})
    return lines


def faint_lines(ax: Axes, alphas: FloatArray, values: FloatArray, shade: float) -> None:
    """Draw thousands of lines (a, k) as one collection."""
    from matplotlib.collections import LineCollection

    segments = [np.column_stack([alphas, line]) for line in values.T]
    lines = LineCollection(segments, colors=ink(ax), alpha=shade, linewidths=0.7, zorder=1.5)
    ax.add_collection(lines, autolim=False)


def legend(ax: Axes, handles: Sequence[Any], title: str | None = None) -> None:
    """Draw a legend below the axes, where it hides nothing."""
    columns = 1 if extent_in_points(ax)[0] < 300 else 2
    box = ax.legend(
        handles=handles,
        title=title,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        borderaxespad=4.5,
        ncols=min(columns, len(handles)),
        frameon=False,
        fontsize="small",
        title_fontsize="small",
        labelcolor=ink(ax),
    )
    box.get_title().set_color(ink(ax))


def labels_of(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return names as they are written, and the fonts to write them with.

    Long names are shortened. A warning says which characters no installed font has.
    """
    from matplotlib import font_manager, rcParams

    families = list(rcParams["font.family"])
    short = [name if len(name) <= 28 else f"{name[:27]}…" for name in names]
    missing = {character for name in short for character in name if ord(character) > 127}
    if missing:
        installed = set(font_manager.get_font_names())
        families += [family for family in FONTS if family in installed]
        for family in families:
            path = font_manager.findfont(font_manager.FontProperties(family=[family]))
            missing -= set(map(chr, font_manager.get_font(path).get_charmap()))
    if missing:
        some = "".join(sorted(missing)[:10])
        warn_user(
            SketchlassoWarning(
                f"no installed font has {len(missing)} characters of the names ({some}), so the "
                "plot shows question marks; install a font that has them, such as one of Noto."
            )
        )
        short = ["".join("?" if c in missing else c for c in name) for name in short]
    return list(map(as_drawn, short)), families


def name_line_ends(ax: Axes, lines: Sequence[Any], names: Sequence[str]) -> None:
    """Name lines right of the axes, each as near to its end as the other labels allow."""
    from sklearn.isotonic import isotonic_regression

    if not lines:
        return
    texts, families = labels_of(names)
    settle(ax)
    ends = np.array([(line.get_xdata()[-1], line.get_ydata()[-1]) for line in lines], dtype=float)
    heights = ax.transAxes.inverted().transform(ax.transData.transform(ends))[:, 1]
    # Places in [0, 1] in the order of the ends and a line apart, by least squares: the i-th place
    # less i distances comes from isotonic regression.
    distance = min(1.3 * small() / extent_in_points(ax)[1], 1.0 / max(len(lines) - 1, 1))
    order = np.argsort(heights, kind="stable")
    steps = distance * np.arange(len(lines))
    room = max(0.0, 1.0 - steps[-1])
    places = np.empty(len(lines))
    places[order] = steps + isotonic_regression(heights[order] - steps, y_min=0.0, y_max=room)
    for text, end, line, place in zip(texts, ends, lines, places, strict=True):
        leader = {"arrowstyle": "-", "color": line.get_color(), "linewidth": 0.9, "shrinkB": 0.0}
        ax.annotate(
            text,
            xy=tuple(end),
            xytext=(1.04, place),
            textcoords="axes fraction",
            va="center",
            fontsize=small(),
            fontfamily=families,
            color=ink(ax),
            annotation_clip=False,
            arrowprops={**leader, "shrinkA": 1.0, "relpos": (0.0, 0.5)},
        )


def name_points(ax: Axes, points: FloatArray, names: Sequence[str]) -> None:
    """Name points (l, 2), the most important first, inside the axes and not over other labels."""
    from matplotlib.patheffects import withStroke

    texts, families = labels_of(names)
    settle(ax)
    renderer = ax.figure.canvas.get_renderer()  # type: ignore[attr-defined]
    halo = [withStroke(linewidth=2.5, foreground=ax.get_facecolor(), alpha=0.9)]
    frame = ax.get_window_extent(renderer)
    taken: list[Any] = []
    for text, point in zip(texts, points, strict=True):
        for side, up in ((1, 1), (-1, 1), (1, -1), (-1, -1)):
            label = ax.annotate(
                text,
                xy=(float(point[0]), float(point[1])),
                xytext=(4 * side, 4 * up),
                textcoords="offset points",
                ha="left" if side > 0 else "right",
                va="bottom" if up > 0 else "top",
                fontsize=small(),
                fontfamily=families,
                color=ink(ax),
                path_effects=halo,
            )
            box = label.get_window_extent(renderer)
            inside = frame.x0 <= box.x0 and box.x1 <= frame.x1 and box.y1 <= frame.y1
            if inside and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            label.remove()


def settle(ax: Axes) -> None:
    """Let the figure's layout, if it has one, give the axes their final size."""
    engine = ax.figure.get_layout_engine()
    if engine is not None:
        root: Any = ax.figure.figure
        engine.execute(root)


def extent_in_points(ax: Axes) -> FloatArray:
    """Return width and height (2,) of the axes, in points."""
    return np.asarray(ax.get_window_extent().size) * 72.0 / ax.figure.dpi


def small() -> float:
    """Return the size of small letters, in points."""
    from matplotlib.font_manager import FontProperties

    return float(FontProperties(size="small").get_size_in_points())
