"""Coefficients as effects: per standard deviation of a feature, and per unit of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from sketchlasso.interfaces.commands.describe import feature_name, label
from sketchlasso.interfaces.commands.given import Given
from sketchlasso.interfaces.commands.report import Bar, Sheet
from sketchlasso.interfaces.models import Model

__all__ = ["effect_data", "effect_sheet", "effects_of"]

# Features listed in the JSON document.
MOST_LISTED = 10_000


def effects_of(model: Model, X: Any) -> Any:
    """Return effects (t, n): coefficients times the standard deviations of the columns.

    Those of data in blocks, whose columns are not at hand, are the coefficients themselves.
    """
    rows = np.atleast_2d(model.coef_)
    if not (isinstance(X, np.ndarray) or sparse.issparse(X)):
        return rows
    return rows * np.sqrt(StandardScaler(with_mean=False).fit(X).var_)


def effect_data(model: Model, given: Given) -> list[dict[str, Any]]:
    """List coefficients that are not zero for machines, the largest effects first."""
    rows, effects = np.atleast_2d(model.coef_), effects_of(model, given.X)
    shares = _shares(model)
    listed = []
    for j in _largest(effects, rows)[:MOST_LISTED]:
        entry = {
            "feature": feature_name(given.names, int(j)),
            "value": rows[0, j] if len(rows) == 1 else rows[:, j],
            "effect": effects[0, j] if len(rows) == 1 else effects[:, j],
        }
        if shares is not None:
            entry["fold_share"] = shares[0, j] if len(rows) == 1 else shares[:, j]
        listed.append(entry)
    return listed


def effect_sheet(model: Model, given: Given, top: int) -> tuple[Sheet, ...]:
    """List the largest effects for people."""
    rows, effects = np.atleast_2d(model.coef_), effects_of(model, given.X)
    order, shares = _largest(effects, rows), _shares(model)
    if top == 0 or len(order) == 0:
        return ()
    shown = order[:top]
    names = [feature_name(given.names, int(j)) for j in shown]
    title = f"effects on {_response(model, given)}, {len(shown)} of {len(order)}"
    if len(rows) > 1:
        heads = tuple(map(label, getattr(model, "classes_", range(1, len(rows) + 1))))
        table = [(name, *map(float, effects[:, j])) for name, j in zip(names, shown, strict=True)]
        return (Sheet(f"{title}, per standard deviation", ("feature", *heads), tuple(table)),)
    largest = float(np.abs(effects[0, shown]).max()) or 1.0
    heads = ("feature", "per std. dev.", "per unit", *(() if shares is None else ("in folds",)), "")
    table = [
        (
            name,
            float(effects[0, j]),
            float(rows[0, j]),
            *(() if shares is None else (f"{shares[0, j]:.0%}",)),
            Bar(float(effects[0, j]) / largest),
        )
        for name, j in zip(names, shown, strict=True)
    ]
    return (Sheet(title, heads, tuple(table)),)


def _response(model: Model, given: Given) -> str:
    """Name what the effects are on."""
    if hasattr(model, "classes_") and len(model.classes_) == 2:
        return f"the score for {label(model.classes_[1])}"
    if hasattr(model, "classes_"):
        return "the scores of the classes"
    return given.target_name or "the target"


def _shares(model: Model) -> Any:
    """Shares of the folds (t, n), where a search has them."""
    found = getattr(model, "fold_share_", None)
    return None if found is None else np.atleast_2d(found)


def _largest(effects: Any, rows: Any) -> Any:
    """Features that are used, those with the largest effects first."""
    used = np.flatnonzero(rows.any(axis=0))
    return used[np.argsort(-np.abs(effects[:, used]).max(axis=0), kind="stable")]
