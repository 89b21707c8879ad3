"""How good a sketch is and how exactly its problems are solved: singular values and gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import sketchlasso as sl
from sketchlasso.errors import Argument, InvalidInputError, unaccepted
from sketchlasso.interfaces import as_drawn
from sketchlasso.interfaces.plots import canvas
from sketchlasso.interfaces.plots.canvas import Axes, Display, dash, hue, ink
from sketchlasso.interfaces.plots.inputs import line_of, not_accepted
from sketchlasso.types import FloatArray, is_number

# Smaller gaps are rounding errors, and often exact zeros, which a log scale cannot show.
ROUNDING = 1e-12


@dataclass(eq=False, kw_only=True)
class GapDisplay(Display):
    """Relative duality gaps of the problem that was solved and of the one without a sketch.

    Parameters
    ----------
    alphas : ndarray of shape (a,)
    solved_gap : ndarray of shape (a,)
        In the problem that was solved.
    full_gap : ndarray of shape (a,)
        In the problem without a sketch.
    sketched : bool
        Whether the two problems differ.
    tol : float, optional
        The gap that was asked for.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        The full gap and, where the problems differ, the solved one before it; gaps of zero, up
        to rounding, are left out of them.
    zeros_ : list of matplotlib Line2D
        Marks at the lower edge for gaps of zero, up to rounding.
    tolerance_ : matplotlib Line2D or None
    legend_ : matplotlib Legend
    """

    alphas: FloatArray
    solved_gap: FloatArray
    full_gap: FloatArray
    sketched: bool
    tol: float | None = None

    def plot(self, ax: Axes | None = None, **line_kw: Any) -> GapDisplay:
        """Draw the gaps, both axes logarithmic; parameters are those of :func:`plot_gaps`."""
        canvas.check_penalties(self.alphas)
        ax = self._start(ax, canvas.WIDE)
        canvas.penalty_axis(ax, self.alphas)
        ax.set_yscale("log")
        series = [("full problem", self.full_gap, "o", hue(1))]
        if self.sketched:
            series.insert(0, ("sketched problem (solved)", self.solved_gap, "s", hue(0)))
        options = {"markersize": 3.0, "linewidth": 1.2, **line_kw}
        self.lines_ = [
            ax.plot(
                self.alphas,
                np.where(gaps > ROUNDING, gaps, np.nan),
                label=name,
                **{"marker": marker, "color": color, **options},
            )[0]
            for name, gaps, marker, color in series
        ]
        self.tolerance_: Any = None
        if self.tol is not None:
            self.tolerance_ = ax.axhline(
                self.tol,
                color=ink(ax),
                linewidth=1.0,
                linestyle="--",
                label=f"tolerance {_power(self.tol)}",
            )
        self._mark_zeros(ax, [gaps for _, gaps, _, _ in series])
        ax.set_ylabel("relative duality gap")
        self.legend_ = self._legend(ax, self._handles(ax))
        return self

    def _handles(self, ax: Axes) -> list[Any]:
        from matplotlib.lines import Line2D

        handles = [*self.lines_, *([self.tolerance_] if self.tolerance_ else [])]
        if self.zeros_:
            words = f"below {_power(ROUNDING)}"
            handles.append(
                Line2D([], [], marker="v", markersize=5, linestyle="", color=ink(ax), label=words)
            )
        return handles

    def _mark_zeros(self, ax: Axes, series: list[FloatArray]) -> None:
        """Mark gaps that are too small for a log scale at the lower edge."""
        self.zeros_: list[Any] = []
        for line, gaps in zip(self.lines_, series, strict=True):
            tiny = gaps <= ROUNDING
            if tiny.any():
                (mark,) = ax.plot(
                    self.alphas[tiny],
                    np.zeros(np.count_nonzero(tiny)),
                    transform=ax.get_xaxis_transform(),
                    marker="v",
                    markersize=5,
                    linestyle="none",
                    color=line.get_color(),
                    clip_on=False,
                    zorder=5,
                )
                self.zeros_.append(mark)
        if not any((gaps > ROUNDING).any() for gaps in series):
            ax.set_ylim(ROUNDING, 1.0)


def _power(value: float) -> str:
    """Write a small number as a power of ten."""
    digits, exponent = f"{value:.0e}".split("e")
    factor = "" if digits == "1" else rf"{digits} \times "
    return f"${factor}10^{{{int(exponent)}}}$"


def plot_gaps(
    path: sl.Path,
    full: sl.FullCertificate | None = None,
    *,
    tol: float | None = None,
    response: int = 0,
    radius: int = 0,
    ax: Axes | None = None,
    **line_kw: Any,
) -> GapDisplay:
    """Draw the duality gaps along a path, in the sketched problem and in the full one.

    Parameters
    ----------
    path : Path
    full : FullCertificate, optional
        ``path.certificate(X, y)``: the gaps in the full problem of a path on a sketch.
    tol : float, optional
        The gap that was asked for. By default that of :class:`Settings` for a sketched path, and
        none for a full one.
    response, radius : int
        Which of those that were solved, counted from 0.
    ax : matplotlib Axes, optional
    **line_kw
        For both lines.

    Returns
    -------
    GapDisplay
        Drawn on its `ax_`.
    """
    if tol is not None and not (is_number(tol) and 0 < tol < np.inf):
        raise unaccepted(
            "tol", tol, "a positive number", "pass the gap that was asked for, such as 1e-6"
        )
    line = line_of(path, response, radius)
    solved = path.relative_gap[line.instances]
    sketched = not path.proved
    proved = np.full_like(solved, np.nan) if sketched else solved
    if full is not None:
        proved = full.relative_gap[line.instances]
    if tol is None and sketched:
        tol = sl.Settings().tol
    display = GapDisplay(
        alphas=line.alphas, solved_gap=solved, full_gap=proved, sketched=sketched, tol=tol
    )
    return display.plot(ax, **line_kw)


@dataclass(eq=False, kw_only=True)
class SpectrumDisplay(Display):
    """Singular values of one or several sketches, and the radius of each as a horizontal line.

    The effective rank is the number of singular values above the radius: directions larger than
    what the sketch leaves out.

    Parameters
    ----------
    names : tuple of str
        One per sketch.
    singular_values : tuple of ndarray
        Each of shape (rank,), largest first.
    radii : tuple of float
        Zero draws no line.
    radius_kinds : tuple of str
        As in :class:`Sketch`.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        Singular values, one line per sketch.
    radius_lines_ : list of matplotlib Line2D
        One per sketch whose radius is not zero.
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
        ax = self._start(ax, canvas.WIDE)
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
        canvas.log_ticks(ax.yaxis, *ax.get_ylim())
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
        # A log scale cannot show zero.
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
        name = f"{as_drawn(self.names[number])}\n" if self.names[number] else ""
        if radius <= 0:
            return f"{name}rank {len(values)}, no radius"
        level = rf"{radius / unit:.2g} $\sigma_1$" if relative else f"{radius:.3g}"
        return (
            f"{name}effective rank {self.effective_ranks[number]} of {len(values)}\n"
            f"radius {level} ({self.radius_kinds[number]})"
        )

    def _handles(self, ax: Axes) -> list[Any]:
        """Return one entry per sketch, and those that explain dashes and circles."""
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


def _sketch_of(thing: object) -> sl.Sketch:
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
    raise not_accepted(thing, "a Sketch or a fitted estimator with one", "what sketch returns")


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
