"""Prediction intervals: coverage on real data, agreement and time beside MAPIE's jackknife+.

Claims under test: intervals at level 0.9 hold about nine of ten new responses; those of MAPIE
around the same estimator are equal up to the solver's tolerance; and leaving out every row takes a
fraction of the time that MAPIE needs for one fit per row. MAPIE runs with scikit-learn's Lasso at
the penalty that has the same solution, and with SqrtLasso itself where rows are few.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import Lasso
from sklearn.model_selection import LeaveOneOut, ShuffleSplit

from benchmarks.datasets import MissingDataError, arrays_of
from benchmarks.harness import timed
from sketchlasso import SqrtLasso, SqrtLassoCV, convert_alpha
from sketchlasso.errors import GridEdgeWarning

LEVEL = 0.9
# Rows that train in a coverage run: the rest is judged.
MOST_TRAINING = 500
METHODS = (("pivotal", "jackknife+"), ("pivotal", "split"), ("cv", "cv+"), ("cv", "fixed"))


def _blogs() -> tuple[np.ndarray, np.ndarray]:
    X, y = arrays_of("blogfeedback")
    rows = np.random.default_rng(0).choice(len(y), 5000, replace=False)
    varying = X[rows].std(axis=0) > 0
    return X[rows][:, varying], np.log1p(y[rows])


def _digits() -> tuple[np.ndarray, np.ndarray]:
    images, label = load_digits(return_X_y=True)
    return images[:, images.std(axis=0) > 0], label.astype(np.float64)


DATA: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "digits": _digits,
    **{
        name: partial(arrays_of, name)
        for name in ("diabetes", "boston", "prostate", "gasoline_nir", "riboflavin")
    },
    "blogs, log(1 + y)": _blogs,
}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--splits", type=int, help="random splits per data set (20; quick: 3)")
    parser.add_argument("--rows", type=int, nargs="+", help="(1000 6000; quick: 200)")
    parser.add_argument("--only", choices=["coverage", "time"])


def run(options: argparse.Namespace) -> None:
    if options.only != "time":
        coverage(options)
    if options.only != "coverage":
        times(options)


def coverage(options: argparse.Namespace) -> None:
    splits = options.splits or (3 if options.quick else 20)
    options.report.note(
        f"coverage: level {LEVEL}, mean over {splits} random splits; half of the rows, at most "
        f"{MOST_TRAINING}, train, the others are judged (2,000 at most); split trains on half of "
        "the training rows; fixed: the jackknife+ at the penalty of the search. width: mean, over "
        "the standard deviation of y"
    )
    for name, load in DATA.items():
        try:
            X, y = load()
        except MissingDataError as error:
            options.report.note(f"{name}: skipped. {error}")
            continue
        for kind, method in METHODS:
            with warnings.catch_warnings():
                # On a few dozen rows the best penalty often lies at an end of the grid.
                warnings.simplefilter("ignore", GridEdgeWarning)
                options.report.add(data=name, **covered(X, y, kind, method, splits))


def covered(X: np.ndarray, y: np.ndarray, kind: str, method: str, splits: int) -> dict[str, Any]:
    train = min(len(y) // 2, MOST_TRAINING)
    test = min(len(y) - train, 2000)
    cut = ShuffleSplit(splits, train_size=train, test_size=test, random_state=0)
    shares, widths = [], []
    for inside, outside in cut.split(X):
        model: Any = (SqrtLasso if kind == "pivotal" else SqrtLassoCV)(standardize=True)
        fitted = inside[: train // 2] if method == "split" else inside
        calibrated = inside[train // 2 :] if method == "split" else inside
        how = {"fixed_penalty": True} if method == "fixed" else {"method": method}
        model.fit(X[fitted], y[fitted]).calibrate(X[calibrated], y[calibrated], **how)
        ends = model.predict_interval(X[outside], LEVEL)
        shares.append(np.mean((ends[:, 0] <= y[outside]) & (y[outside] <= ends[:, 1])))
        widths.append(np.mean(ends[:, 1] - ends[:, 0]) / y.std())
    return {
        "model": type(model).__name__,
        "method": method,
        "training rows": train,
        "columns": X.shape[1],
        "coverage": float(np.mean(shares)),
        "standard error": float(np.std(shares, ddof=1) / np.sqrt(splits)),
        "width": float(np.mean(widths)),
    }


def times(options: argparse.Namespace) -> None:
    options.report.note(
        "time: seconds to calibrate by jackknife+ and to predict 500 intervals; MAPIE with two "
        "jobs. difference: of MAPIE's interval ends from ours, the largest"
    )
    for m in options.rows or ([200] if options.quick else [1000, 6000]):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((m + 500, 100))
        y = X[:, :10].sum(axis=1) + 3.0 * rng.standard_normal(m + 500)
        X, y, new = X[:m], y[:m], X[m:]
        model = SqrtLasso(alpha=3.0, tol=1e-10).fit(X, y)
        ours(model, X, y, new[:5])  # compiles
        mine = timed(partial(ours, model, X, y, new))
        row = {"rows": m, "columns": 100, "ours s": mine.seconds}
        length = float(np.linalg.norm(y - model.predict(X)))
        level = convert_alpha(3.0, n_samples=m, residual_norm=length)
        peers: dict[str, Any] = {"MAPIE, Lasso": Lasso(alpha=level, tol=1e-8)}
        if m <= 1000:
            peers["MAPIE, SqrtLasso"] = SqrtLasso(alpha=3.0, tol=1e-10, n_jobs=1)
        for name, estimator in peers.items():
            try:
                theirs = timed(partial(by_mapie, estimator, X, y, new))
            except ImportError:
                options.report.add(**row, peer="MAPIE is not installed")
                break
            difference = float(np.abs(theirs.value - mine.value).max())
            ratio = theirs.seconds / mine.seconds
            options.report.add(
                **row, peer=name, **{"peer s": theirs.seconds}, ratio=ratio, difference=difference
            )


def ours(model: SqrtLasso, X: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    return model.calibrate(X, y, method="jackknife+").predict_interval(new, LEVEL)


def by_mapie(estimator: Any, X: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """MAPIE's interval ends (p, 2)."""
    from mapie.regression import CrossConformalRegressor

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        regressor = CrossConformalRegressor(
            estimator, confidence_level=LEVEL, method="plus", cv=LeaveOneOut(), n_jobs=2
        )
        return regressor.fit_conformalize(X, y).predict_interval(new)[1][:, :, 0]
