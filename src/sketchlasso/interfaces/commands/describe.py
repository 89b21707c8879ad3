"""Models in words, tables and pictures: what fit, cv and info report of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import sketchlasso as sl
from sketchlasso.interfaces import Model, Search, as_drawn
from sketchlasso.interfaces.commands.data import Given
from sketchlasso.interfaces.commands.outputs import PlotOptions, panels
from sketchlasso.interfaces.commands.screen import Bar, Facts, Sheet, label, sheet_of, short
from sketchlasso.interfaces.plots.canvas import Axes, hue
from sketchlasso.interfaces.plots.search import over_folds

MOST_LISTED = 10_000  # features in the JSON document
EFFECT = "effect of one standard deviation"


def model_data(model: Model) -> dict[str, Any]:
    """Describe a fitted estimator for machines, without its coefficients."""
    data: dict[str, Any] = {
        "estimator": type(model).__name__,
        "n_features": model.n_features_in_,
        "alpha": model.alpha_,
        "radius": model.radius_,
        "intercept": model.intercept_,
        "n_nonzero": int(np.count_nonzero(np.atleast_2d(model.coef_).any(axis=0))),
        "dual_gap": model.dual_gap_,
        "full_gap": model.full_gap_,
    }
    if hasattr(model, "classes_"):
        data["classes"] = [label(value) for value in model.classes_]
    return data


def listed_coefficients(model: Model, names: Sequence[str] | None) -> list[dict[str, Any]]:
    """List coefficients that are not zero for machines, with their effects.

    Those with the largest effects come first.
    """
    table = summary_of(model, names).table()
    keys = {"per_unit": "value", "per_std": "effect"}
    heads = [keys.get(name, name) for name in table]
    rows = zip(*table.values(), strict=True)
    return [dict(zip(heads, row, strict=True)) for row in rows][:MOST_LISTED]


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


def _each(values: Any) -> str:
    some = np.atleast_1d(values)
    some = some[:1] if np.all(some == some[0]) else some
    shown = ", ".join(short(float(value)) for value in some[:6])
    return shown if len(some) <= 6 else f"{shown}, ..."


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


def summary_of(model: Model, names: Sequence[str] | None) -> sl.ModelSummary:
    """Return the summary of a model, with features and targets by name or counted from 1."""
    summary: sl.ModelSummary = model.summary(all_names(names, model.n_features_in_))
    return replace(summary, responses=response_names(model, ""))


def effect_sheet(
    model: Model, names: Sequence[str] | None, target: str | None, top: int
) -> tuple[Sheet, ...]:
    """List the largest effects for people; of several classes or targets, those of each."""
    table = summary_of(model, names).table(top)
    values = drawn_effects(table)
    reach = max(map(abs, values), default=0.0) or 1.0
    columns: list[tuple[str, Any]] = [
        ("feature", table["feature"]),
        ("per std. dev.", table["per_std"]),
        ("per unit", table["per_unit"]),
    ]
    if "fold_share" in table:
        columns.append(("in folds", [f"{share:.0%}" for share in table["fold_share"]]))
    columns.append(("", [Bar(value / reach) for value in values]))
    title = _effects_title(model, target, len(values))
    if "response" in table:
        columns.insert(0, ("class" if hasattr(model, "classes_") else "target", table["response"]))
        some = len(values) < np.count_nonzero(model.coef_)
        title += ", the largest of each" if some else ""
    return sheet_of(title, columns, range(len(values)))


def drawn_effects(table: dict[str, Any]) -> list[float]:
    """Return effects of one standard deviation, or of one unit where these are not known."""
    effects = table["per_unit" if np.isnan(table["per_std"]).any() else "per_std"]
    return [float(value) for value in effects]


def _effects_title(model: Model, target: str | None, shown: int) -> str:
    response = target or "the target"
    if hasattr(model, "classes_"):
        two = len(model.classes_) == 2
        response = (
            f"the score for {label(model.classes_[1])}" if two else "the scores of the classes"
        )
    return f"effects on {response}, {shown} of {np.count_nonzero(model.coef_)}"


def draw_model(estimator: Model, given: Given, picture: PlotOptions) -> None:
    """Draw the scores of a search, the path and the effects.

    Of several classes or targets, scores and path are those of the first.
    """
    if picture.plot is None:
        return
    by_penalty = ["scores"] if hasattr(estimator, "score_path_") else []
    if not given.in_blocks:
        by_penalty.append("path")
    axes = panels([[name, "effects"] for name in by_penalty] or [["effects"]])
    if "scores" in axes:
        sl.plots.plot_cv(estimator, ax=axes["scores"])
    if "path" in axes:
        names = all_names(given.names, given.X.shape[1])
        drawn = sl.plots.plot_path(
            estimator, given.X, given.response, feature_names=names, ax=axes["path"]
        )
        if "scores" in axes:
            axes["scores"].set_xlim(drawn.get_xlim())
    responses = response_names(estimator, "")
    if by_penalty and len(responses) > 1:
        shown = f"{' and '.join(by_penalty)} of {responses[0]}, the first of {len(responses)}"
        axes[by_penalty[0]].set_title(as_drawn(shown), fontsize="medium")
    _draw_effects(estimator, given, axes["effects"])
    picture.save(axes["effects"])


def _draw_effects(estimator: Model, given: Given, ax: Axes) -> None:
    """Draw the largest effects as bars, the largest on top."""
    table = summary_of(estimator, given.names).table(15)
    values, names = drawn_effects(table)[::-1], table["feature"][::-1]
    if "response" in table:
        whose = table["response"][::-1]
        names = [f"{one}: {name}" for one, name in zip(whose, names, strict=True)]
    ax.barh(range(len(values)), values, color=[hue(int(value < 0)) for value in values])
    ax.set_yticks(range(len(values)), list(map(as_drawn, names)))
    # A few bars stay as thin as eight.
    ax.set_ylim(min(-0.6, len(values) - 8.4), max(len(values), 1) - 0.4)
    ax.locator_params(axis="x", nbins=5)
    ax.axvline(0.0, color="0.5", linewidth=0.8)
    ax.set_xlabel(EFFECT)
    ax.set_title(
        as_drawn(_effects_title(estimator, given.target_name, len(values))), fontsize="medium"
    )


def score_curves(estimator: Search) -> list[dict[str, Any]]:
    """Return penalties, mean scores and standard errors of every response."""
    paths = np.asarray(estimator.score_path_)
    paths = paths[None] if paths.ndim == 2 else paths
    curves = []
    for alphas, scores, used in zip(
        np.atleast_2d(estimator.alphas_), paths, np.atleast_1d(estimator.alpha_), strict=True
    ):
        tried = ~np.isnan(scores).all(axis=1)
        mean, error = over_folds(scores[tried])
        chosen = int(np.argmin(np.abs(alphas[tried] - used)))
        curves.append(
            {"alphas": alphas[tried], "mean": mean, "standard_error": error, "chosen": chosen}
        )
    return curves
