"""Every contender with its own defaults: seconds, and the score on the test rows."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LassoCV
from sklearn.metrics import accuracy_score, f1_score, r2_score
from sklearn.model_selection import KFold

from benchmarks.defaults.shapes import Shape, shape
from benchmarks.harness import Outcome, run_limited
from benchmarks.peers import (
    celer_fits,
    conic_answer,
    conic_problem,
    lasso_alpha_max,
    peer_layout,
    sqrt_lasso_alpha_max,
)
from sketchlasso import SqrtLassoClassifierCV, SqrtLassoCV

GLMNET = Path(__file__).with_name("cv_glmnet.R")
PEERS = ["LassoCV", "cv.glmnet", "celer", "Clarabel"]
ONE_PROBLEM = "Clarabel, one problem"
# Penalties of LassoCV's search over the largest of them.
SHARES = np.geomspace(1.0, 1e-3, 100)


@dataclass(frozen=True)
class Result:
    """One fit: its score on the test rows, non-zeros per response, and the sketch it chose."""

    score: float
    nonzero: float
    chose: str = ""


def responses(data: Shape) -> np.ndarray:
    """What a regression is fitted to, (m, t): y, or +1 and -1 for each class."""
    if data.score != "accuracy":
        return data.y if data.y.ndim == 2 else data.y[:, None]
    return np.where(data.y[:, None] == np.unique(data.y), 1.0, -1.0)


def judged(data: Shape, values: np.ndarray) -> float:
    """Score of fitted values (rows, t) on the test rows."""
    if data.score == "R2":
        return float(r2_score(data.y_test, values if data.y_test.ndim == 2 else values[:, 0]))
    if data.score == "F1":
        return float(f1_score(data.y_test, np.where(values[:, 0] > 0, 1.0, -1.0)))
    return float(accuracy_score(data.y_test, np.unique(data.y)[np.argmax(values, axis=1)]))


def ours(name: str, seed: int, options: dict[str, Any] | None = None) -> Callable[[], Result]:
    """The estimator for the task with its defaults; `options` are for comparisons."""
    data = shape(name, seed)
    kind: Any = SqrtLassoCV if data.score == "R2" else SqrtLassoClassifierCV

    def run() -> Result:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = kind(random_state=seed, **(options or {})).fit(data.X, data.y)
        predict = model.predict if data.score == "R2" else model.decision_function
        values = predict(data.X_test).reshape(len(data.y_test), -1)
        nonzero = np.count_nonzero(model.coef_) / len(np.atleast_2d(model.coef_))
        return Result(judged(data, values), nonzero, str(getattr(model, "sketch_method_", None)))

    return run


Search = Callable[[Any, np.ndarray], tuple[np.ndarray, float]]


def lasso_cv(name: str, seed: int) -> Callable[[], Result]:
    """LassoCV on two cores, one fit per response."""

    def search(X: Any, y: np.ndarray) -> tuple[np.ndarray, float]:
        fit = LassoCV(n_jobs=2).fit(X, y)
        return fit.coef_, fit.intercept_

    # Our side is warm too: start the workers before the clock.
    rng = np.random.default_rng(0)
    search(rng.standard_normal((50, 5)), rng.standard_normal(50))
    return _one_per_response(name, seed, search)


def celer_cv(name: str, seed: int) -> Callable[[], Result]:
    """LassoCV's search with celer's paths; its own class needs an older scikit-learn."""
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((50, 5)))
    celer_fits(X, rng.standard_normal(50), SHARES[:2], 1e-4)  # compiled before the clock
    return _one_per_response(name, seed, _celer_search)


def _one_per_response(name: str, seed: int, search: Search) -> Callable[[], Result]:
    """Fit every response, ready to run."""
    data = shape(name, seed)
    X, Y = peer_layout(data.X), responses(data)

    def run() -> Result:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fits = [search(X, y) for y in Y.T]
        values = np.column_stack([data.X_test @ w + b for w, b in fits])
        return Result(judged(data, values), float(np.mean([np.count_nonzero(w) for w, _ in fits])))

    return run


def _celer_search(X: Any, y: np.ndarray) -> tuple[np.ndarray, float]:
    """Coefficients and intercept at the penalty with the least mean squared error of 5 folds."""
    alphas = lasso_alpha_max(X, y) * SHARES
    errors = np.zeros(len(alphas))
    for train, test in KFold(5).split(y):
        coefs, intercepts = celer_fits(X[train], y[train], alphas, 1e-4)
        errors += np.sum((y[test, None] - X[test] @ coefs - intercepts) ** 2, axis=0)
    coefs, intercepts = celer_fits(X, y, alphas[: errors.argmin() + 1], 1e-4)
    return coefs[:, -1], float(intercepts[-1])


def one_conic_problem(name: str, seed: int) -> Callable[[], Any]:
    """Clarabel on one problem of the search: a fold, at 0.1 of the largest penalty."""
    data = shape(name, seed)
    rows = len(data.y) * 4 // 5
    X, y = data.X[:rows], responses(data)[:rows, 0]
    problem = conic_problem(X, y, 0.1 * sqrt_lasso_alpha_max(X, y), True)
    return partial(conic_answer, problem, X.shape[1], 1e-6)


@cache
def has_glmnet() -> bool:
    """Whether Rscript and the package glmnet are there."""
    if shutil.which("Rscript") is None:
        return False
    found = subprocess.run(["Rscript", "-e", "library(glmnet)"], capture_output=True, check=False)
    return found.returncode == 0


def glmnet(name: str, seed: int, limit: float) -> Outcome:
    """cv.glmnet with 5 folds, one fit per response; R times the call alone."""
    data = shape(name, seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        _write(folder, "X", data.X)
        _write(folder, "X_test", data.X_test)
        Y = responses(data)
        Y.T.ravel().astype("<f8").tofile(folder / "Y")
        (folder / "targets").write_text(str(Y.shape[1]))
        started = perf_counter()
        try:
            subprocess.run(
                ["Rscript", str(GLMNET), str(folder), str(seed)],
                check=True,
                capture_output=True,
                timeout=limit,
            )
        except subprocess.TimeoutExpired:
            return Outcome(perf_counter() - started, failure=f"over {limit:g} s")
        except subprocess.CalledProcessError as error:
            return Outcome(float("nan"), failure=error.stderr.decode()[-200:])
        seconds, nonzero = np.loadtxt(folder / "facts")
        values = np.fromfile(folder / "predictions").reshape(Y.shape[1], -1).T
    return Outcome(float(seconds), Result(judged(data, values), float(nonzero)))


def _write(folder: Path, name: str, X: Any) -> None:
    """A matrix as plain binary files: whole columns, or those of compressed columns."""
    (folder / f"{name}.shape").write_text(f"{X.shape[0]} {X.shape[1]}")
    if not sparse.issparse(X):
        np.asarray(X, dtype="<f8").ravel(order="F").tofile(folder / f"{name}.dense")
        return
    columns = sparse.csc_matrix(X)
    columns.sort_indices()
    columns.indices.astype("<i4").tofile(folder / f"{name}.i")
    columns.indptr.astype("<i4").tofile(folder / f"{name}.p")
    columns.data.astype("<f8").tofile(folder / f"{name}.x")


def peer(name: str, seed: int, limit: float, wanted: list[str]) -> dict[str, Outcome]:
    """The wanted peers that are there, each under a time limit."""
    found = {}
    if "LassoCV" in wanted:
        found["LassoCV"] = run_limited(lasso_cv, (name, seed), limit)
    if "cv.glmnet" in wanted and has_glmnet():
        found["cv.glmnet"] = glmnet(name, seed, limit)
    if "celer" in wanted and find_spec("celer"):
        found["celer"] = run_limited(celer_cv, (name, seed), limit)
    if "Clarabel" in wanted:
        found[ONE_PROBLEM] = run_limited(one_conic_problem, (name, seed), limit)
    return found
