"""Coefficients as effects: per standard deviation of a feature, and per unit of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from sketchlasso.interfaces.commands.describe import (
    feature_name,
    label,
    largest,
    listed_coefficients,
    response_names,
)
from sketchlasso.interfaces.commands.given import Given
from sketchlasso.interfaces.commands.report import Bar, Sheet
from sketchlasso.interfaces.models import Model

__all__ = ["effect_data", "effect_sheet", "effects_of"]


def effects_of(model: Model, X: Any) -> Any:
    """Return effects (t, n): coefficients times the standard deviations of the columns.

    Those of data in blocks, whose columns are not at hand, are the coefficients themselves.
    """
    rows = np.atleast_2d(model.coef_)
    if not (isinstance(X, np.ndarray) or sparse.issparse(X)):
        return rows
    return rows * _deviations(X)


def _deviations(X: Any) -> Any:
    """Return the standard deviations (n,) of the columns of X (m, n)."""
    with np.errstate(over="ignore", invalid="ignore"):
        variances = StandardScaler(with_mean=False).fit(X).var_
    if np.isfinite(variances).all():
        return np.sqrt(variances)
    units = MaxAbsScaler().fit(X)  # the squares of these columns overflow
    return units.scale_ * np.sqrt(StandardScaler(with_mean=False).fit(units.transform(X)).var_)


def effect_data(model: Model, given: Given) -> list[dict[str, Any]]:
    """List coefficients that are not zero for machines, with their effects."""
    shares = _shares(model)
    others = {"effect": effects_of(model, given.X)}
    if shares is not None:
        others["fold_share"] = shares
    return listed_coefficients(model, given.names, **others)


def effect_sheet(model: Model, given: Given, top: int) -> tuple[Sheet, ...]:
    """List the largest effects for people."""
    rows, effects = np.atleast_2d(model.coef_), effects_of(model, given.X)
    order, shares = largest(rows, effects), _shares(model)
    if top == 0 or len(order) == 0:
        return ()
    shown = order[:top]
    names = [feature_name(given.names, int(j)) for j in shown]
    title = f"effects on {_response(model, given)}, {len(shown)} of {len(order)}"
    if len(rows) > 1:
        heads = response_names(model, "effect")
        table = [(name, *map(float, effects[:, j])) for name, j in zip(names, shown, strict=True)]
        return (Sheet(f"{title}, per standard deviation", ("feature", *heads), tuple(table)),)
    reach = float(np.abs(effects[0, shown]).max()) or 1.0
    heads = ("feature", "per std. dev.", "per unit", *(() if shares is None else ("in folds",)), "")
    table = [
        (
            name,
            float(effects[0, j]),
            float(rows[0, j]),
            *(() if shares is None else (f"{shares[0, j]:.0%}",)),
            Bar(float(effects[0, j]) / reach),
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
