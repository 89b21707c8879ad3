"""Held-out scores against the penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces import Search
from sketchlasso.interfaces.plots import canvas
from sketchlasso.interfaces.plots.canvas import Axes, hue, ink
from sketchlasso.types import FloatArray

# Grids of radii at which every penalty gives w = 0 have penalties far below this.
NO_PENALTY = 1e-200
# Errors that vary by more than this factor look flat on a linear scale.
FLAT = 10.0
WORDS = {"mse": "MSE", "mae": "MAE", "r2": "R²", "f1": "F1", "auc": "AUC"}


@dataclass(frozen=True, eq=False)
class Curves:
    """Scores of one response: rows are radii, columns penalties, the largest penalty first."""

    alphas: FloatArray  # (r, a)
    mean: FloatArray  # (r, a)
    standard_error: FloatArray  # (r, a)
    n_nonzero: FloatArray  # (r, a), mean of the folds
    radii: tuple[str, ...]
    chosen: int  # row
    marks: tuple[tuple[str, float], ...]  # words and penalties; the first is of the model
    metric: str


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
) -> Axes:
    """Draw held-out scores against the penalty, with both rules' penalties.

    A dashed line marks the penalty of the model, a dotted one that of the other rule.

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
    matplotlib Axes
    """
    if isinstance(source, sl.CrossValidation):
        curves = _of_cross_validation(source, metric, response)
    elif hasattr(source, "score_path_"):
        if metric not in (None, source.scoring):
            raise InvalidInputError(
                f"metric must be {source.scoring!r}, the one that the estimator keeps, not "
                f"{metric!r}; leave it out, or pass what cross_validate returns."
            )
        curves = _of_estimator(source, response)
    else:
        raise InvalidInputError(
            "source must be a CrossValidation or a fitted SqrtLassoCV or SqrtLassoClassifierCV, "
            f"not a {type(source).__name__}."
        )
    return _draw(curves, ax, line_kw)


def _draw(curves: Curves, ax: Axes | None, line_kw: dict[str, Any]) -> Axes:
    # Radii so large that w = 0 throughout are left out.
    others = [
        row
        for row in range(len(curves.radii))
        if row != curves.chosen and curves.alphas[row].max() > NO_PENALTY
    ]
    shown = canvas.check_penalties(curves.alphas[[curves.chosen, *others]])
    ax = canvas.start(ax)
    canvas.penalty_axis(ax, shown)
    handles = []
    for place, row in enumerate(others):
        tried = np.isfinite(curves.mean[row])
        handles += ax.plot(
            curves.alphas[row][tried],
            curves.mean[row][tried],
            color=hue(2 + place),
            linewidth=1.1,
            alpha=0.7,
            label=f"radius {curves.radii[row]}",
        )
    # Penalties that a search left out have no score; the line skips them.
    tried = np.isfinite(curves.mean[curves.chosen])
    alphas, mean = curves.alphas[curves.chosen, tried], curves.mean[curves.chosen, tried]
    error = curves.standard_error[curves.chosen, tried]
    label = f"radius {curves.radii[curves.chosen]}, chosen"
    style: dict[str, Any] = {"marker": "o"} if len(alphas) == 1 else {}
    style |= {"color": hue(0), "linewidth": 2.0, "zorder": 3, "label": label, **line_kw}
    (line,) = ax.plot(alphas, mean, **style)
    ax.fill_between(
        alphas, mean - error, mean + error, color=line.get_color(), alpha=0.25, linewidth=0
    )
    styles = (canvas.CHOSEN, {"linestyle": ":", "linewidth": 1.2})
    marks = [
        ax.axvline(alpha, color=ink(ax), label=words, **kind)
        for (words, alpha), kind in zip(curves.marks, styles, strict=True)
    ]
    if curves.metric in ("mse", "mae") and 0 < FLAT * np.nanmin(mean) < np.nanmax(mean):
        ax.set_yscale("log")
    ax.set_ylabel(f"held-out {WORDS.get(curves.metric, curves.metric)} ± 1 SE")
    counts = curves.n_nonzero[curves.chosen, tried]
    canvas.count_axis(ax, alphas, counts, "non-zero, mean of folds")
    canvas.legend(ax, [*marks, *([line] if handles else []), *handles])
    return ax


def _of_cross_validation(search: sl.CrossValidation, metric: Any, response: int) -> Curves:
    """Take one response, every radius."""
    name = metric or search.first_metric
    if name not in search.scores:
        scored = ", ".join(repr(key) for key in search.scores)
        raise InvalidInputError(f"metric must be one of {scored}, not {metric!r}.")
    response = canvas.check_index("response", response, len(search.alphas))
    best = search.best(name, response)
    careful = search.best(name, response, rule="1se")
    return Curves(
        alphas=search.alphas[response],
        mean=search.mean(name)[response],
        standard_error=search.standard_error(name)[response],
        n_nonzero=search.n_nonzero[:, response].mean(axis=0),
        radii=tuple(str(radius) for radius in search.radii),
        chosen=best.radius_index,
        marks=(_mark("min", best.alpha), _mark("1se", careful.alpha)),
        metric=name,
    )


def _of_estimator(estimator: Search, response: int) -> Curves:
    """Take the search of an estimator, which keeps the scores at the radius it chose."""
    best = np.atleast_1d(estimator.alpha_min_)
    response = canvas.check_index("response", response, len(best))
    scores, counts = np.asarray(estimator.score_path_), np.asarray(estimator.n_nonzero_path_)
    if scores.ndim == 3:
        scores, counts = scores[response], counts[response]
    mean, error = over_folds(scores)
    rules = {
        "min": float(best[response]),
        "1se": float(np.atleast_1d(estimator.alpha_1se_)[response]),
    }
    used = rules.pop(estimator.selection)
    ((other, alpha),) = rules.items()
    count = np.count_nonzero(np.atleast_2d(estimator.coef_)[response])
    return Curves(
        alphas=np.atleast_2d(estimator.alphas_)[[response]],
        mean=mean[None],
        standard_error=error[None],
        n_nonzero=counts.mean(axis=1)[None],
        radii=(f"{float(np.atleast_1d(estimator.radius_)[response]):.3g}",),
        chosen=0,
        marks=(_mark(estimator.selection, used, f", {count} non-zero"), _mark(other, alpha)),
        metric=estimator.scoring,
    )


def _mark(rule: str, alpha: float, more: str = "") -> tuple[str, float]:
    """Describe the penalty of a rule."""
    return rf"selection {rule}: $\alpha$ = {alpha:.3g}{more}", alpha
