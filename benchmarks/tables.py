"""Held-out scores of tables and texts, with columns standardised and as they are.

Question under test: should the estimators standardise columns by default? Every data
set is split at random (75 % to train); fit (pivotal penalty) and cv run with `standardize` on and
off, beside LassoCV on standardised columns and least squares. Scores are R2 for numbers and
accuracy for two classes, on the held-out rows, averaged over the splits.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.linear_model import LassoCV, LinearRegression
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.catalogue import arrays_of, data_file
from benchmarks.datasets import SEED, is_comp, signs
from benchmarks.report import Report
from sketchlasso import SqrtLasso, SqrtLassoClassifier, SqrtLassoClassifierCV, SqrtLassoCV

Data = tuple[Any, np.ndarray]
MOST_ROWS = 4000
QUICK_ROWS = 300


def _bundled(load: Callable[..., Any], wanted: Any = None) -> Data:
    X, y = load(return_X_y=True)
    return X, y if wanted is None else signs(np.isin(y, wanted))


def _numbers(name: str) -> Data:
    X, y = arrays_of(name)
    return X, y.astype(np.float64)


def _classes(name: str) -> Data:
    X, y = arrays_of(name)
    return X, signs(y == np.unique(y)[0])


def _news() -> Data:
    X, groups = arrays_of("20news_bydate")
    return X, signs(is_comp(groups))


def _housing() -> Data:
    stored = np.load(data_file("regression", "california_housing.npz"))
    X = stored["X"].astype(np.float64)
    levels = np.unique(stored["ocean_proximity"])
    X = np.column_stack([X, stored["ocean_proximity"][:, None] == levels])
    complete = np.isfinite(X).all(axis=1)
    return X[complete], stored["y"][complete]


SETS: dict[str, Callable[[], Data]] = {
    "california_housing": _housing,
    "boston": lambda: _numbers("boston"),
    "prostate": lambda: _numbers("prostate"),
    "diabetes, unscaled": lambda: _numbers("diabetes"),
    "diabetes": lambda: _bundled(load_diabetes),
    "blogfeedback": lambda: _numbers("blogfeedback"),
    "gasoline_nir": lambda: _numbers("gasoline_nir"),
    "riboflavin": lambda: _numbers("riboflavin"),
    "breast_cancer": lambda: _bundled(load_breast_cancer, [1]),
    "wine": lambda: _bundled(load_wine, [1]),
    "digits, odd": lambda: _bundled(load_digits, [1, 3, 5, 7, 9]),
    "golub": lambda: _classes("golub"),
    "alon": lambda: _classes("alon"),
    "madelon": lambda: _classes("madelon"),
    "20news": _news,
    "rcv1": lambda: _numbers("rcv1"),
    "imdb ratings": lambda: _numbers("imdb"),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--splits", type=int, help="random splits (5; quick: 1)")


def run(options: argparse.Namespace) -> None:
    report: Report = options.report
    rows = QUICK_ROWS if options.quick else MOST_ROWS
    splits = options.splits or (1 if options.quick else 5)
    report.note(f"at most {rows} rows per set, {splits} random splits, 25 % of the rows held out")
    for name in options.sets:
        X, y = SETS[name]()
        if len(y) > rows:
            chosen = np.random.default_rng(SEED).choice(len(y), rows, replace=False)
            X, y = X[chosen], y[chosen]
        report.add(**{"set": name, "shape": f"{len(y)} x {X.shape[1]}", **scores(X, y, splits)})


def scores(X: Any, y: np.ndarray, splits: int) -> dict[str, Any]:
    """Mean score of every contender on held-out rows."""
    classes = len(np.unique(y)) == 2
    single: Any = SqrtLassoClassifier if classes else SqrtLasso
    search: Any = SqrtLassoClassifierCV if classes else SqrtLassoCV
    folds = KFold(5, shuffle=True, random_state=SEED)
    dense = not sparse.issparse(X)
    contenders = {
        "fit": single(standardize=False, random_state=SEED),
        "fit, standardised": single(standardize=True, random_state=SEED),
        "cv": search(cv=folds, standardize=False, random_state=SEED),
        "cv, standardised": search(cv=folds, standardize=True, random_state=SEED),
    }
    if dense:
        contenders["LassoCV"] = make_pipeline(StandardScaler(), LassoCV(cv=folds))
        contenders["least squares"] = LinearRegression()
    found: dict[str, list[float]] = {name: [] for name in contenders}
    for train, test in ShuffleSplit(splits, test_size=0.25, random_state=SEED).split(y):
        for name, model in contenders.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                predicted = model.fit(X[train], y[train]).predict(X[test])
            score = (
                accuracy_score(y[test], np.where(predicted > 0, 1.0, -1.0))
                if classes
                else r2_score(y[test], predicted)
            )
            found[name].append(float(score))
    means: dict[str, Any] = {name: float(np.mean(values)) for name, values in found.items()}
    blank = dict.fromkeys(("LassoCV", "least squares"), "" if dense else "-")
    return {"score": "accuracy" if classes else "R2", **blank, **means}
