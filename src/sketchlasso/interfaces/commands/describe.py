"""Models in words: what fit, cv and info say of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import sketchlasso as sl
from sketchlasso.interfaces.commands.given import Given
from sketchlasso.interfaces.commands.report import Sheet, short
from sketchlasso.interfaces.models import Model

__all__ = [
    "class_words",
    "coefficient_sheet",
    "feature_name",
    "label",
    "model_data",
    "model_facts",
    "model_words",
    "score_of",
    "solver_facts",
]

# Features listed in the JSON document and selected by a model of the usual size.
MOST_LISTED = 10_000


def model_data(model: Model, names: Sequence[str] | None) -> dict[str, Any]:
    """Describe a fitted estimator for machines; coefficients that are not zero only."""
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
    data["coefficients"] = [
        {
            "feature": feature_name(names, int(j)),
            "value": rows[0, j] if len(rows) == 1 else rows[:, j],
        }
        for j in _largest(rows)[:MOST_LISTED]
    ]
    return data


def model_facts(model: Model) -> tuple[tuple[str, str], ...]:
    """Describe a fitted estimator for people."""
    used = np.count_nonzero(np.atleast_2d(model.coef_).any(axis=0))
    facts = [("model", type(model).__name__)]
    if hasattr(model, "classes_"):
        facts.append(("classes", class_words(model.classes_)))
    facts += [
        ("alpha", _each(model.alpha_)),
        ("features", f"{used} of {model.n_features_in_} used"),
    ]
    return (*facts, *solver_facts(model))


def solver_facts(model: Model) -> tuple[tuple[str, str], ...]:
    """Report how a fitted estimator was solved, and how exactly."""
    return (
        ("radius", _each(model.radius_)),
        ("gap", f"{_worst(model.dual_gap_)} in the problem that was solved"),
        ("full gap", f"at most {_worst(model.full_gap_)} relative, in the full problem"),
    )


def model_words(model: Model) -> str:
    """Describe a fitted estimator in one line."""
    used = np.count_nonzero(np.atleast_2d(model.coef_).any(axis=0))
    several = "penalties" if np.size(model.alpha_) > 1 else "penalty"
    columns = ", columns standardised" if model.standardized_ else ""
    return (
        f"square-root LASSO, {used} of {model.n_features_in_} features used, {several} "
        f"{_each(model.alpha_)}{columns}"
    )


def coefficient_sheet(model: Model, names: Sequence[str] | None, top: int) -> tuple[Sheet, ...]:
    """List the largest coefficients."""
    rows = np.atleast_2d(model.coef_)
    order = _largest(rows)
    if top == 0 or len(order) == 0:
        return ()
    heads: tuple[str, ...] = ("coefficient",)
    if len(rows) > 1:
        heads = tuple(map(label, getattr(model, "classes_", range(1, len(rows) + 1))))
    shown = tuple((feature_name(names, int(j)), *map(float, rows[:, j])) for j in order[:top])
    title = f"largest {len(shown)} of {len(order)} coefficients"
    return (Sheet(title, ("feature", *heads), shown),)


def score_of(model: Model, given: Given) -> tuple[str, float]:
    """Return the name and value of a model's score on data: accuracy or R2."""
    name = "accuracy" if hasattr(model, "classes_") else "R2"
    y = given.response
    if name == "accuracy" and model.classes_.dtype.kind != "U":
        y = y.astype(model.classes_.dtype)
    return name, float(np.mean(model.predict(given.X) == y)) if name == "accuracy" else float(
        sl.engine.score("r2", y, model.predict(given.X)[:, None])[0]
    )


def class_words(classes: Any) -> str:
    """Name classes, the first few of many."""
    shown = ", ".join(label(value) for value in classes[:8])
    return shown if len(classes) <= 8 else f"{shown}, ... ({len(classes)} in all)"


def label(value: Any) -> str:
    """Write a class label; 1.0 as 1."""
    return f"{value:g}" if isinstance(value, float | np.floating) else str(value)


def _each(values: Any) -> str:
    some = np.atleast_1d(values)
    shown = ", ".join(short(float(value)) for value in some[:6])
    return shown if len(some) <= 6 else f"{shown}, ..."


def _worst(values: Any) -> str:
    return f"{float(np.max(values)):.1e}"


def _largest(rows: Any) -> Any:
    """Features that are used, those with the largest coefficients first."""
    size = np.abs(rows).max(axis=0)
    used = np.flatnonzero(size)
    return used[np.argsort(-size[used], kind="stable")]


def feature_name(names: Sequence[str] | None, j: int) -> str:
    """Name a feature; by its position from 0 where it has no name."""
    return f"feature {j}" if names is None else names[j]
