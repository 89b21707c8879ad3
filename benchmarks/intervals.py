"""Prediction intervals: coverage on real data, agreement and time beside MAPIE's jackknife+.

Claims under test: intervals at level 0.9 hold about nine of ten new responses; those of MAPIE
around the same estimator are equal up to the solver's tolerance; and leaving out every row takes a
fraction of the time that MAPIE needs for one fit per row. MAPIE runs with scikit-learn's Lasso at
the penalty that has the same solution, and with SqrtLasso itself where rows are few.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes, load_digits
from sklearn.linear_model import Lasso
from sklearn.model_selection import LeaveOneOut, ShuffleSplit

from benchmarks.datasets import MissingDataError, arrays_of
from benchmarks.harness import timed
from sketchlasso import SqrtLasso, SqrtLassoCV, convert_alpha
from sketchlasso.errors import GridEdgeWarning

LEVEL = 0.9
# Rows that train in a coverage run: the rest is judged.
MOST_TRAINING = 500


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--splits", type=int, help="random splits per data set (20; quick: 3)")
    parser.add_argument("--rows", type=int, nargs="+", help="(1000 6000; quick: 200)")
    parser.add_argument("--columns", type=int, default=100)
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
        "the training rows. width: mean, over the standard deviation of y"
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
                found = covered(X, y, kind, method, splits)
            options.report.add(data=name, **found)


METHODS = (("pivotal", "jackknife+"), ("pivotal", "split"), ("cv", "cv+"), ("cv", "fixed"))


def covered(X: np.ndarray, y: np.ndarray, kind: str, method: str, splits: int) -> dict[str, Any]:
    train = min(len(y) // 2, MOST_TRAINING)
    test = min(len(y) - train, 2000)
    cut = ShuffleSplit(splits, train_size=train, test_size=test, random_state=0)
    shares, widths = [], []
    for inside, outside in cut.split(X):
        model: Any = (SqrtLasso if kind == "pivotal" else SqrtLassoCV)(standardize=True)
        if method == "split":
            half = train // 2
            model.fit(X[inside[:half]], y[inside[:half]])
            model.calibrate(X[inside[half:]], y[inside[half:]], method="split")
        else:
            model.fit(X[inside], y[inside])
            how = {"fixed_penalty": True} if method == "fixed" else {"method": method}
            model.calibrate(X[inside], y[inside], **how)
        ends = model.predict_interval(X[outside], LEVEL)
        shares.append(np.mean((ends[:, 0] <= y[outside]) & (y[outside] <= ends[:, 1])))
        widths.append(np.mean(ends[:, 1] - ends[:, 0]) / y.std())
    label = "jackknife+, penalty of the search kept" if method == "fixed" else method
    return {
        "model": type(model).__name__,
        "method": label,
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
    try:
        import mapie.regression as _  # noqa: F401
    except ImportError:
        options.report.note("time: MAPIE is not installed (pip install mapie), ours alone")
    for m in options.rows or ([200] if options.quick else [1000, 6000]):
        X, y, new = generated(m, options.columns)
        model = SqrtLasso(alpha=3.0, tol=1e-10).fit(X, y)
        ours(model, X, y, new[:5])
        mine = timed(partial(ours, model, X, y, new))
        length = float(np.linalg.norm(y - model.predict(X)))
        level = convert_alpha(3.0, n_samples=m, residual_norm=length)
        rows = {"MAPIE, Lasso": Lasso(alpha=level, tol=1e-8)}
        if m <= 1000:
            rows["MAPIE, SqrtLasso"] = SqrtLasso(alpha=3.0, tol=1e-10, n_jobs=1)
        for name, estimator in rows.items():
            theirs = timed(partial(by_mapie, estimator, X, y, new))
            known = theirs.value is not None
            options.report.add(
                **{
                    "rows": m,
                    "columns": options.columns,
                    "features used": int(np.count_nonzero(model.coef_)),
                    "peer": name,
                    "ours s": mine.seconds,
                    "peer s": theirs.seconds if known else math.nan,
                    "ratio": theirs.seconds / mine.seconds if known else math.nan,
                    "difference": float(np.abs(theirs.value - mine.value).max())
                    if known
                    else math.nan,
                }
            )


def generated(m: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m + 500, n))
    y = X[:, :10].sum(axis=1) + 3.0 * rng.standard_normal(m + 500)
    return X[:m], y[:m], X[m:]


def ours(model: SqrtLasso, X: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    return model.calibrate(X, y, method="jackknife+").predict_interval(new, LEVEL)


def by_mapie(estimator: Any, X: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray | None:
    """MAPIE's interval ends (p, 2); None where it is not installed."""
    try:
        from mapie.regression import CrossConformalRegressor
    except ImportError:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        regressor = CrossConformalRegressor(
            estimator, confidence_level=LEVEL, method="plus", cv=LeaveOneOut(), n_jobs=2
        )
        return regressor.fit_conformalize(X, y).predict_interval(new)[1][:, :, 0]


def _blogs() -> tuple[np.ndarray, np.ndarray]:
    X, y = arrays_of("blogfeedback")
    rows = np.random.default_rng(0).choice(len(y), 5000, replace=False)
    varying = X[rows].std(axis=0) > 0
    return X[rows][:, varying], np.log1p(y[rows])


def _digits() -> tuple[np.ndarray, np.ndarray]:
    images, label = load_digits(return_X_y=True)
    return images[:, images.std(axis=0) > 0], label.astype(np.float64)


DATA: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "diabetes": lambda: load_diabetes(return_X_y=True),
    "digits": _digits,
    "boston": partial(arrays_of, "boston"),
    "prostate": partial(arrays_of, "prostate"),
    "gasoline": partial(arrays_of, "gasoline_nir"),
    "riboflavin": partial(arrays_of, "riboflavin"),
    "blogs, log(1 + y)": _blogs,
}
