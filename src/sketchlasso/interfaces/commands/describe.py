"""Models in words: what fit, cv and info say of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import sketchlasso as sl
from sketchlasso.interfaces.commands.given import Given
from sketchlasso.interfaces.commands.report import Sheet, short
from sketchlasso.interfaces.models import Model
from sketchlasso.types import FloatArray, IntArray

__all__ = [
    "class_words",
    "coefficient_sheet",
    "feature_name",
    "label",
    "largest",
    "listed_coefficients",
    "model_data",
    "model_facts",
    "model_words",
    "response_names",
    "score_of",
    "solver_facts",
]

# Features listed in the JSON document.
MOST_LISTED = 10_000


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
    model: Model, names: Sequence[str] | None, **others: FloatArray
) -> list[dict[str, Any]]:
    """List coefficients that are not zero for machines, the largest effects first.

    Parameters
    ----------
    model : estimator
    names : sequence of str, or None
    **others : ndarray of shape (t, n)
        What else to list of every feature; `effect`, if it is there, decides the order.
    """
    columns = {"value": np.atleast_2d(model.coef_), **others}
    order = largest(columns["value"], columns.get("effect"))
    return [
        {
            "feature": feature_name(names, int(j)),
            **{key: part[0, j] if len(part) == 1 else part[:, j] for key, part in columns.items()},
        }
        for j in order[:MOST_LISTED]
    ]


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
    order = largest(rows)
    if top == 0 or len(order) == 0:
        return ()
    heads = response_names(model, "coefficient")
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


def largest(rows: FloatArray, effects: FloatArray | None = None) -> IntArray:
    """Features with coefficients (t, n) that are not zero, those with the largest effects first."""
    used = np.flatnonzero(rows.any(axis=0))
    size = np.abs(rows if effects is None else effects)[:, used].max(axis=0)
    return used[np.argsort(-size, kind="stable")]


def response_names(model: Model, single: str) -> tuple[str, ...]:
    """Name the classes or targets that have coefficients of their own; `single` is the only one."""
    count = len(np.atleast_2d(model.coef_))
    names = getattr(model, "classes_", range(1, count + 1))
    return tuple(map(label, names)) if count > 1 else (single,)


def feature_name(names: Sequence[str] | None, j: int) -> str:
    """Name a feature; by its position from 0 where it has no name."""
    return f"feature {j}" if names is None else names[j]
