"""The sketch against scikit-learn's randomized_svd: seconds, spectral error, memory.

Claims under test: at equal rank the sketch is faster at no larger spectral error, and its peak
memory beyond X is at most 3 (m + n) rank floats. Both sides run in turns on the same cores; the
error ||X - QP'||_2 comes from ARPACK, run to convergence.

    SKETCHLASSO_DATA=folder python -m benchmarks sketch
"""

from __future__ import annotations

import argparse
import tracemalloc
from collections.abc import Callable
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.utils.extmath import randomized_svd

from benchmarks.catalogue import arrays_of
from benchmarks.datasets import QUICK_ROWS
from sketchlasso.sketches import sketch

Pair = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Row:
    """One contender on one data set; medians over seeds, errors as a share of the best."""

    data: str
    rank: int
    contender: str
    seconds: float
    fastest: float
    error: float
    largest_error: float
    radius: float | None
    peak_floats: float


def data_sets(quick: bool) -> dict[str, Any]:
    """The text matrices; a sample of rows when quick."""
    rcv1, counts = (
        sparse.csr_array(X[:QUICK_ROWS] if quick else X)
        for X, _ in map(arrays_of, ("rcv1_topics", "20news_bydate"))
    )
    weighted = sparse.csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(counts))
    return {"rcv1": rcv1, "20news counts": counts, "20news tf-idf": weighted}


def rival(X: sparse.csr_array, rank: int, seed: int) -> tuple[Pair, None]:
    U, values, Vt = randomized_svd(X, rank, random_state=seed)
    return (U, Vt.T * values), None


def ours(radius: float | str) -> Callable[[sparse.csr_array, int, int], tuple[Pair, float]]:
    def run(X: sparse.csr_array, rank: int, seed: int) -> tuple[Pair, float]:
        found = sketch(X, rank=rank, radius=radius, random_state=seed)
        return (found.Q, found.P), found.radius

    return run


CONTENDERS = {
    "randomized_svd": rival,
    "sketch, radius=0": ours(0),
    "sketch": ours("spectral"),
}


def spectral_error(X: sparse.csr_array, pair: Pair) -> float:
    Q, P = pair
    residual = LinearOperator(
        shape=X.shape,
        dtype=X.dtype,
        matvec=lambda v: X @ v - Q @ (P.T @ v),
        rmatvec=lambda u: X.T @ u - P @ (Q.T @ u),
    )
    start = np.random.default_rng(0).standard_normal(min(X.shape))
    options = {"v0": start, "ncv": 40, "tol": 1e-9, "return_singular_vectors": False}
    return float(svds(residual, k=1, **options)[0])


def peak_floats(run: Callable[[], object], X: sparse.csr_array, rank: int) -> float:
    """Return the peak of new memory in units of (m + n) rank floats."""
    tracemalloc.start()
    run()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / (X.dtype.itemsize * sum(X.shape) * rank)


def compare(name: str, X: sparse.csr_array, rank: int, repeats: int) -> list[Row]:
    """Run every contender in turns and judge each result."""
    best = svds(X, k=rank + 1, return_singular_vectors=False, tol=1e-9).min()
    seconds: dict[str, list[float]] = {contender: [] for contender in CONTENDERS}
    errors: dict[str, list[float]] = {contender: [] for contender in CONTENDERS}
    radii: dict[str, list[float]] = {contender: [] for contender in CONTENDERS}
    for seed in range(repeats):
        for contender, run in CONTENDERS.items():
            start = perf_counter()
            pair, radius = run(X, rank, seed)
            seconds[contender].append(perf_counter() - start)
            errors[contender].append(spectral_error(X, pair) / best)
            if radius:
                radii[contender].append(radius / best)
    return [
        Row(
            name,
            rank,
            contender,
            float(np.median(seconds[contender])),
            min(seconds[contender]),
            float(np.median(errors[contender])),
            max(errors[contender]),
            float(np.median(radii[contender])) if radii[contender] else None,
            peak_floats(lambda run=run: run(X, rank, 0), X, rank),
        )
        for contender, run in CONTENDERS.items()
    ]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ranks", type=int, nargs="+", help="(50; quick: 10)")


def run(options: argparse.Namespace) -> None:
    report = options.report
    report.note("errors and radii over the best possible error; peak memory in (m + n) rank floats")
    matrices = data_sets(options.quick)
    for rank in options.ranks or ([10] if options.quick else [50]):
        for name, X in matrices.items():
            for row in compare(name, X, rank, options.repeats):
                report.add(**asdict(row))
