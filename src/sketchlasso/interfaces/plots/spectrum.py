"""Singular values of sketches, with their radii: figure 1 of the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import sketchlasso as sl
from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.interfaces.plots.canvas import WIDE, Display, dash, hue, ink, log_ticks
from sketchlasso.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SpectrumDisplay", "plot_spectrum"]


@dataclass(eq=False, kw_only=True)
class SpectrumDisplay(Display):
    """Singular values of one or several sketches, and the radius of each as a horizontal line.

    The effective rank is the number of singular values above the radius: directions that stand
    out from what the sketch left behind.

    Parameters
    ----------
    names : tuple of str
        One a sketch.
    singular_values : tuple of ndarray
        Of shape (rank,) each, largest first.
    radii : tuple of float
        Zero draws no line.
    radius_kinds : tuple of str
        As in :class:`Sketch`.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        Singular values, one line per sketch.
    radius_lines_ : list of matplotlib Line2D
        Of the sketches whose radius is not zero.
    marks_ : list of matplotlib Line2D
        Where the effective rank is reached.
    legend_ : matplotlib Legend
    """

    names: tuple[str, ...]
    singular_values: tuple[FloatArray, ...]
    radii: tuple[float, ...]
    radius_kinds: tuple[str, ...]

    @property
    def effective_ranks(self) -> tuple[int, ...]:
        """Number of singular values above the radius, of every sketch."""
        return tuple(
            int(np.count_nonzero(values > radius))
            for values, radius in zip(self.singular_values, self.radii, strict=True)
        )

    def plot(
        self, ax: Axes | None = None, *, relative: bool | None = None, **line_kw: Any
    ) -> SpectrumDisplay:
        """Draw the singular values; parameters are those of :func:`plot_spectrum`."""
        ax = self._start(ax, WIDE)
        from matplotlib.ticker import MaxNLocator

        relative = len(self.names) > 1 if relative is None else relative
        ax.set_yscale("log")
        self.lines_: list[Any] = []
        self.radius_lines_: list[Any] = []
        self.marks_: list[Any] = []
        for number in range(len(self.names)):
            self._draw_one(ax, number, relative, line_kw)
        ax.set_xlabel("index $i$")
        ax.set_ylabel(
            r"singular value $\sigma_i / \sigma_1$" if relative else r"singular value $\sigma_i$"
        )
        longest = max(len(values) for values in self.singular_values)
        ax.set_xlim(max(0.3, 1 - 0.02 * longest), longest * 1.02 + 0.2)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        log_ticks(ax.yaxis, *ax.get_ylim())
        self.legend_ = self._legend(ax, self._handles(ax))
        return self

    def _draw_one(self, ax: Axes, number: int, relative: bool, line_kw: dict[str, Any]) -> None:
        values = self.singular_values[number]
        unit = float(values[0]) if relative and values[0] > 0 else 1.0
        index = np.arange(1, len(values) + 1)
        style = {"color": hue(number), "linestyle": dash(number), "linewidth": 1.8, **line_kw}
        if len(values) == 1:
            style = {"marker": "o", **style}
        label = self._words(number, relative, unit)
        # What is zero has no place on a log scale.
        shown = np.where(values > 0, values / unit, np.nan)
        (line,) = ax.plot(index, shown, label=label, **style)
        self.lines_.append(line)
        radius, rank = self.radii[number] / unit, self.effective_ranks[number]
        if radius <= 0:
            return
        self.radius_lines_.append(
            ax.axhline(radius, color=line.get_color(), linewidth=1.0, linestyle=(0, (2, 2)))
        )
        if rank:
            (mark,) = ax.plot(
                rank,
                shown[rank - 1],
                marker="o",
                markersize=6,
                markerfacecolor=ax.get_facecolor(),
                markeredgecolor=line.get_color(),
                markeredgewidth=1.6,
                linestyle="none",
                zorder=4,
            )
            self.marks_.append(mark)

    def _words(self, number: int, relative: bool, unit: float) -> str:
        values, radius = self.singular_values[number], self.radii[number]
        name = f"{self.names[number]}\n" if self.names[number] else ""
        if radius <= 0:
            return f"{name}rank {len(values)}, no radius"
        level = rf"{radius / unit:.2g} $\sigma_1$" if relative else f"{radius:.3g}"
        return (
            f"{name}effective rank {self.effective_ranks[number]} of {len(values)}\n"
            f"radius {level} ({self.radius_kinds[number]})"
        )

    def _handles(self, ax: Axes) -> list[Any]:
        """One entry per sketch, and what the dashes and the circle mean."""
        from matplotlib.lines import Line2D

        if not self.radius_lines_:
            return self.lines_
        dashes = Line2D([], [], color=ink(ax), linewidth=1.0, linestyle=(0, (2, 2)), label="radius")
        circle = Line2D(
            [],
            [],
            marker="o",
            linestyle="none",
            markerfacecolor="none",
            markeredgecolor=ink(ax),
            label="effective rank",
        )
        return [*self.lines_, dashes, *([circle] if self.marks_ else [])]


def _sketch_of(thing: Any) -> sl.Sketch:
    found = getattr(thing, "sketch_", thing)
    if isinstance(found, sl.Sketch):
        return found
    if found is None:
        raise InvalidInputError(
            f"the {type(thing).__name__} was fitted without a sketch, so it has no spectrum to "
            "show; pass a Sketch, or fit with ",
            Argument("sketch", "randomized"),
            ".",
        )
    raise InvalidInputError(
        f"a {type(thing).__name__} was given, but a Sketch or a fitted estimator with one is "
        "accepted; pass what sketch returns."
    )


def plot_spectrum(
    sketches: Any,
    *,
    relative: bool | None = None,
    ax: Axes | None = None,
    **line_kw: Any,
) -> SpectrumDisplay:
    """Draw singular values on a log scale, with radii and effective ranks.

    Parameters
    ----------
    sketches : Sketch, estimator with a sketch, a sequence or a mapping from names to them
    relative : bool, optional
        Whether to divide by the largest singular value; by default where there are several
        sketches.
    ax : matplotlib Axes, optional
    **line_kw
        For the lines of singular values.

    Returns
    -------
    SpectrumDisplay
        Drawn on its `ax_`.
    """
    if isinstance(sketches, Mapping):
        named = dict(sketches)
    elif isinstance(sketches, Sequence) and not isinstance(sketches, str):
        named = {f"sketch {number + 1}": each for number, each in enumerate(sketches)}
    else:
        named = {"": sketches}
    if not named:
        raise InvalidInputError("no sketch was given; pass one, or several by name.")
    found = [_sketch_of(thing) for thing in named.values()]
    display = SpectrumDisplay(
        names=tuple(map(str, named)),
        singular_values=tuple(np.asarray(each.singular_values, dtype=np.float64) for each in found),
        radii=tuple(float(each.radius) for each in found),
        radius_kinds=tuple(each.radius_kind for each in found),
    )
    return display.plot(ax, relative=relative, **line_kw)
