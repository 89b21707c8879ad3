"""Contenders from other packages: LASSO by scikit-learn and celer, ridge and linear SVM."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy import linalg, sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV, Ridge
from sklearn.svm import LinearSVC

from benchmarks.accuracy.fitted import Fitted, NotAvailableError, Stopwatch, dense_models, stack
from benchmarks.accuracy.scoring import choose
from benchmarks.accuracy.splits import Training
from benchmarks.cv import celer_fits, lasso_alpha_max, peer_layout, unconverged
from sketchlasso.engine import LinearModels

LASSO_TOL = 1e-3
# From the strongest to the weakest, in units of the mean squared length of a row.
RIDGE_PENALTIES = np.geomspace(1e2, 1e-3, 11)
SVM_WEIGHTS = np.geomspace(1e-2, 1e2, 9)

# Models of every label along the grid, from training rows and the grid.
FitPaths: TypeAlias = Callable[[Any, np.ndarray, np.ndarray], list[LinearModels]]


def lasso_cv(training: Training) -> Fitted:
    """scikit-learn's LassoCV, label by label; it chooses by its own mean squared error."""
    X, watch = peer_layout(training.X), Stopwatch()
    fits = []
    with watch.time("choose"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        for y in training.Y.T:
            model = LassoCV(
                alphas=training.grid.count,
                eps=training.grid.ratio,
                cv=training.folds,
                tol=LASSO_TOL,
                n_jobs=2,
            )
            fits.append(model.fit(X, y))
    return Fitted(
        stack([dense_models(fit.coef_, fit.intercept_) for fit in fits]),
        [float(fit.alpha_) for fit in fits],
        [bool(fit.alpha_ == fit.alphas_[-1]) for fit in fits],
        watch.seconds,
        note="warns of non-convergence" if unconverged(caught) else "",
    )


def celer_lasso(training: Training) -> Fitted:
    """LASSO paths by celer on the same folds, chosen like ours by the metric of the task."""
    try:
        import celer  # noqa: F401
    except ImportError as error:
        raise NotAvailableError("celer is not installed.") from error
    shares = np.geomspace(1.0, training.grid.ratio, training.grid.count)
    grids = np.stack([lasso_alpha_max(training.X, y) * shares for y in training.Y.T])
    return along_grids(training, grids, celer_paths)


def celer_paths(X: Any, Y: np.ndarray, grids: np.ndarray) -> list[LinearModels]:
    paths = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for y, grid in zip(Y.T, grids, strict=True):
            coef, intercept, _ = celer_fits(X, y, grid, LASSO_TOL)
            paths.append(dense_models(coef.T, intercept))
    return paths


def ceiling(training: Training) -> Fitted:
    """No sparsity: a linear SVM on sparse rows, ridge on dense ones and for regression."""
    suits_svm = sparse.issparse(training.X) and training.kind != "r2"
    return svm(training) if suits_svm else ridge(training)


def ridge(training: Training) -> Fitted:
    """Ridge regression on the targets."""
    penalties = mean_square_length(training.X) * RIDGE_PENALTIES
    paths = sparse_ridge_paths if sparse.issparse(training.X) else dense_ridge_paths
    return along_grids(training, np.tile(penalties, (training.Y.shape[1], 1)), paths, "ridge")


def svm(training: Training) -> Fitted:
    """A linear SVM with squared hinge, one label against the rest."""
    if training.kind == "r2":
        raise NotAvailableError("A linear SVM classifies and has no regression here.")
    weights = SVM_WEIGHTS / mean_square_length(training.X)
    return along_grids(training, np.tile(weights, (training.Y.shape[1], 1)), svm_paths, "SVM")


def along_grids(
    training: Training, grids: np.ndarray, fit_paths: FitPaths, note: str = ""
) -> Fitted:
    """Paths on every fold, the common choice, and a refit of each label at its point."""
    watch = Stopwatch()
    with watch.time("choose"):
        predictions = np.empty((*training.Y.shape, grids.shape[1]))
        for train, test in training.folds:
            paths = fit_paths(training.X[train], training.Y[train], grids)
            held_out = training.X[test]
            for label, models in enumerate(paths):
                predictions[test, label] = models.predict(held_out)
        points = [point[0] for point in choose(training, predictions)]
    alphas = grids[np.arange(len(points)), points]
    with watch.time("refit"):
        models = stack(fit_paths(training.X, training.Y, alphas[:, None]))
    edges = [point == grids.shape[1] - 1 for point in points]
    return Fitted(models, alphas.tolist(), edges, watch.seconds, note=note)


def mean_square_length(X: Any) -> float:
    squares = X.multiply(X).sum() if sparse.issparse(X) else np.vdot(X, X)
    return float(squares) / X.shape[0]


def sparse_ridge_paths(X: Any, Y: np.ndarray, grids: np.ndarray) -> list[LinearModels]:
    fits = [
        [Ridge(penalty, solver="sparse_cg", tol=LASSO_TOL).fit(X, y) for penalty in grid]
        for y, grid in zip(Y.T, grids, strict=True)
    ]
    return [stack([dense_models(fit.coef_, fit.intercept_) for fit in row]) for row in fits]


def dense_ridge_paths(X: np.ndarray, Y: np.ndarray, grids: np.ndarray) -> list[LinearModels]:
    """Every penalty and label from one eigendecomposition of the smaller Gram matrix."""
    means, y_means = X.mean(axis=0), Y.mean(axis=0)
    centred = X - means
    wide = X.shape[0] <= X.shape[1]
    values, vectors = linalg.eigh(centred @ centred.T if wide else centred.T @ centred)
    target = Y - y_means if wide else centred.T @ (Y - y_means)
    turned = vectors.T @ target
    paths = []
    for label, grid in enumerate(grids):
        shrunk = turned[:, [label]] / (np.maximum(values, 0.0)[:, None] + grid)
        inner = vectors @ shrunk
        coef = centred.T @ inner if wide else inner
        paths.append(dense_models(coef.T, y_means[label] - means @ coef))
    return paths


def svm_paths(X: Any, Y: np.ndarray, grids: np.ndarray) -> list[LinearModels]:
    paths = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for y, grid in zip(Y.T, grids, strict=True):
            fits = [LinearSVC(C=weight, tol=LASSO_TOL).fit(X, y) for weight in grid]
            paths.append(stack([dense_models(fit.coef_, fit.intercept_) for fit in fits]))
    return paths
