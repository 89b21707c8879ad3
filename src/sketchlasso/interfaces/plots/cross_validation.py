"""Held-out scores against the penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import sketchlasso as sl
from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.interfaces import Search
from sketchlasso.interfaces.plots import canvas
from sketchlasso.interfaces.plots.canvas import Axes, Display, hue, ink
from sketchlasso.interfaces.plots.inputs import check_index, not_accepted
from sketchlasso.types import FloatArray

# Grids of radii at which every penalty gives w = 0 have penalties far below this.
NO_PENALTY = 1e-200
WORDS = {
    "mse": "mean squared error",
    "mae": "mean absolute error",
    "r2": "R²",
    "accuracy": "accuracy",
    "f1": "F1 score",
    "auc": "area under the ROC curve",
}


@dataclass(eq=False, kw_only=True)
class CrossValidationDisplay(Display):
    """Mean held-out score with its standard error, against the penalty, for every radius tried.

    Parameters
    ----------
    alphas, mean, standard_error : ndarray of shape (r, a)
        One row per radius, the largest penalty first.
    n_nonzero : ndarray of shape (r, a), optional
        Mean over the folds.
    radii : tuple of str
        Names of the r radii.
    chosen : int
        Row of the radius chosen.
    alpha_min, alpha_1se : float
        Penalties by both rules.
    metric : str

    Attributes
    ----------
    line_ : matplotlib Line2D
        At the radius chosen.
    band_ : matplotlib PolyCollection
        One standard error on each side.
    others_ : list of matplotlib Line2D
        At the other radii.
    marks_ : list of matplotlib Line2D
        The penalties by both rules.
    legend_ : matplotlib Legend
    """

    alphas: FloatArray
    mean: FloatArray
    standard_error: FloatArray
    n_nonzero: FloatArray | None = None
    radii: tuple[str, ...]
    chosen: int
    alpha_min: float
    alpha_1se: float
    metric: str

    def plot(self, ax: Axes | None = None, **line_kw: Any) -> CrossValidationDisplay:
        """Draw the scores; parameters are those of :func:`plot_cv`."""
        shown = canvas.check_penalties(self.alphas[[self.chosen, *self._other_rows()]])
        ax = self._start(ax, canvas.WIDE)
        canvas.penalty_axis(ax, shown)
        # Penalties that a search left out have no score; the line skips them.
        tried = np.isfinite(self.mean[self.chosen])
        alphas, mean = self.alphas[self.chosen, tried], self.mean[self.chosen, tried]
        error = self.standard_error[self.chosen, tried]
        several = len(self.radii) > 1
        self._draw_others(ax)
        style = {"color": hue(0), "linewidth": 2.0, **line_kw}
        if len(alphas) == 1:
            style = {"marker": "o", **style}
        label = (
            f"radius {_product(self.radii[self.chosen])}, chosen" if several else "mean over folds"
        )
        (self.line_,) = ax.plot(alphas, mean, label=label, zorder=3, **style)
        self.band_ = ax.fill_between(
            alphas,
            mean - error,
            mean + error,
            color=self.line_.get_color(),
            alpha=0.25,
            linewidth=0,
            label="± 1 standard error",
        )
        self._draw_marks(ax)
        ax.set_ylabel(f"held-out {WORDS.get(self.metric, self.metric)}")
        self.legend_ = self._legend(ax, [self.line_, self.band_, *self.marks_, *self.others_])
        if self.n_nonzero is not None:
            canvas.count_axis(ax, alphas, self.n_nonzero[self.chosen, tried])
        return self

    def _other_rows(self) -> list[int]:
        """Return radii that were not chosen, without those so large that w = 0 throughout."""
        return [
            row
            for row in range(len(self.radii))
            if row != self.chosen and self.alphas[row].max() > NO_PENALTY
        ]

    def _draw_others(self, ax: Axes) -> None:
        self.others_ = [
            ax.plot(
                self.alphas[row][np.isfinite(self.mean[row])],
                self.mean[row][np.isfinite(self.mean[row])],
                color=hue(2 + place),
                linewidth=1.1,
                alpha=canvas.opacity(ax, 0.65),
                label=f"radius {_product(self.radii[row])}",
            )[0]
            for place, row in enumerate(self._other_rows())
        ]

    def _draw_marks(self, ax: Axes) -> None:
        """Mark the penalties of both rules, with their numbers of coefficients."""
        self.marks_: list[Any] = []
        rules = (("best mean", self.alpha_min, "--"), ("1-SE rule", self.alpha_1se, ":"))
        alphas = self.alphas[self.chosen]
        for name, alpha, style in rules:
            at = int(np.abs(alphas - alpha).argmin())
            words = rf"{name}: $\alpha$ = {alpha:.3g}"
            if self.n_nonzero is not None:
                words += f", {self.n_nonzero[self.chosen, at]:.0f} non-zero"
            mark = ax.axvline(alpha, color=ink(ax), linestyle=style, linewidth=1.2, label=words)
            self.marks_.append(mark)


def _product(radius: str) -> str:
    return radius.replace("*", " \N{MULTIPLICATION SIGN} ")


def over_folds(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return means (a,) over the folds of scores (a, f), and their standard errors (a,).

    Scores that are not finite are left out, as CrossValidation does.
    """
    known = np.isfinite(scores)
    folds = known.sum(axis=1)
    total = np.where(known, scores, 0.0).sum(axis=1)
    mean = np.where(folds > 0, total / np.maximum(folds, 1), np.nan)
    squares = np.where(known, (scores - mean[:, None]) ** 2, 0.0).sum(axis=1)
    return mean, np.sqrt(squares / np.maximum(folds - 1, 1) / np.maximum(folds, 1))


