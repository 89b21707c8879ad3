"""How much every row holds up the model: leave-one-out residuals and shifts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces.plots.canvas import WIDE, Display, headroom, hue, ink, opacity
from sketchlasso.interfaces.plots.inputs import check_top
from sketchlasso.interfaces.plots.labels import label_points
from sketchlasso.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["InfluenceDisplay", "plot_leave_one_out"]


@dataclass(eq=False, kw_only=True)
class InfluenceDisplay(Display):
    """Shift of the coefficients without a row against that row's residual, one point per row.

    Parameters
    ----------
    rows : ndarray of shape (r,)
        Numbers of the rows.
    residuals : ndarray of shape (r,)
        y less the prediction by the model without the row.
    coefficient_shift : ndarray of shape (r,)
        ||w without the row - w|| / ||w||.
    support_changed : ndarray of shape (r,), bool
        Whether features enter or leave without the row.

    Attributes
    ----------
    points_ : list of matplotlib PathCollection
        Rows that leave the support as it is, and rows that change it.
    labels_ : list of matplotlib Annotation
    legend_ : matplotlib Legend
    """

    rows: NDArray[np.intp]
    residuals: FloatArray
    coefficient_shift: FloatArray
    support_changed: NDArray[np.bool_]

    def plot(
        self,
        ax: Axes | None = None,
        *,
        top: int = 6,
        row_names: Sequence[str] | None = None,
        **scatter_kw: Any,
    ) -> InfluenceDisplay:
        """Draw the rows; parameters are those of :func:`plot_leave_one_out`."""
        check_top(top)
        self._check_names(row_names)
        ax = self._start(ax, WIDE)
        ax.axvline(0.0, color=ink(ax), linewidth=0.6, alpha=0.5, zorder=1)
        self._draw_points(ax, scatter_kw)
        ax.set_xlabel(r"residual of the row left out, $y_i - \hat{y}_{-i}$")
        ax.set_ylabel(r"shift of coefficients, $\|w_{-i} - w\| \,/\, \|w\|$")
        self._percent(ax)
        ax.margins(0.06)
        ax.autoscale_view()
        if not self._own:
            headroom(ax, len(self.points_))
        self.legend_ = self._legend(ax, self.points_, inside="upper center")
        shift = np.nan_to_num(self.coefficient_shift, nan=-1.0)
        largest = np.argsort(-shift, kind="stable")[: min(top, np.count_nonzero(shift > 0))]
        everyone = np.column_stack([self.residuals, self.coefficient_shift])
        self.labels_ = label_points(
            ax, everyone[largest], [self._name(row, row_names) for row in largest], everyone
        )
        return self

    def _draw_points(self, ax: Axes, scatter_kw: dict[str, Any]) -> None:
        kinds = (("o", hue(0)), ("^", hue(1)))
        words = ("same features without it", "features change without it")
        self.points_: list[Any] = []
        shade = opacity(ax, 0.75)
        for changed, (marker, color) in zip((False, True), kinds, strict=True):
            chosen = self.support_changed == changed
            options = {"s": 22, "alpha": shade, "linewidths": 0, "color": color, **scatter_kw}
            self.points_.append(
                ax.scatter(
                    self.residuals[chosen],
                    self.coefficient_shift[chosen],
                    marker=marker,
                    label=f"{words[changed]} ({np.count_nonzero(chosen)} rows)",
                    **options,
                )
            )

    def _percent(self, ax: Axes) -> None:
        from matplotlib.ticker import FuncFormatter

        ax.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g}%"))

    def _check_names(self, names: Sequence[str] | None) -> None:
        if names is not None and (isinstance(names, str) or len(names) <= self.rows.max()):
            raise InvalidInputError(
                f"row_names holds {1 if isinstance(names, str) else len(names)} names, but row "
                f"{self.rows.max()} was left out; pass one name per row of X."
            )

    def _name(self, place: int, names: Sequence[str] | None) -> str:
        row = int(self.rows[place])
        return f"row {row}" if names is None else str(names[row])


def plot_leave_one_out(
    found: sl.LeaveOneOut,
    *,
    top: int = 6,
    row_names: Sequence[str] | None = None,
    ax: Axes | None = None,
    **scatter_kw: Any,
) -> InfluenceDisplay:
    """Draw how far the model moves without each row, against how badly it predicts that row.

    Parameters
    ----------
    found : LeaveOneOut
    top : int
        How many rows to name: those of the largest shifts.
    row_names : sequence of str of length m, optional
        One a row of X; by default rows are named by their numbers, counted from 0.
    ax : matplotlib Axes, optional
    **scatter_kw
        For the points.

    Returns
    -------
    InfluenceDisplay
        Drawn on its `ax_`.
    """
    if not isinstance(found, sl.LeaveOneOut):
        raise InvalidInputError(
            f"a {type(found).__name__} was given, but a LeaveOneOut is accepted; pass what "
            "leave_one_out returns."
        )
    display = InfluenceDisplay(
        rows=found.rows,
        residuals=found.residuals,
        coefficient_shift=found.coefficient_shift,
        support_changed=(found.features_gained + found.features_lost) > 0,
    )
    return display.plot(ax, top=top, row_names=row_names, **scatter_kw)
