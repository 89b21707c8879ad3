"""Our full model against celer's LASSO at the matched penalty, which must be the same model.

A square-root LASSO with penalty alpha and residual r is the LASSO with penalty
alpha ||r|| / m. Both answers are judged by the objective of the square-root LASSO.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import sketchlasso as sl
from benchmarks.accuracy.fitted import (
    Fitted,
    NotAvailableError,
    Path,
    Stopwatch,
    dense_models,
    stack,
)
from benchmarks.accuracy.splits import Training
from benchmarks.cv import celer_fits, sqrt_lasso_alpha_max
from sketchlasso.engine import LinearModels

# Of the largest penalty, and celer's tolerance.
SHARES = (0.3, 0.1, 0.03)
TOL = 1e-6


def check_full(training: Training) -> Fitted:
    """Fit celer at three penalties matched to ours; the note says how far the answers differ.

    The score is that of celer's model at the middle penalty, and the curve that of our three.
    """
    if training.Y.shape[1] > 1:
        raise NotAvailableError("Only sets with one response are checked.")
    try:
        import celer  # noqa: F401
    except ImportError as error:
        raise NotAvailableError("celer is not installed.") from error
    X, y, watch = training.X, training.Y[:, 0], Stopwatch()
    alphas = sqrt_lasso_alpha_max(X, y) * np.array(SHARES)
    ours = sl.sqrt_lasso_path(X, y, None, alphas=alphas).models
    residuals = np.linalg.norm(y[:, None] - ours.predict(X), axis=0)
    with watch.time("refit"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the differences show it
        matched = [
            celer_fits(X, y, np.array([alpha * residual / len(y)]), TOL)[:2]
            for alpha, residual in zip(alphas, residuals, strict=True)
        ]
    theirs = [dense_models(coef.T, intercept) for coef, intercept in matched]
    differences = objective(X, y, ours, alphas) / objective(X, y, stack(theirs), alphas) - 1.0
    counts = [int(np.count_nonzero(coef)) for coef, _ in matched]
    return Fitted(
        theirs[1],
        [float(alphas[1])],
        [False],
        watch.seconds,
        note=_note(differences, ours.coef.count_nonzero(axis=1), counts),
        paths=lambda: [Path(alphas, ours)],
    )


def objective(X: Any, y: np.ndarray, models: LinearModels, alphas: Any) -> np.ndarray:
    """||y - X w - b|| + alpha ||w||_1 of every instance."""
    residual = np.linalg.norm(y[:, None] - models.predict(X), axis=0)
    return residual + np.asarray(alphas) * np.asarray(abs(models.coef).sum(axis=1)).ravel()


def _note(differences: np.ndarray, ours: np.ndarray, theirs: list[int]) -> str:
    """One clause per penalty: by how much our objective is above theirs, and both non-zeros."""
    return "; ".join(
        f"{share:g}: {difference:+.1e}, {mine} / {other}"
        for share, difference, mine, other in zip(SHARES, differences, ours, theirs, strict=True)
    )
