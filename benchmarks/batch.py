"""500 instances as one batch: seconds, as a multiple of one GEMM and of a loop of single solves.

Claim under test: 5 folds x 100 penalties on rcv1 at rank 50 and gap 1e-6 take at most 25 times
the one product (500 x k) by (k x n) that any method needs to look at every feature once.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from benchmarks.datasets import SEED, folds, load
from benchmarks.harness import interleave, timed
from sketchlasso import Settings, build_problems, sketch, solve, splitter_rows
from sketchlasso.engine import ProblemSet


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", default="rcv1")
    parser.add_argument("--alphas", type=int, help="penalties per fold (100; quick: 10)")
    parser.add_argument("--ratio", type=float, default=1e-2, help="smallest / largest penalty")
    parser.add_argument("--shares", type=float, nargs="+", default=[1.0, 0.3, 0.1])
    parser.add_argument("--loop", type=int, help="single solves in the loop (all; quick: 20)")


def run(options: argparse.Namespace) -> None:
    split = load(options.data, options.quick)
    made = sketch(split.X, rank=50, random_state=SEED)
    options.report.note(
        f"{split.name}: {made.n_samples} training rows x {made.n_features} features, rank "
        f"{made.rank}; gemm is (instances x k) by (k x n) into memory that exists already; batch "
        "and loop are solve() alone, the loop without warm starts"
    )
    for share in options.shares:
        problems = build_problems(
            made,
            split.y,
            alphas=options.alphas or (10 if options.quick else 100),
            alpha_min_ratio=options.ratio,
            radii=[share * made.radius],
            rows=splitter_rows(folds(len(split.y)), len(split.y)),
        )
        options.report.add(**{"radius / spectral": share, **measure(problems, options)})


def measure(problems: ProblemSet, options: argparse.Namespace) -> dict[str, Any]:
    """Batch and GEMM in turns, then the loop once."""
    batch, settings = problems.batch, Settings(tol=1e-6)
    size = batch.n_instances
    P = np.asarray(batch.P, dtype=np.float64)
    V = np.random.default_rng(SEED).standard_normal((size, batch.rank))
    product = np.empty((size, batch.n_features))
    wanted = min(options.loop or (20 if options.quick else size), size)
    numbers = np.unique(np.linspace(0, size - 1, wanted).astype(int))
    measured = interleave(
        {
            "gemm": lambda: np.matmul(V, P.T, out=product),
            "batch": lambda: solve(batch, settings=settings, chain=problems.chain),
        },
        options.repeats,
    )
    loop = timed(lambda: [solve(batch.take([i]), settings=settings) for i in numbers])
    gemm, ours, solution = measured["gemm"], measured["batch"], measured["batch"].value
    loop_seconds = loop.seconds * size / len(numbers)
    return {
        "instances": size,
        "batch s": ours.median,
        "gemm s": gemm.median,
        "batch / gemm": ours.median / gemm.median,
        "loop s": loop_seconds,
        "loop / batch": loop_seconds / ours.median,
        "worst gap": float(solution.relative_gap.max()),
        "unsolved": int((~solution.solved).sum()),
        "non-zeros, smallest penalty": int(solution.n_nonzero.max()),
    }
