"""Duality gaps along a path: how well the sketched and the full problem are solved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import sketchlasso as sl
from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.interfaces.plots.canvas import (
    WIDE,
    Display,
    check_penalties,
    hue,
    ink,
    penalty_axis,
)
from sketchlasso.interfaces.plots.inputs import line_of
from sketchlasso.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["GapDisplay", "plot_gaps"]


# Below this a gap is rounding, and often an exact zero, which log scales do not have.
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
        check_penalties(self.alphas)
        ax = self._start(ax, WIDE)
        penalty_axis(ax, self.alphas)
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
        """Show at the lower edge where gaps are too small for a log scale."""
        self.zeros_: list[Any] = []
        for line, gaps in zip(self.lines_, series, strict=True):
            tiny = gaps <= ROUNDING
            if tiny.any():
                (mark,) = ax.plot(
                    self.alphas[tiny],
                    np.full(np.count_nonzero(tiny), 0.0),
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
    """A small number as people write it."""
    digits, exponent = f"{value:.0e}".split("e")
    factor = "" if digits == "1" else rf"{digits} \times "
    return f"${factor}10^{{{int(exponent)}}}$"


def plot_gaps(
    path: sl.Path,
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
    if tol is not None and not (np.isfinite(tol) and tol > 0):
        raise InvalidInputError(
            Argument("tol", tol),
            " was given, but a positive number is accepted; pass the gap that was asked for, "
            "such as 1e-6.",
        )
    line = line_of(path, response, radius)
    solved, full = path.relative_gap[line.instances], path.full_gap[line.instances]
    # A full model has radius 0 and no gap but that of the full problem.
    sketched = bool(path.radius[line.instances].any()) or not np.allclose(
        solved, full, rtol=1e-3, atol=1e-9
    )
    if tol is None and sketched:
        tol = sl.Settings().tol
    display = GapDisplay(
        alphas=line.alphas, solved_gap=solved, full_gap=full, sketched=sketched, tol=tol
    )
    return display.plot(ax, **line_kw)
