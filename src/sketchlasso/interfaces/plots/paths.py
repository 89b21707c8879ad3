"""Coefficients, and shares of half-samples, against the penalty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces import Model, class_signs
from sketchlasso.interfaces.plots import canvas
from sketchlasso.interfaces.plots.canvas import Axes, ink
from sketchlasso.types import FloatArray


def plot_path(
    source: Any,
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    feature_names: Sequence[str] | None = None,
    top: int = 8,
    response: int = 0,
    radius: int = 0,
    ax: Axes | None = None,
    **line_kw: Any,
) -> Axes:
    """Draw coefficients against the penalty, the largest penalty at the left.

    An estimator keeps one model only, so its path is solved again, on its sketch and at its
    radius; for a fit with sample weights pass a :class:`Path` instead. A dashed line marks its
    penalty, and the coefficients are those per standard deviation of each feature.

    Parameters
    ----------
    source : Path or fitted estimator
    X : array-like or sparse matrix of shape (n_samples, n_features), optional
        What an estimator was fitted on; not for a path.
    y : array-like of shape (n_samples,) or (n_samples, n_targets), optional
        The responses of that fit; not for a path.
    feature_names : sequence of str, optional
        By default those an estimator was fitted with.
    top : int
        How many coefficients to name: the largest at the penalty an estimator used, the largest
        anywhere on a path.
    response, radius : int
        Which of those that were solved, counted from 0.
    ax : matplotlib Axes, optional
    **line_kw
        For the lines of the coefficients that are named.

    Returns
    -------
    matplotlib Axes
    """
    used = None
    if isinstance(source, sl.Path):
        alphas, coef = _of_path(source, response, radius)
    elif not (hasattr(source, "get_params") and hasattr(source, "coef_")):
        raise InvalidInputError(
            f"source must be a Path or a fitted estimator, not a {type(source).__name__}; call "
            "fit first if it is an estimator."
        )
    elif X is None or y is None:
        raise InvalidInputError(
            f"a {type(source).__name__} keeps one model only; pass X and y as well, or a Path "
            "from sqrt_lasso_path."
        )
    else:
        alphas, coef, used = _of_estimator(source, X, y, response)
    names = canvas.feature_labels(
        feature_names, coef.shape[1], getattr(source, "feature_names_in_", None)
    )
    top = canvas.check_top(top)
    shown = canvas.check_penalties(alphas if used is None else np.append(alphas, used))
    ax = canvas.start(ax)
    canvas.penalty_axis(ax, shown)
    columns = np.unique(coef.indices)
    values = coef[:, columns].toarray()
    size = np.abs(values).max(axis=0, initial=0.0)
    if used is not None:
        size = np.abs(values[np.abs(np.log(alphas / used)).argmin()])
        ax.axvline(used, color=ink(ax), **canvas.CHOSEN)
    named = np.argsort(-size, kind="stable")[: min(top, np.count_nonzero(size))]
    others = np.delete(values, named, axis=1)
    # Many lines together would look black.
    shade = max(0.06, 0.35 * min(1.0, (40 / max(others.shape[1], 1)) ** 0.6))
    canvas.faint_lines(ax, alphas, others, shade)
    ax.axhline(0.0, color=ink(ax), linewidth=0.6, zorder=1)
    lines = canvas.ranked_lines(ax, alphas, values[:, named], **line_kw)
    ax.set_ylabel("coefficient" if used is None else "effect of one standard deviation")
    low, high = min(0.0, values.min(initial=0.0)), max(0.0, values.max(initial=0.0))
    air = 0.04 * (high - low) or 1.0
    ax.set_ylim(float(low - air), float(high + air))
    canvas.count_axis(ax, alphas, np.diff(coef.indptr), "non-zero coefficients")
    canvas.name_line_ends(ax, lines, [names[columns[place]] for place in named])
    return ax


def _of_path(path: sl.Path, response: int, radius: int) -> tuple[FloatArray, Any]:
    """Return penalties (a,) and coefficients (a, n) of one response and radius of a path."""
    responses, radii, count = path.alphas.shape
    response = canvas.check_index("response", response, responses)
    radius = canvas.check_index("radius", radius, radii)
    first = (response * radii + radius) * count
    return path.alphas[response, radius], path.models.coef[first : first + count]


def _of_estimator(estimator: Model, X: Any, y: Any, response: int) -> tuple[FloatArray, Any, float]:
    """Solve for all penalties as a fitted estimator would, on its sketch, at the radius it used.

    X (m, n) and y (m,) or (m, t) are those of the fit, which had no sample weights; `response` is
    a target or class. Returns penalties (a,), effects of one standard deviation (a, n), and the
    penalty used.
    """
    from sklearn.preprocessing import StandardScaler

    used = np.atleast_1d(estimator.alpha_)
    response = canvas.check_index("response", response, len(used))
    values = np.asarray(y)
    if hasattr(estimator, "classes_"):
        values = class_signs(values, estimator.classes_)
    sketch = getattr(estimator, "sketch_", None)
    if response and sketch is not None and sketch.response_rank:
        raise InvalidInputError(
            "the estimator keeps the sketch of response 0 only, and each has its own; pass a Path "
            "from sqrt_lasso_path."
        )
    rows: Any = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
    # Divided as the fit does it, digit by digit: its sketch is of these numbers.
    scales, factor = estimator.scale_, estimator.penalty_factor
    if scales is not None:
        if hasattr(rows, "indices"):
            rows = rows.astype(np.float64)
            rows.data = rows.data / scales[rows.indices]
        else:
            rows = rows / scales
    if hasattr(estimator, "loadings_"):  # those of rigorous penalties
        loadings = np.atleast_2d(estimator.loadings_)[response]
        loadings = loadings if scales is None else loadings / scales
        factor = loadings if factor is None else loadings * np.asarray(factor, dtype=np.float64)
    grid = getattr(estimator, "alphas_", None)
    path = sl.sqrt_lasso_path(
        rows,
        values.reshape(len(values), -1)[:, response].astype(np.float64),
        sketch,
        alphas=100 if grid is None else np.atleast_2d(grid)[response],
        radius=None if sketch is None else float(np.atleast_1d(estimator.radius_)[response]),
        fit_intercept=estimator.fit_intercept,
        penalty_factor=factor,
        positive=estimator.positive,
        solver=estimator.solver,
        settings=sl.Settings(tol=estimator.tol),
    )
    alphas, coef = _of_path(path, 0, 0)
    if scales is None:
        coef.data *= StandardScaler(with_mean=False).fit(rows).scale_[coef.indices]
    return alphas, coef, float(used[response])


def plot_stability(
    selector: sl.inference.StabilitySelection,
    *,
    feature_names: Sequence[str] | None = None,
    top: int = 12,
    ax: Axes | None = None,
    **line_kw: Any,
) -> Axes:
    """Draw how often each feature has been chosen on half-samples, as the penalty falls.

    Parameters
    ----------
    selector : StabilitySelection
        Fitted.
    feature_names : sequence of str, optional
        By default those the selector was fitted with.
    top : int
        How many of the selected features to name at most, those chosen most often first.
    ax : matplotlib Axes, optional
    **line_kw
        For the lines of the features that are named.

    Returns
    -------
    matplotlib Axes
    """
    if not hasattr(selector, "stability_path_"):
        raise InvalidInputError(
            f"selector must be a fitted StabilitySelection, not a {type(selector).__name__} "
            "without paths."
        )
    names = canvas.feature_labels(
        feature_names, selector.n_features_in_, getattr(selector, "feature_names_in_", None)
    )
    alphas, shares = selector.alphas_, selector.stability_path_
    selected = selector.get_support(indices=True)
    top = canvas.check_top(top)
    ax = canvas.start(ax)
    canvas.penalty_axis(ax, alphas)
    named = selected[np.argsort(-shares[-1, selected], kind="stable")][:top]
    others = np.setdiff1d(np.flatnonzero(shares[-1]), named)
    canvas.faint_lines(ax, alphas, shares[:, others], 0.25)
    lines = canvas.ranked_lines(ax, alphas, shares[:, named], **line_kw)
    ax.axhline(selector.cutoff_, color=ink(ax), linewidth=1.1, linestyle=":")
    ax.set_ylim(-0.02, 1.04)
    ax.set_ylabel("share of half-samples")
    ax.set_title(
        f"{len(selected)} selected at {selector.cutoff_:g} (dotted);\n"
        f"at most {selector.pfer_:.3g} expected to be noise",
        fontsize="medium",
        color=ink(ax),
    )
    canvas.name_line_ends(ax, lines, [names[feature] for feature in named])
    return ax
