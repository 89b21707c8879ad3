"""Held-out scores against the penalty."""

from __future__ import annotations

from typing import Any

import numpy as np

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces.plots import canvas
from sketchlasso.interfaces.plots.canvas import Axes, hue, ink
from sketchlasso.types import FloatArray


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
        metric = metric or source.first_metric
        if metric not in source.scores:
            scored = ", ".join(map(repr, source.scores))
            raise InvalidInputError(f"metric must be one of {scored}, not {metric!r}.")
        response = canvas.check_index("response", response, len(source.alphas))
        best = source.best(metric, response)
        marks = {"min": best.alpha, "1se": source.best(metric, response, rule="1se").alpha}
        used, row, count = "min", best.radius_index, ""
        radii = [str(radius) for radius in source.radii]
        alphas, means = source.alphas[response], source.mean(metric)[response]
        error = source.standard_error(metric)[response, row]
    elif hasattr(source, "score_path_"):
        if metric not in (None, source.scoring):
            raise InvalidInputError(
                f"metric must be {source.scoring!r}, the one that the estimator keeps, not "
                f"{metric!r}; leave it out, or pass what cross_validate returns."
            )
        metric, used, row = source.scoring, source.selection, 0
        response = canvas.check_index("response", response, np.size(source.alpha_min_))
        rules = {"min": source.alpha_min_, "1se": source.alpha_1se_}
        marks = {rule: float(np.ravel(alpha)[response]) for rule, alpha in rules.items()}
        count = f", {np.count_nonzero(np.atleast_2d(source.coef_)[response])} non-zero"
        radii = [f"{np.ravel(source.radius_)[response]:.3g}"]
        alphas = np.atleast_2d(source.alphas_)[[response]]
        paths = np.asarray(source.score_path_)
        mean, error = over_folds(paths if paths.ndim == 2 else paths[response])
        means = mean[None]
    else:
        raise InvalidInputError(
            "source must be a CrossValidation or a fitted SqrtLassoCV or SqrtLassoClassifierCV, "
            f"not a {type(source).__name__}; call fit first if it is one."
        )
    # At radii so large that w = 0 throughout, penalties are far below this.
    others = [other for other in range(len(radii)) if other != row and alphas[other].max() > 1e-200]
    shown = canvas.check_penalties(alphas[[row, *others]])
    ax = canvas.start(ax)
    canvas.penalty_axis(ax, shown)
    handles = []
    # Penalties that a search left out have no score; the lines skip them.
    for number, other in enumerate(others, start=2):
        tried = np.isfinite(means[other])
        handles += ax.plot(
            alphas[other][tried],
            means[other][tried],
            color=hue(number),
            linewidth=1.1,
            alpha=0.7,
            label=f"radius {radii[other]}",
        )
    tried = np.isfinite(means[row])
    x, mean, error = alphas[row, tried], means[row, tried], error[tried]
    style: dict[str, Any] = {"color": hue(0), "linewidth": 2.0, "zorder": 3}
    style |= {"label": f"radius {radii[row]}, chosen", "marker": "o" if len(x) == 1 else ""}
    (line,) = ax.plot(x, mean, **{**style, **line_kw})
    ax.fill_between(x, mean - error, mean + error, color=line.get_color(), alpha=0.25, linewidth=0)
    lines = []
    for rule in sorted(marks, key=lambda rule: rule != used):
        label = rf"selection {rule}: $\alpha$ = {marks[rule]:.3g}{count if rule == used else ''}"
        kind = canvas.CHOSEN if rule == used else {"linestyle": ":", "linewidth": 1.2}
        lines.append(ax.axvline(marks[rule], color=ink(ax), label=label, **kind))
    # Errors that vary by more than a factor of ten look flat on a linear scale.
    if metric in ("mse", "mae") and 0 < 10 * np.nanmin(mean) < np.nanmax(mean):
        ax.set_yscale("log")
    words = {"mse": "MSE", "mae": "MAE", "r2": "R²", "f1": "F1", "auc": "AUC"}
    ax.set_ylabel(f"held-out {words.get(metric, metric)}\n± 1 SE")
    canvas.legend(ax, [*lines, *([line] if handles else []), *handles])
    return ax
