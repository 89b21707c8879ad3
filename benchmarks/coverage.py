"""Coverage of 95 % intervals, from many rows per column to few.

Claims under test: from 20 rows per column down to 0.2, for independent and correlated columns and
those of two real data sets, with few true coefficients or many, 93 to 97 % of the intervals hold
the truth, and those of no coefficient less than 88 %, wherever no interval is flagged. Where least
squares exists, intervals are not much wider than its own.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

import numpy as np
from scipy.stats import t as student

from benchmarks.datasets import SEED, arrays_of
from sketchlasso.errors import UncertainIntervalWarning
from sketchlasso.inference import desparsified

RATIOS = [20.0, 5.0, 2.0, 1.5, 1.2, 1.0, 0.5, 0.2]
FEWEST_ROWS = 10
P = 50
TRUTHS = ("sparse", "dense", "dense, one sign")
# A coefficient counts as the worst one only with this share of its intervals not flagged.
ENOUGH = 0.25

Design = Callable[[np.random.Generator, int], np.ndarray]


def autoregressive(correlation: float) -> Design:
    """Neighbouring columns correlate."""

    def rows(rng: np.random.Generator, m: int) -> np.ndarray:
        X = rng.standard_normal((m, P))
        for j in range(1, P):
            X[:, j] = correlation * X[:, j - 1] + np.sqrt(1 - correlation**2) * X[:, j]
        return X

    return rows


def equicorrelated(rng: np.random.Generator, m: int) -> np.ndarray:
    """All columns correlate at 0.8."""
    return np.sqrt(0.2) * rng.standard_normal((m, P)) + np.sqrt(0.8) * rng.standard_normal((m, 1))


def rows_of(name: str) -> Design:
    """Rows of a real table, without replacement, in which every column varies."""

    def rows(rng: np.random.Generator, m: int) -> np.ndarray:
        X = np.asarray(arrays_of(name)[0], dtype=float)
        X = X / X.std(axis=0)
        while True:
            drawn = X[rng.choice(len(X), m, replace=False)]
            if np.ptp(drawn, axis=0).all():
                return drawn

    return rows


DESIGNS = {
    "independent": autoregressive(0.0),
    "AR(0.5)": autoregressive(0.5),
    "AR(0.95)": autoregressive(0.95),
    "equicorrelated 0.8": equicorrelated,
    "diabetes": rows_of("diabetes"),
    "housing": rows_of("california_housing"),
}


def truths(p: int) -> np.ndarray:
    """Coefficients (3, p): three that are not zero; all of them; all of them of one sign."""
    sparse = np.zeros(p)
    sparse[[0, p // 2, p - 2]] = 1.0, -1.0, 0.5
    normal = np.random.default_rng(SEED).standard_normal(p)
    return np.stack([sparse, 2.0 * normal / np.linalg.norm(normal), np.full(p, 2.0 / np.sqrt(p))])


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--designs", nargs="*", default=list(DESIGNS), choices=list(DESIGNS))
    parser.add_argument("--ratios", type=float, nargs="*", help="rows per column")
    parser.add_argument("--sets", type=int, help="repeats (200; quick: 10)")


def run(options: argparse.Namespace) -> None:
    sets = options.sets or (10 if options.quick else 200)
    options.report.note(
        f"{sets} repeats, each with new rows and new noise of one; {P} columns where simulated; "
        "sparse: coefficients 1, -1 and 0.5; dense: all, of length 2"
    )
    for name in options.designs:
        p = DESIGNS[name](np.random.default_rng(0), FEWEST_ROWS).shape[1]
        for ratio in options.ratios or ([5.0, 0.5] if options.quick else RATIOS):
            m = round(ratio * p)
            if m < FEWEST_ROWS:
                continue
            repeats = np.stack([one_set(name, m, number) for number in range(sets)])
            for number, truth in enumerate(TRUTHS):
                row = summary(*np.moveaxis(repeats[..., number], 1, 0))
                options.report.add(columns=name, **{"n/p": ratio, "truth": truth}, **row)


def one_set(name: str, m: int, number: int) -> np.ndarray:
    """Covered, flagged, width and width of least squares, (4, p, 3)."""
    rng = np.random.default_rng([SEED, m, number])
    X = DESIGNS[name](rng, m)
    beta = truths(X.shape[1])
    Y = X @ beta.T + rng.standard_normal((m, len(beta)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncertainIntervalWarning)
        ours = desparsified(X, Y, n_threads=1)
    lower, upper = ours.interval(0.95)
    covered = (lower <= beta.T) & (upper >= beta.T)
    return np.stack([covered, ours.flagged, upper - lower, least_squares_width(X, Y)])


def least_squares_width(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Widths (p, t) of the intervals of least squares; NaN where it has no residual."""
    m, p = X.shape
    if m <= p + 1:
        return np.full((p, Y.shape[1]), np.nan)
    A = np.column_stack([np.ones(m), X])
    residual = Y - A @ np.linalg.lstsq(A, Y, rcond=None)[0]
    sigma = np.linalg.norm(residual, axis=0) / np.sqrt(m - p - 1)
    root = np.linalg.norm(np.linalg.pinv(A)[1:], axis=1)
    return 2 * student.ppf(0.975, m - p - 1) * root[:, None] * sigma


def summary(
    covered: np.ndarray, flagged: np.ndarray, width: np.ndarray, least_squares: np.ndarray
) -> dict[str, object]:
    """Shares over repeats and coefficients; all arrays (sets, p)."""
    good = np.ma.masked_array(covered, flagged.astype(bool))
    often = 1.0 - flagged.mean(axis=0) >= ENOUGH
    ratio = width / least_squares
    return {
        "mean": f"{covered.mean():.3f}",
        "worst": f"{covered.mean(axis=0).min():.3f}",
        "flagged": f"{flagged.mean():.3f}",
        "mean, not flagged": f"{good.mean():.3f}" if often.any() else "",
        "worst, not flagged": f"{good.mean(axis=0)[often].min():.3f}" if often.any() else "",
        "width / least squares": "" if np.isnan(ratio).any() else f"{np.median(ratio):.2f}",
    }
