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
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import t as student

from benchmarks.catalogue import arrays_of
from benchmarks.datasets import SEED
from sketchlasso.errors import UncertainIntervalWarning
from sketchlasso.inference import desparsified

RATIOS = [20.0, 5.0, 2.0, 1.5, 1.2, 1.0, 0.5, 0.2]
FEWEST_ROWS = 10
P = 50
TRUTHS = ("sparse", "dense", "dense, one sign")
# A coefficient counts as the worst one only with this share of its intervals not flagged.
ENOUGH = 0.25


def autoregressive(correlation: float) -> Callable[[np.random.Generator, int], np.ndarray]:
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


def rows_of(name: str) -> Callable[[np.random.Generator, int], np.ndarray]:
    """Rows of a real table, without replacement, in which every column varies."""

    def rows(rng: np.random.Generator, m: int) -> np.ndarray:
        X = np.asarray(arrays_of(name)[0], dtype=float)
        X = X / X.std(axis=0)
        while True:
            found = X[rng.choice(len(X), m, replace=False)]
            if np.ptp(found, axis=0).all():
                return found

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


@dataclass
class Intervals:
    """What was found in each repeat, one entry per truth and coefficient."""

    covered: list[np.ndarray] = field(default_factory=list)
    flagged: list[np.ndarray] = field(default_factory=list)
    width: list[np.ndarray] = field(default_factory=list)
    least_squares: list[np.ndarray] = field(default_factory=list)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--designs", nargs="*", default=list(DESIGNS), choices=list(DESIGNS))
    parser.add_argument("--ratios", type=float, nargs="*", help="rows per column")
    parser.add_argument("--sets", type=int, help="repeats (200; quick: 10)")


def run(options: argparse.Namespace) -> None:
    sets = options.sets or (10 if options.quick else 200)
    ratios = options.ratios or ([5.0, 0.5] if options.quick else RATIOS)
    options.report.note(
        f"{sets} repeats, each with new rows and new noise of one; {P} columns where simulated; "
        "sparse: coefficients 1, -1 and 0.5; dense: all, of length 2"
    )
    for name in options.designs:
        for ratio in ratios:
            p = DESIGNS[name](np.random.default_rng(0), FEWEST_ROWS).shape[1]
            m = round(ratio * p)
            if m < FEWEST_ROWS:
                continue
            found = repeat(name, m, sets)
            for number, truth in enumerate(TRUTHS):
                options.report.add(
                    columns=name, **{"n/p": ratio, "truth": truth}, **row(found, number)
                )


def repeat(name: str, m: int, sets: int) -> Intervals:
    found = Intervals()
    for number in range(sets):
        rng = np.random.default_rng([SEED, m, number])
        X = DESIGNS[name](rng, m)
        beta = truths(X.shape[1])
        Y = X @ beta.T + rng.standard_normal((m, len(beta)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UncertainIntervalWarning)
            ours = desparsified(X, Y, n_threads=1)
        lower, upper = ours.interval(0.95)
        found.covered.append((lower <= beta.T) & (upper >= beta.T))
        found.flagged.append(ours.flagged)
        found.width.append(upper - lower)
        found.least_squares.append(least_squares_width(X, Y))
    return found


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


def row(found: Intervals, truth: int) -> dict[str, object]:
    covered, flagged, width, least_squares = (
        np.stack(values)[..., truth]
        for values in (found.covered, found.flagged, found.width, found.least_squares)
    )
    good = np.ma.masked_array(covered, flagged)
    often = np.mean(~flagged, axis=0) >= ENOUGH
    ratio = width / least_squares
    return {
        "mean": shown(covered.mean()),
        "worst": shown(covered.mean(axis=0).min()),
        "flagged": shown(flagged.mean()),
        "mean, not flagged": shown(float(good.mean())) if often.any() else "",
        "worst, not flagged": shown(float(good.mean(axis=0)[often].min())) if often.any() else "",
        "width / least squares": "" if np.isnan(ratio).any() else f"{np.median(ratio):.2f}",
    }


def shown(share: float) -> str:
    return f"{share:.3f}"
