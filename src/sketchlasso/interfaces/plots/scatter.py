"""Scatter plots: a sketched model against the full one, and the influence of single rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces import Model
from sketchlasso.interfaces.plots import canvas, inputs
from sketchlasso.interfaces.plots.canvas import Axes, Display, ink
from sketchlasso.interfaces.plots.labels import label_points
from sketchlasso.types import FloatArray


@dataclass(eq=False, kw_only=True)
class ScatterDisplay(Display):
    """Values of a sketched model against those of the full one, with the line of equality.

    Parameters
    ----------
    sketched, full : ndarray of shape (n,)
        Coefficients, or predictions.
    kind : {"coefficients", "predictions"}
    alpha : float, optional
        The penalty of both models.

    Attributes
    ----------
    points_ : list of matplotlib PathCollection
        Coefficients in both models, in the sketched one only, and in the full one only.
    identity_ : matplotlib line
    legend_ : matplotlib Legend
    """

    sketched: FloatArray
    full: FloatArray
    kind: str = "coefficients"
    alpha: float | None = None

    @property
    def words(self) -> str:
        """Penalty, correlation and, of coefficients, the overlap of supports, in words."""
        shown = self._shown
        first, second = self.sketched[shown], self.full[shown]
        defined = len(first) > 1 and np.ptp(first) > 0 and np.ptp(second) > 0
        text = "correlation undefined,"
        if defined:
            text = f"correlation {np.corrcoef(first, second)[0, 1]:.3f},"
        if self.alpha is not None:
            text = rf"$\alpha$ = {self.alpha:.3g}, {text}"
        if self.kind == "predictions":
            return f"{text}\n{len(first)} rows"
        both = np.count_nonzero((self.sketched != 0) & (self.full != 0))
        return f"{text}\n{both} of {len(first)} features in both"

    @property
    def _shown(self) -> NDArray[np.bool_]:
        """Return which values are drawn: all but coefficients that are zero in both models."""
        return (self.sketched != 0) | (self.full != 0) | (self.kind == "predictions")

    def plot(self, ax: Axes | None = None, **scatter_kw: Any) -> ScatterDisplay:
        """Draw the points; parameters are those of :func:`plot_sketched_against_full`."""
        ax = self._start(ax, (7.0, 4.6))
        points = np.column_stack([self.full, self.sketched])
        self.points_ = canvas.scatter_groups(
            ax, points, self._groups(), **{"zorder": 2.5, **scatter_kw}
        )
        shown = self._shown
        self._square(ax, np.concatenate([self.full[shown], self.sketched[shown]]))
        self.identity_ = ax.axline(
            (0.0, 0.0), slope=1.0, color=ink(ax), linewidth=0.9, linestyle="--", label="equal"
        )
        what = self.kind[:-1]
        ax.set_xlabel(f"{what}, full model")
        ax.set_ylabel(f"{what}, sketched model")
        named = self.points_ if len(self.points_) > 1 else []
        self.legend_ = self._legend(
            ax, [*named, self.identity_], title=self.words, inside="upper left"
        )
        return self

    def _groups(self) -> list[canvas.Group]:
        if self.kind == "predictions":
            return [(self._shown, None, "o")]
        first, second = self.sketched != 0, self.full != 0
        groups = [
            (first & second, "both", "o"),
            (first & ~second, "sketched only", "^"),
            (~first & second, "full only", "s"),
        ]
        return [(at, f"{words} ({np.count_nonzero(at)})", marker) for at, words, marker in groups]

    def _square(self, ax: Axes, values: FloatArray) -> None:
        """Set the same scale and limits on both axes, so that equality is the diagonal."""
        values = values[np.isfinite(values)]
        if self.kind == "coefficients":
            values = np.append(values, 0.0)
        low, high = (values.min(), values.max()) if values.size else (-1.0, 1.0)
        air = 0.05 * (high - low) or 1.0
        ax.set(xlim=(low - air, high + air), ylim=(low - air, high + air))
        ax.set_aspect("equal", adjustable="box")
        if self._own:
            ax.set_anchor("W")


def _of_paths(
    sketched: sl.Path, full: sl.Path, position: int | None, response: int
) -> tuple[list[tuple[FloatArray, float]], float]:
    lines = [inputs.line_of(path, response) for path in (sketched, full)]
    count = len(lines[0].alphas)
    at = count // 2 if position is None else inputs.check_index("position", position, count)
    alpha = float(lines[0].alphas[at])
    places = [int(np.abs(line.alphas - alpha).argmin()) for line in lines]
    other = float(lines[1].alphas[places[1]])
    if not np.isclose(other, alpha, rtol=1e-6, atol=0.0):
        raise InvalidInputError(
            f"the sketched path has a penalty {alpha:.4g} and the full one none nearer than "
            f"{other:.4g}, but models of equal penalty are compared; solve the full path for the "
            "sketched one's alphas."
        )
    models = [
        (line.coef[[place]].toarray()[0], float(line.intercept[place]))
        for line, place in zip(lines, places, strict=True)
    ]
    return models, alpha


def _of_estimator(estimator: Model, response: int) -> tuple[FloatArray, float]:
    coef = np.atleast_2d(np.asarray(estimator.coef_, dtype=np.float64))
    response = inputs.check_index("response", response, len(coef))
    intercept = np.broadcast_to(np.atleast_1d(estimator.intercept_), (len(coef),))
    return coef[response], float(intercept[response])


def _array(values: ArrayLike) -> FloatArray:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty((0, 0))
    if array.ndim != 1 or array.size == 0:
        raise InvalidInputError(
            f"a {type(values).__name__} was given, but a Path, a fitted estimator or coefficients "
            "of shape (n,) are accepted; pass two of a kind."
        )
    return array


def plot_sketched_against_full(
    sketched: Any,
    full: Any,
    X: Any = None,
    *,
    position: int | None = None,
    response: int = 0,
    ax: Axes | None = None,
    **scatter_kw: Any,
) -> ScatterDisplay:
    """Draw coefficients, or predictions, of a sketched model against those of the full one.

    Parameters
    ----------
    sketched, full : Path, fitted estimator, or array-like of shape (n,)
        Two of a kind; arrays are coefficients.
    X : array or sparse matrix of shape (m, n), optional
        Compare predictions for its rows instead of coefficients; not for arrays.
    position : int, optional
        Which penalty of two paths, counted from the largest; the middle one by default.
    response : int
        Which response of paths and estimators with several.
    ax : matplotlib Axes, optional
    **scatter_kw
        For the points.

    Returns
    -------
    ScatterDisplay
        Drawn on its `ax_`.
    """
    alpha = None
    if isinstance(sketched, sl.Path) and isinstance(full, sl.Path):
        models, alpha = _of_paths(sketched, full, position, response)
    elif inputs.is_fitted_model(sketched) and inputs.is_fitted_model(full):
        models = [_of_estimator(each, response) for each in (sketched, full)]
    elif X is None and not (inputs.is_fitted_model(sketched) or inputs.is_fitted_model(full)):
        models = [(_array(each), 0.0) for each in (sketched, full)]
    else:
        raise InvalidInputError(
            f"a {type(sketched).__name__} and a {type(full).__name__} were given, but two paths, "
            "two fitted estimators or, without X, two arrays are accepted; pass two of a kind."
        )
    return _compared(models, X, alpha).plot(ax, **scatter_kw)


def _compared(
    models: list[tuple[FloatArray, float]], X: Any, alpha: float | None
) -> ScatterDisplay:
    """Pair the coefficients of two models, or their predictions for the rows of X."""
    (first, first_intercept), (second, second_intercept) = models
    if first.shape != second.shape:
        raise InvalidInputError(
            f"the models have {len(first)} and {len(second)} coefficients, but the same number "
            "is needed; fit both on the same features."
        )
    if X is None:
        return ScatterDisplay(sketched=first, full=second, alpha=alpha)
    rows: Any = X if hasattr(X, "tocsr") else np.asarray(X)
    return ScatterDisplay(
        sketched=np.asarray(rows @ first + first_intercept),
        full=np.asarray(rows @ second + second_intercept),
        kind="predictions",
        alpha=alpha,
    )


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
        inputs.check_top(top)
        self._check_names(row_names)
        ax = self._start(ax, canvas.WIDE)
        groups = [
            (chosen, f"{words} without it ({np.count_nonzero(chosen)} rows)", marker)
            for chosen, words, marker in (
                (~self.support_changed, "same features", "o"),
                (self.support_changed, "features change", "^"),
            )
        ]
        everyone = np.column_stack([self.residuals, self.coefficient_shift])
        options = {"s": 22, "alpha": canvas.opacity(ax, 0.75), **scatter_kw}
        self._draw_groups(ax, everyone, groups, **options)
        ax.set_xlabel(r"residual of the row left out, $y_i - \hat{y}_{-i}$")
        ax.set_ylabel(r"shift of coefficients, $\|w_{-i} - w\| \,/\, \|w\|$")
        ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g}%")
        shift = np.nan_to_num(self.coefficient_shift, nan=-1.0)
        largest = np.argsort(-shift, kind="stable")[: min(top, np.count_nonzero(shift > 0))]
        rows = self.rows[largest]
        names = [f"row {row}" if row_names is None else str(row_names[row]) for row in rows]
        self.labels_ = label_points(ax, everyone[largest], names, everyone)
        return self

    def _check_names(self, names: Sequence[str] | None) -> None:
        if names is not None and (isinstance(names, str) or len(names) <= self.rows.max()):
            raise InvalidInputError(
                f"row_names holds {1 if isinstance(names, str) else len(names)} names, but row "
                f"{self.rows.max()} was left out; pass one name per row of X."
            )


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
        One per row of X; by default rows are named by their numbers, counted from 0.
    ax : matplotlib Axes, optional
    **scatter_kw
        For the points.

    Returns
    -------
    InfluenceDisplay
        Drawn on its `ax_`.
    """
    if not isinstance(found, sl.LeaveOneOut):
        raise inputs.not_accepted(found, "a LeaveOneOut", "what leave_one_out returns")
    display = InfluenceDisplay(
        rows=found.rows,
        residuals=found.residuals,
        coefficient_shift=found.coefficient_shift,
        support_changed=(found.features_gained + found.features_lost) > 0,
    )
    return display.plot(ax, top=top, row_names=row_names, **scatter_kw)
