"""A sketched model against the full one, coefficient by coefficient or row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces.models import Model
from sketchlasso.interfaces.plots.canvas import Display, hue, ink, opacity
from sketchlasso.interfaces.plots.inputs import check_index, is_fitted_model, line_of
from sketchlasso.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ScatterDisplay", "plot_sketched_against_full"]

SIZE = (7.0, 4.6)


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
        Of coefficients those in both models, in the sketched one only, in the full one only.
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
        """Coefficients that are zero in both models say nothing, and there are thousands."""
        if self.kind == "predictions":
            return np.ones(len(self.full), dtype=bool)
        return (self.sketched != 0) | (self.full != 0)

    def plot(self, ax: Axes | None = None, **scatter_kw: Any) -> ScatterDisplay:
        """Draw the points; parameters are those of :func:`plot_sketched_against_full`."""
        ax = self._start(ax, SIZE)
        self.points_: list[Any] = []
        shade = opacity(ax, 0.7)
        for chosen, words, marker, color in self._groups():
            options = {"s": 18, "alpha": shade, "linewidths": 0, "color": color, **scatter_kw}
            self.points_.append(
                ax.scatter(
                    self.full[chosen],
                    self.sketched[chosen],
                    marker=marker,
                    label=f"{words} ({np.count_nonzero(chosen)})" if words else None,
                    zorder=2.5,
                    **options,
                )
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

    def _groups(self) -> list[tuple[NDArray[np.bool_], str, str, str]]:
        """Which points, in words, with which marker and colour."""
        if self.kind == "predictions":
            return [(self._shown, "", "o", hue(0))]
        first, second = self.sketched != 0, self.full != 0
        return [
            (first & second, "both", "o", hue(0)),
            (first & ~second, "sketched only", "^", hue(1)),
            (~first & second, "full only", "s", hue(2)),
        ]

    def _square(self, ax: Axes, values: FloatArray) -> None:
        """The same scale and limits both ways, so that equality is the diagonal."""
        values = values[np.isfinite(values)]
        low = float(values.min(initial=0.0 if self.kind == "coefficients" else np.inf))
        high = float(values.max(initial=0.0 if self.kind == "coefficients" else -np.inf))
        if not low <= high:
            low, high = -1.0, 1.0
        air = 0.05 * (high - low) or 1.0
        ax.set(xlim=(low - air, high + air), ylim=(low - air, high + air))
        ax.set_aspect("equal", adjustable="box")
        if self._own:
            ax.set_anchor("W")


def _of_paths(
    sketched: sl.Path, full: sl.Path, position: int | None, response: int
) -> tuple[list[tuple[FloatArray, float]], float]:
    lines = [line_of(path, response) for path in (sketched, full)]
    count = len(lines[0].alphas)
    at = count // 2 if position is None else check_index("position", position, count)
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
    response = check_index("response", response, len(coef))
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
        Of paths and estimators with several.
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
    elif is_fitted_model(sketched) and is_fitted_model(full):
        models = [_of_estimator(each, response) for each in (sketched, full)]
    elif X is None and not (is_fitted_model(sketched) or is_fitted_model(full)):
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
