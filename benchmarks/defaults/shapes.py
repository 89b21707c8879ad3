"""Data sets of many shapes, generated and real, that were not used for tuning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import signal
from sklearn.datasets import load_diabetes, load_digits
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from benchmarks.datasets import MissingDataError, arrays_of, load, weighted_counts

TEST_ROWS = 1000
TRAINING_SHARE = 0.75

Score = Literal["R2", "F1", "accuracy"]


@dataclass(frozen=True, eq=False)
class Shape:
    """One data set with its test rows.

    Attributes
    ----------
    X : ndarray or csr_matrix of shape (m, n)
    y : ndarray of shape (m,) or (m, t)
        Numbers, +1 and -1 (score F1), or class numbers (score accuracy).
    X_test, y_test
        Rows to judge by.
    score : {"R2", "F1", "accuracy"}
    """

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    score: Score = "R2"


Maker = Callable[[np.random.Generator], Shape]


def _linear(X: Any, w: np.ndarray, noise: float, m: int, rng: np.random.Generator) -> Shape:
    """Rows of X times w with Gaussian noise; the first m rows train."""
    y = X @ w + noise * rng.standard_normal(len(X))
    return Shape(X[:m], y[:m], X[m:], y[m:])


def _sparse_truth(n: int, count: int, rng: np.random.Generator) -> np.ndarray:
    w = np.zeros(n)
    w[rng.permutation(n)[:count]] = rng.standard_normal(count)
    return w


def gaussian(m: int, n: int, noise: float, count: int = 10) -> Maker:
    """Independent normal columns and a few true features."""

    def make(rng: np.random.Generator) -> Shape:
        X = rng.standard_normal((m + TEST_ROWS, n))
        return _linear(X, _sparse_truth(n, count, rng), noise, m, rng)

    return make


def bumps(rng: np.random.Generator) -> Shape:
    """Smooth bumps along a line: neighbouring columns are nearly the same."""
    m, n = 500, 400
    where, centres = rng.random(m + TEST_ROWS), np.linspace(0, 1, n)
    X = np.exp(-0.5 * ((where[:, None] - centres) / 0.05) ** 2)
    return _linear(X, _sparse_truth(n, 10, rng), 0.1, m, rng)


def autoregressive(rng: np.random.Generator) -> Shape:
    """Columns that follow each other with correlation 0.99."""
    m, n, rho = 420, 400, 0.99
    fresh = np.sqrt(1 - rho**2) * rng.standard_normal((m + TEST_ROWS, n))
    fresh[:, 0] /= np.sqrt(1 - rho**2)
    X = signal.lfilter([1.0], [1.0, -rho], fresh, axis=1)
    return _linear(X, _sparse_truth(n, 10, rng), 1.0, m, rng)


def counts(rng: np.random.Generator) -> Shape:
    """Heavy-tailed counts."""
    m, n = 2000, 600
    rates = np.exp(1.5 * rng.standard_normal(n))
    X = rng.poisson(rates * rng.gamma(0.5, 2.0, (m + TEST_ROWS, n))).astype(float)
    w = _sparse_truth(n, 20, rng) / np.maximum(X.std(axis=0), 0.1)
    return _linear(X, w, 2.0, m, rng)


def factors(rng: np.random.Generator) -> Shape:
    """Ten common factors behind all columns, and noise of their own."""
    m, n, k = 500, 3000, 10
    X = rng.standard_normal((m + TEST_ROWS, k)) @ rng.standard_normal((k, n))
    X += rng.standard_normal(X.shape)
    return _linear(X, _sparse_truth(n, 15, rng), 2.0, m, rng)


def many_targets(rng: np.random.Generator) -> Shape:
    """Two hundred responses of the same columns."""
    m, n, t = 1000, 100, 200
    X = rng.standard_normal((m + TEST_ROWS, n))
    W = np.column_stack([_sparse_truth(n, 8, rng) for _ in range(t)])
    Y = X @ W + 1.5 * rng.standard_normal((len(X), t))
    return Shape(X[:m], Y[:m], X[m:], Y[m:])


def diabetes_cubic(rng: np.random.Generator) -> Shape:
    """Diabetes with all products of up to three features, standardised on the training rows."""
    X, y = load_diabetes(return_X_y=True)
    X = PolynomialFeatures(3, include_bias=False).fit_transform(X / X.std(axis=0))
    return _halves(X, y, rng, standardize=True)


def digits(rng: np.random.Generator) -> Shape:
    """The ten digits."""
    X, label = load_digits(return_X_y=True)
    return _halves(X / 16.0, label, rng, "accuracy")


def riboflavin(rng: np.random.Generator) -> Shape:
    """71 rows, 4,088 genes."""
    return _halves(*arrays_of("riboflavin"), rng, standardize=True)


def _halves(
    X: Any, y: np.ndarray, rng: np.random.Generator, score: Score = "R2", standardize: bool = False
) -> Shape:
    order = rng.permutation(len(y))
    train, test = np.split(order, [int(TRAINING_SHARE * len(y))])
    X_train, X_test = X[train], X[test]
    if standardize:
        scaler = StandardScaler().fit(X_train)
        X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
    return Shape(X_train, y[train], X_test, y[test], score)


def stored_split(name: str) -> Maker:
    """A two-class data set of the other benchmarks, its training rows in another order."""

    def make(rng: np.random.Generator) -> Shape:
        split = load(name)
        order = rng.permutation(len(split.y))
        return Shape(split.X[order], split.y[order], split.X_test, split.y_test, "F1")

    return make


def twenty_classes(rng: np.random.Generator) -> Shape:
    """20 Newsgroups, all classes."""
    (counts, group), (test, test_group) = map(arrays_of, ("20news_bydate", "20news_bydate_test"))
    X, X_test = weighted_counts(counts, test)
    order = rng.permutation(X.shape[0])
    return Shape(X[order], group[order], X_test, test_group, "accuracy")


SHAPES: dict[str, Maker] = {
    "450 x 449, noise 0.1": gaussian(450, 449, 0.1),
    "450 x 449, noise 3": gaussian(450, 449, 3.0),
    "500 x 400 bumps": bumps,
    "420 x 400 AR(0.99)": autoregressive,
    "2,000 x 600 counts": counts,
    "500 x 3,000 factors": factors,
    "1,000 x 100, 200 targets": many_targets,
    "200,000 x 50": gaussian(200_000, 50, 3.0),
    "100 x 50,000": gaussian(100, 50_000, 1.0, 5),
    "5,000 x 5,000": gaussian(5000, 5000, 7.0, 50),
    "diabetes cubic": diabetes_cubic,
    "digits": digits,
    "riboflavin": riboflavin,
    "gisette_like": stored_split("gisette_like"),
    "rcv1": stored_split("rcv1"),
    "20news": stored_split("20news"),
    "imdb": stored_split("imdb"),
    "20news, 20 classes": twenty_classes,
}
TEXT = ("rcv1", "20news", "imdb", "20news, 20 classes")


def shape(name: str, seed: int) -> Shape:
    """A data set by name; the seed draws it, or its training rows."""
    if name not in SHAPES:
        raise MissingDataError(f"{name} is not a shape here; choose from {', '.join(SHAPES)}.")
    return SHAPES[name](np.random.default_rng(seed))
