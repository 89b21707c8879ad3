"""How cost grows: barrier iterations with n and k, whole solves with m and n.

Claims under test: a Newton step of `barrier` costs O(n k^2 + k^3) (the paper states O(k n^2));
the time of a solve does not depend on the number of samples m, which enters through the sketch
alone, and grows linearly with n.

    python -m benchmarks iteration_cost
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.harness import exponents
from sketchlasso import Settings, alpha_max, build_problems, sketch, solve
from sketchlasso.engine import Batch
from sketchlasso.solvers.algorithms.barrier import Barrier
from sketchlasso.solvers.algorithms.protocol import Instance

RANK = 50


@dataclass(frozen=True)
class Law:
    """Seconds against one size, all others fixed.

    `exponent` is the slope of log seconds against log size over all sizes, `last_exponent`
    that of the last doubling, where overheads weigh least.
    """

    what: str
    size: str
    fixed: str
    expected: str
    sizes: list[int]
    seconds: list[float]
    exponent: float
    last_exponent: float


def measure(
    what: str,
    size: str,
    fixed: str,
    expected: str,
    sizes: list[int],
    seconds_at: Callable[[int], float],
) -> Law:
    """Time every size and fit the exponents."""
    seconds = [seconds_at(value) for value in sizes]
    return Law(what, size, fixed, expected, sizes, seconds, *exponents(sizes, seconds))


def random_data(m: int, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return samples of 30 strong factors plus noise, and a response of ten features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 30)) @ rng.normal(size=(30, n)) + rng.normal(size=(m, n))
    return X, X[:, :10] @ rng.normal(size=10) + rng.normal(size=m)


def barrier_step(n: int, k: int, repeats: int) -> float:
    """Seconds per Newton step of `barrier`, the offering of iterates included."""
    rng = np.random.default_rng(0)
    R = rng.normal(size=(n, k))
    c = R[:5].sum(axis=0) + 0.1 * rng.normal(size=k)
    lam = 0.1 * alpha_max(Batch.build(R, c, 1.0, alpha=1.0))[0]
    instance = Instance(R, c, 1.0, 0.1, np.full(n, lam), False, "sqrt")
    best = np.inf
    for _ in range(repeats):
        barrier = Barrier(instance, np.zeros(n), np.zeros(k))
        start = perf_counter()
        for _ in range(4):
            barrier.improve()
        best = min(best, (perf_counter() - start) / barrier.newton_steps)
    return best


def newton_solve(m: int, n: int, repeats: int) -> float:
    """Seconds to solve 20 values of lambda on a sketch of m samples; sketching not counted."""
    X, y = random_data(m, n)
    made = sketch(X, rank=RANK, method="randomized", random_state=0)
    batch = build_problems(
        made, y, alphas=20, alpha_min_ratio=0.01, radii=[0.3 * made.radius], fit_intercept=False
    ).batch
    settings = Settings(tol=1e-6)
    solve(batch, settings=settings)
    return min(solve(batch, settings=settings).seconds for _ in range(repeats))


def all_laws(repeats: int, largest: int) -> list[Law]:
    """Every law; sizes stop at `largest` features or samples."""
    doubling = [size for size in (1000, 2000, 4000, 8000, 16000, 32000) if size <= largest]
    return [
        measure(
            "barrier, one Newton step",
            "n",
            f"k={RANK}",
            "1",
            doubling,
            lambda n: barrier_step(n, RANK, repeats),
        ),
        measure(
            "barrier, one Newton step",
            "k",
            "n=4000",
            "1 to 2",
            [10, 20, 40, 80, 160],
            lambda k: barrier_step(4000, k, repeats),
        ),
        measure(
            "newton, 20 lambdas",
            "m",
            f"n=1000, k={RANK}",
            "0",
            doubling,
            lambda m: newton_solve(m, 1000, repeats),
        ),
        measure(
            "newton, 20 lambdas",
            "n",
            f"m=500, k={RANK}",
            "1",
            doubling,
            lambda n: newton_solve(500, n, repeats),
        ),
    ]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--largest", type=int, help="largest n and m (16,000; quick: 2,000)")


def run(options: argparse.Namespace) -> None:
    report = options.report
    report.note("one BLAS thread; the fastest of the repeats counts")
    # One thread: a law of growth should not measure where threading starts to pay.
    with threadpool_limits(limits=1):
        laws = all_laws(options.repeats, options.largest or (2_000 if options.quick else 16_000))
    for law in laws:
        times = zip(law.sizes, law.seconds, strict=True)
        report.add(
            **{
                "what": law.what,
                "grows": law.size,
                "fixed": law.fixed,
                "ms": {str(size): 1e3 * seconds for size, seconds in times},
                "exponent": law.exponent,
                "last doubling": law.last_exponent,
                "expected": law.expected,
            }
        )