def plot_cv(
    source: Any,
    *,
    metric: Any = None,
    response: int = 0,
    ax: Axes | None = None,
    **line_kw: Any,
) -> CrossValidationDisplay:
    """Draw held-out scores against the penalty, with both chosen penalties.

    Parameters
    ----------
    source : CrossValidation, or SqrtLassoCV or SqrtLassoClassifierCV, fitted
    metric : str, optional
        Which metric of a CrossValidation; the first by default.
    response : int
        Which response, target or class, counted from 0.
    ax : matplotlib Axes, optional
    **line_kw
        For the line at the radius chosen.

    Returns
    -------
    CrossValidationDisplay
        Drawn on its `ax_`.
    """
    if isinstance(source, sl.CrossValidation):
        display = _of_cross_validation(source, metric, response)
    elif hasattr(source, "score_path_"):
        if metric not in (None, source.scoring):
            raise InvalidInputError(
                Argument("metric", metric),
                f" was given, but the estimator keeps {source.scoring!r} only; leave metric out, "
                "or pass what cross_validate returns.",
            )
        display = _of_estimator(source, response)
    else:
        accepted = "a CrossValidation or a fitted SqrtLassoCV or SqrtLassoClassifierCV"
        raise not_accepted(source, accepted, "what cross_validate or fit returns")
    return display.plot(ax, **line_kw)


def _of_cross_validation(
    found: sl.CrossValidation, metric: Any, response: int
) -> CrossValidationDisplay:
    """Show one response, every radius."""
    name = metric or found.first_metric
    if name not in found.scores:
        scored = ", ".join(repr(key) for key in found.scores)
        raise InvalidInputError(
            Argument("metric", metric),
            f" was given, but {scored} was scored; pass one of them.",
        )
    response = check_index("response", response, len(found.alphas))
    best = found.best(name, response)
    careful = found.best(name, response, rule="1se")
    return CrossValidationDisplay(
        alphas=found.alphas[response],
        mean=found.mean(name)[response],
        standard_error=found.standard_error(name)[response],
        n_nonzero=found.n_nonzero[:, response].mean(axis=0),
        radii=tuple(str(radius) for radius in found.radii),
        chosen=best.radius_index,
        alpha_min=best.alpha,
        alpha_1se=careful.alpha,
        metric=name,
    )


def _of_estimator(estimator: Search, response: int) -> CrossValidationDisplay:
    """Show the search of an estimator, which keeps the scores at the radius it chose."""
    best = np.atleast_1d(estimator.alpha_min_)
    response = check_index("response", response, len(best))
    folds = np.asarray(estimator.score_path_)
    scores = folds if folds.ndim == 2 else folds[response]
    mean, error = over_folds(scores)
    counts = np.asarray(estimator.n_nonzero_path_)
    counts = counts if counts.ndim == 2 else counts[response]
    return CrossValidationDisplay(
        alphas=np.atleast_2d(estimator.alphas_)[[response]],
        mean=mean[None],
        standard_error=error[None],
        n_nonzero=counts.mean(axis=1)[None],
        radii=(f"{float(np.atleast_1d(estimator.radius_)[response]):.3g}",),
        chosen=0,
        alpha_min=float(best[response]),
        alpha_1se=float(np.atleast_1d(estimator.alpha_1se_)[response]),
        metric=estimator.scoring,
    )
