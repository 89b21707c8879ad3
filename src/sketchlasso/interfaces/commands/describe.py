"""Models in words, tables and pictures: what fit, cv and info report of one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import sketchlasso as sl
from sketchlasso.interfaces import Model, Search, as_drawn
from sketchlasso.interfaces.commands.data import Given
from sketchlasso.interfaces.commands.outputs import panels, save_picture
from sketchlasso.interfaces.commands.report import Bar, Facts, Sheet, evenly, label, sheet_of, short
from sketchlasso.interfaces.plots.canvas import Axes, hue
from sketchlasso.interfaces.plots.search import over_folds
from sketchlasso.types import FloatArray, IntArray

# Features listed in the JSON document.
MOST_LISTED = 10_000
# Effects drawn.
MOST_BARS = 15
# Room for so many is left in any case.
FEWEST_BARS = 8
EFFECT = "effect of one standard deviation"


def model_data(model: Model) -> dict[str, Any]:
    """Describe a fitted estimator for machines, without its coefficients."""
    rows = np.atleast_2d(model.coef_)
    data: dict[str, Any] = {
        "estimator": type(model).__name__,
        "n_features": model.n_features_in_,
        "alpha": model.alpha_,
        "radius": model.radius_,
        "intercept": model.intercept_,
        "n_nonzero": int(np.count_nonzero(rows.any(axis=0))),
        "dual_gap": model.dual_gap_,
        "full_gap": model.full_gap_,
    }
    if hasattr(model, "classes_"):
        data["classes"] = [label(value) for value in model.classes_]
    return data


def listed_coefficients(
    model: Model, names: Sequence[str] | None, X: Any = None
) -> list[dict[str, Any]]:
    """List coefficients that are not zero for machines, with their effects if X is given.

    Those with the largest effects come first.
    """
    columns = {"value": np.atleast_2d(model.coef_)}
    if X is not None:
        columns["effect"] = effects_of(model, X)
    if X is not None and hasattr(model, "fold_share_"):
        columns["fold_share"] = np.atleast_2d(model.fold_share_)
    order = _largest(columns["value"], columns.get("effect"))
    return [
        {
            "feature": feature_name(names, int(j)),
            **{key: part[0, j] if len(part) == 1 else part[:, j] for key, part in columns.items()},
        }
        for j in order[:MOST_LISTED]
    ]


def solver_facts(model: Model) -> Facts:
    """Report how a fitted estimator was solved, and how exactly."""
    return (
        ("radius", _each(model.radius_)),
        ("gap", f"{np.max(model.dual_gap_):.1e} in the problem that was solved"),
        ("full gap", f"at most {np.max(model.full_gap_):.1e} relative, in the full problem"),
    )


def model_words(model: Model | sl.engine.LinearModels) -> str:
    """Describe a fitted estimator, or linear models, in one line."""
    if isinstance(model, sl.engine.LinearModels):
        return "{} linear models of {} features".format(*model.coef.shape)
    used = np.count_nonzero(np.atleast_2d(model.coef_).any(axis=0))
    several = "penalties" if len(np.unique(model.alpha_)) > 1 else "penalty"
    columns = ", columns standardised" if model.standardized_ else ""
    return (
        f"square-root LASSO, {used} of {model.n_features_in_} features used, {several} "
        f"{_each(model.alpha_)}{columns}"
    )


def coefficient_sheet(model: Model, names: Sequence[str] | None, top: int) -> tuple[Sheet, ...]:
    """List the largest coefficients."""
    rows = np.atleast_2d(model.coef_)
    order = _largest(rows)
    shown = order[:top]
    columns = (
        ("feature", {j: feature_name(names, int(j)) for j in shown}),
        *zip(response_names(model, "coefficient"), rows, strict=True),
    )
    return sheet_of(f"largest {len(shown)} of {len(order)} coefficients", columns, shown)


def _each(values: Any) -> str:
    some = np.atleast_1d(values)
    some = some[:1] if np.all(some == some[0]) else some
    shown = ", ".join(short(float(value)) for value in some[:6])
    return shown if len(some) <= 6 else f"{shown}, ..."


def _largest(rows: FloatArray, effects: FloatArray | None = None) -> IntArray:
    """Return features with non-zero coefficients (t, n), those with the largest effects first."""
    used = np.flatnonzero(rows.any(axis=0))
    size = np.abs(rows if effects is None else effects)[:, used].max(axis=0)
    return used[np.argsort(-size, kind="stable")]


def response_names(model: Model, single: str) -> tuple[str, ...]:
    """Name the classes or targets of the rows of `coef_`; `single` if there is one row."""
    count = len(np.atleast_2d(model.coef_))
    names = getattr(model, "classes_", range(1, count + 1))
    return tuple(map(label, names)) if count > 1 else (single,)


def feature_name(names: Sequence[str] | None, j: int) -> str:
    """Return the name of a feature, or its number from 1."""
    return f"feature {j + 1}" if names is None else names[j]


def all_names(names: Sequence[str] | None, count: int) -> list[str]:
    """Return the names of all features."""
    return [feature_name(names, j) for j in range(count)]


def effects_of(model: Model, X: Any) -> FloatArray:
    """Return effects (t, n): coefficients times the standard deviations of the columns.

    For data in blocks, whose columns are not in memory, they are the coefficients themselves.
    """
    from sklearn.preprocessing import StandardScaler  # help pages do not need it

    rows = np.atleast_2d(model.coef_)
    if not (isinstance(X, np.ndarray) or sparse.issparse(X)):
        return rows
    deviations = np.sqrt(StandardScaler(with_mean=False).fit(X).var_)
    return np.asarray(rows * deviations)


def effect_sheet(model: Model, given: Given, top: int) -> tuple[Sheet, ...]:
    """List the largest effects for people; of several classes or targets, those of each."""
    rows, effects = np.atleast_2d(model.coef_), effects_of(model, given.X)
    listed = _largest_of_each(effects, top)
    values = [float(effects[place]) for place in listed]
    reach = max(map(abs, values), default=0.0) or 1.0
    columns: list[tuple[str, Any]] = [
        ("feature", [feature_name(given.names, j) for _, j in listed]),
        ("per std. dev.", values),
        ("per unit", [float(rows[place]) for place in listed]),
    ]
    if hasattr(model, "fold_share_"):
        shares = np.atleast_2d(model.fold_share_)
        columns.append(("in folds", [f"{shares[place]:.0%}" for place in listed]))
    columns.append(("", [Bar(value / reach) for value in values]))
    title = _effects_title(model, given, len(listed))
    if len(rows) > 1:
        names = response_names(model, "")
        whose = "class" if hasattr(model, "classes_") else "target"
        columns.insert(0, (whose, [names[t] for t, _ in listed]))
        title += ", the largest of each" if len(listed) < np.count_nonzero(rows) else ""
    return sheet_of(title, columns, range(len(listed)))


def _largest_of_each(effects: FloatArray, top: int) -> list[tuple[int, int]]:
    """Return places of about `top` effects (t, n) that are not zero, the largest of each row."""
    each = -(-top // len(effects))
    return [(t, int(j)) for t in range(len(effects)) for j in _largest(effects[[t]])[:each]]


def _effects_title(model: Model, given: Given, shown: int) -> str:
    response = given.target_name or "the target"
    if hasattr(model, "classes_"):
        two = len(model.classes_) == 2
        response = (
            f"the score for {label(model.classes_[1])}" if two else "the scores of the classes"
        )
    return f"effects on {response}, {shown} of {np.count_nonzero(model.coef_)}"


def draw_model(estimator: Model, given: Given, path: Path | None) -> None:
    """Draw the scores of a search, the path and the effects.

    Of several classes or targets, scores and path are those of the first.
    """
    if path is None:
        return
    by_penalty = []
    if hasattr(estimator, "score_path_"):
        by_penalty.append("scores")
    if not given.in_blocks:
        by_penalty.append("path")
    axes = panels([[name, "effects"] for name in by_penalty] or [["effects"]])
    if "scores" in axes:
        sl.plots.plot_cv(estimator, ax=axes["scores"])
    if "path" in axes:
        drawn = sl.plots.plot_path(
            estimator,
            given.X,
            given.response,
            feature_names=all_names(given.names, given.X.shape[1]),
            ax=axes["path"],
        )
        if "scores" in axes:
            axes["scores"].set_xlim(drawn.get_xlim())
    names = response_names(estimator, "")
    if by_penalty and len(names) > 1:
        kind = "classes" if hasattr(estimator, "classes_") else "targets"
        shown = f"{' and '.join(by_penalty)} of {names[0]}, the first of {len(names)} {kind}"
        axes[by_penalty[0]].set_title(as_drawn(shown), fontsize="medium")
    _draw_effects(estimator, given, axes["effects"])
    save_picture(axes["effects"], path)


def _draw_effects(estimator: Model, given: Given, ax: Axes) -> None:
    """Draw the largest effects as bars, the largest on top."""
    effects, whose = effects_of(estimator, given.X), response_names(estimator, "")
    listed = _largest_of_each(effects, MOST_BARS)[::-1]
    values = [float(effects[place]) for place in listed]
    names = [f"{whose[t]}: {feature_name(given.names, j)}".removeprefix(": ") for t, j in listed]
    ax.barh(range(len(listed)), values, color=[hue(int(value < 0)) for value in values])
    ax.set_yticks(range(len(listed)), list(map(as_drawn, names)))
    # A few bars stay as thin as many.
    ax.set_ylim(min(-0.6, len(listed) - FEWEST_BARS - 0.4), max(len(listed), 1) - 0.4)
    ax.locator_params(axis="x", nbins=5)
    ax.axvline(0.0, color="0.5", linewidth=0.8)
    ax.set_xlabel(EFFECT)
    ax.set_title(as_drawn(_effects_title(estimator, given, len(listed))), fontsize="medium")


def score_curves(estimator: Search) -> list[dict[str, Any]]:
    """Return penalties, mean scores and standard errors of every response."""
    paths = np.asarray(estimator.score_path_)
    paths = paths[None] if paths.ndim == 2 else paths
    curves = []
    for alphas, scores, used in zip(
        np.atleast_2d(estimator.alphas_), paths, np.atleast_1d(estimator.alpha_), strict=True
    ):
        tried = ~np.isnan(scores).all(axis=1)  # squared errors may overflow
        mean, error = over_folds(scores[tried])
        chosen = int(np.argmin(np.abs(alphas[tried] - used)))
        curves.append(
            {"alphas": alphas[tried], "mean": mean, "standard_error": error, "chosen": chosen}
        )
    return curves


def chosen_words(curves: list[dict[str, Any]]) -> str:
    """Return the mean score at the penalties that were chosen."""
    means = [curve["mean"][curve["chosen"]] for curve in curves]
    if len(means) > 1:
        return f"{np.mean(means):.4g} on average over {len(means)} classes or targets"
    error = curves[0]["standard_error"][curves[0]["chosen"]]
    return f"{means[0]:.4g} +- {error:.2g} on held-out rows"


def curve_sheet(curve: dict[str, Any], metric: str) -> tuple[Sheet, ...]:
    """List the scores of about ten penalties, including the chosen one."""
    count = len(curve["alphas"])
    places = np.union1d(evenly(count, 10), [curve["chosen"]])
    columns = (
        ("alpha", curve["alphas"]),
        (metric, curve["mean"]),
        ("standard error", curve["standard_error"]),
        ("", ["chosen" if k == curve["chosen"] else "" for k in range(count)]),
    )
    return sheet_of(f"{len(places)} of {count} penalties", columns, places)
