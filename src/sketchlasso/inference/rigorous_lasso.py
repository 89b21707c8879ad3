"""Selection by rigorous penalties: the square-root LASSO, or the LASSO and its noise level."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

from sketchlasso.errors import InaccurateWarning
from sketchlasso.estimators import SqrtLasso
from sketchlasso.estimators.penalty import rigorous_level
from sketchlasso.estimators.rigorous import (
    MAX_ITERATIONS,
    first_guess,
    refit_residual,
    residual_loadings,
    scale_loadings,
)
from sketchlasso.estimators.task import Prepared, prepare
from sketchlasso.instances import build_problems
from sketchlasso.sketches import Sketch, sketch
from sketchlasso.solvers import Settings, solve
from sketchlasso.types import BoolArray, FloatArray, Loss
from sketchlasso.warn import warn_user

__all__ = ["Loadings", "rigorous_selection"]

Loadings: TypeAlias = Literal["robust", "equal"]


def rigorous_selection(
    X: FloatArray, y: FloatArray, loss: Loss, loadings: Loadings, tol: float
) -> tuple[BoolArray, FloatArray]:
    """Features that a rigorous penalty selects, and the residual of the refit on them.

    Parameters
    ----------
    X : ndarray of shape (m, n)
    y : ndarray of shape (m,)
    loss : {"sqrt", "squared"}
    loadings : {"robust", "equal"}
        Whether the variance of the noise may depend on the features.
    tol : float
        Relative duality gap.

    Returns
    -------
    support : ndarray of shape (n,)
    residual : ndarray of shape (m,)
    """
    if loss == "squared":
        return _by_lasso(X, y, loadings, tol)
    alpha = "rigorous-robust" if loadings == "robust" else "rigorous"
    model: Any = SqrtLasso(alpha, standardize=False, sketch=None, relaxed=True, tol=tol).fit(X, y)
    return model.penalised_coef_ != 0, y - model.predict(X)


def _by_lasso(
    X: FloatArray, y: FloatArray, loadings: Loadings, tol: float
) -> tuple[BoolArray, FloatArray]:
    """The LASSO, whose penalty needs the noise level: both are iterated, until the support stays.

    As in Belloni, Chen, Chernozhukov and Hansen (2012), appendix A: the first residual is that
    of the most correlated features, the first penalty is halved, and the later residuals are
    those of the refit.
    """
    data = prepare(X, y, None, standardize=False, ready=None)
    target, rows = data.Y[:, 0], len(y)
    whole = sketch(data.X, method="exact", rank=min(data.X.shape))
    residual = first_guess(data, target, fit_intercept=True)
    share, before = 0.5, np.zeros(data.X.shape[1], dtype=bool)
    for _ in range(MAX_ITERATIONS):
        factor = share * _penalties(data, residual, loadings)
        support = _lasso_support(whole, target, factor, tol)
        if share == 1.0 and np.array_equal(support, before):
            break
        if support.sum() + 1 >= rows:
            warn_user(
                InaccurateWarning(
                    f"{support.sum()} features were selected from {rows} rows, so that the refit "
                    "has no residual; the selection stops there. Use more rows or fewer features."
                )
            )
            break
        residual = refit_residual(data, target, support, True)
        share, before = 1.0, support
    return support, residual * data.y_units[0]


def _penalties(data: Prepared, residual: FloatArray, loadings: Loadings) -> FloatArray:
    """sqrt(m) level psi_j rms(e) (n,), the penalties of ||r||^2 / 2 + sum_j penalty_j |w_j|."""
    m, n = data.X.shape
    psi = scale_loadings(data, True)
    if loadings == "robust":
        psi = residual_loadings(data, residual, True)
    noise = np.sqrt(np.mean(np.square(residual)))
    return np.sqrt(m) * rigorous_level(n, m) * noise * psi


def _lasso_support(whole: Sketch, target: FloatArray, factor: FloatArray, tol: float) -> BoolArray:
    problems = build_problems(
        whole, target, alphas=[1.0], penalty_factor=factor, radii=[0.0], loss="squared"
    )
    found = solve(problems.batch, settings=Settings(tol=tol, n_threads=1))
    return np.asarray(found.coef[[0]].toarray()[0] != 0)
