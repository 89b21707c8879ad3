"""Every feature regressed on all the others, n = 100,000: a sample in 4 GB, and the total.

Claim under test: 1,000 of 100,000 leave-one-feature-out instances at rank 50 run within 4 GB of
peak memory; the whole is extrapolated from them, chunk by chunk, and can be run with
``--instances 100000``.
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np

from benchmarks.datasets import SEED, Generated, generated
from benchmarks.machine import peak_memory_bytes
from sketchlasso import Settings, Solution, feature_problems, solve

MEMORY_LIMIT = 4 * 2**30


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--features", type=int, help="n (100,000; quick: 5,000)")
    parser.add_argument("--samples", type=int, help="m (20,000; quick: 2,000)")
    parser.add_argument("--rank", type=int, default=50)
    parser.add_argument("--instances", type=int, help="features taken out (1,000; quick: 100)")
    parser.add_argument("--penalty", type=float, default=0.5, help="share of each alpha_max")
    parser.add_argument("--noise", type=float, default=0.3, help="of the k-th singular value")
    parser.add_argument("--tols", type=float, nargs="+", default=[1e-4, 1e-6])


def run(options: argparse.Namespace) -> None:
    n = options.features or (5_000 if options.quick else 100_000)
    m = options.samples or (2_000 if options.quick else 20_000)
    count = options.instances or (100 if options.quick else 1_000)
    report = options.report
    data = generated(m, n, options.rank, options.noise)
    before = peak_memory_bytes()
    report.note(
        f"{m} samples x {n} features, rank {options.rank}; {count} features taken out in turn, "
        f"each at {options.penalty:g} of its alpha_max; whole: {n} of them, by proportion"
    )
    report.note(f"peak memory before the first solve: {before / 2**30:.2f} GiB")
    chosen = np.sort(np.random.default_rng(SEED).choice(n, count, replace=False))
    build_and_solve(data, chosen[:4], options.penalty, 1e-6)  # compiles
    for tol in options.tols:
        runs = [build_and_solve(data, chosen, options.penalty, tol) for _ in range(options.repeats)]
        build, solved = (float(np.median([r[i] for r in runs])) for i in (0, 1))
        solution = runs[-1][2]
        report.add(
            **{
                "tol": tol,
                "instances": count,
                "build s": build,
                "solve s": solved,
                "ms per instance": 1e3 * (build + solved) / count,
                "whole s": (build + solved) * n / count,
                "peak GiB": peak_memory_bytes() / 2**30,
                "within 4 GB": peak_memory_bytes() <= MEMORY_LIMIT,
                "worst gap": float(solution.relative_gap.max()),
                "unsolved": int((~solution.solved).sum()),
                "rounds": int(solution.rounds.max()),
                "median non-zeros": float(np.median(solution.n_nonzero)),
                "spread of solve": max(r[1] for r in runs) / min(r[1] for r in runs),
            }
        )


def build_and_solve(
    data: Generated, chosen: np.ndarray, penalty: float, tol: float
) -> tuple[float, float, Solution]:
    """Seconds of build and solve, and the solution."""
    start = perf_counter()
    # Two penalties per feature, alpha_max and the given share of it: only the second is solved.
    problems = feature_problems(
        data.sketch, data.energies, chosen, alphas=2, alpha_min_ratio=penalty
    )
    batch = problems.batch.take(np.arange(1, problems.batch.n_instances, 2))
    built = perf_counter() - start
    solution = solve(batch, settings=Settings(tol=tol))
    return built, solution.seconds, solution
