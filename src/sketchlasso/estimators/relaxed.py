"""The refit after selection: least squares on the chosen features, without any penalty."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize

from sketchlasso.errors import InaccurateWarning
from sketchlasso.estimators.task import Prepared
from sketchlasso.problem.terms import Terms
from sketchlasso.types import FloatArray
from sketchlasso.warn import warn_user

__all__ = ["refit_on_support"]


def refit_on_support(
    data: Prepared, y: FloatArray, coef: FloatArray, terms: Terms
) -> tuple[FloatArray, float]:
    """Coefficients (n,) and intercept of the least-squares fit on the support of `coef`.

    Parameters
    ----------
    data : Prepared
    y : ndarray of shape (r,)
    coef : ndarray of shape (n,)
        On the scale of ``data.X``.
    terms : Terms
        Its intercept and the sign of its coefficients count.
    """
    fit_intercept = terms.fit_intercept
    support = np.flatnonzero(coef)
    weights = np.ones(len(y)) if data.weights is None else data.weights
    mean = float(weights @ y / weights.sum()) if fit_intercept else 0.0
    if support.size == 0:
        return np.zeros_like(coef), mean
    rows = int(np.count_nonzero(weights))
    if support.size + fit_intercept >= rows:
        warn_user(
            InaccurateWarning(
                f"{support.size} features were selected from {rows} rows, so the relaxed fit would "
                "interpolate; the penalised coefficients are kept. Use a larger penalty."
            )
        )
        support_coef = coef[support]
        columns = _columns(data.X, support)
        shift = float(weights @ (y - columns @ support_coef) / weights.sum())
        return coef, shift if fit_intercept else 0.0
    columns = _columns(data.X, support)
    means = weights @ columns / weights.sum() if fit_intercept else np.zeros(len(support))
    root = np.sqrt(weights)
    A, b = root[:, None] * (columns - means), root * (y - mean)
    values = optimize.nnls(A, b)[0] if terms.positive else np.linalg.lstsq(A, b, rcond=None)[0]
    relaxed = np.zeros_like(coef)
    relaxed[support] = values
    return relaxed, mean - float(means @ values)


def _columns(X: Any, support: Any) -> FloatArray:
    chosen = X[:, support]
    dense = chosen if isinstance(chosen, np.ndarray) else chosen.toarray()
    return np.asarray(dense, dtype=np.float64)
