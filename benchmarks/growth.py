"""How build and solve grow with instances B, features n, rank k and samples m.

Claims under test: doubling n doubles the solve, doubling m leaves it unchanged (m enters through
the k x k statistics alone). Sketches of a low-rank matrix plus noise are generated directly, the
noise a fixed share of the smallest singular value kept.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter

import numpy as np

from benchmarks.datasets import Generated, folds, generated
from benchmarks.harness import exponents, interleave
from sketchlasso import Settings, Solution, build_problems, solve, splitter_rows

BASE = {"B": 100, "n": 20_000, "k": 50, "m": 2_000}
SIZES = {
    "B": [50, 100, 200, 400, 800],
    "n": [5_000, 10_000, 20_000, 40_000, 80_000],
    "k": [10, 20, 40, 80, 160],
    "m": [1_000, 2_000, 4_000, 8_000, 16_000, 32_000],
}
QUICK_BASE = {"B": 50, "n": 4_000, "k": 20, "m": 500}
QUICK_SIZES = {
    "B": [25, 50, 100],
    "n": [2_000, 4_000, 8_000],
    "k": [10, 20, 40],
    "m": [500, 1_000, 2_000],
}
EXPECTED = {"B": "at most 1", "n": "1", "k": "1 to 2", "m": "0"}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--axes", nargs="+", default=list(BASE), choices=list(BASE))
    parser.add_argument("--ratio", type=float, default=1e-2, help="smallest / largest penalty")
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--noise", type=float, default=0.3, help="of the k-th singular value")


@dataclass(frozen=True)
class Sample:
    """Seconds of one size, and how well it was solved."""

    build: float
    solve: float
    solution: Solution


def run(options: argparse.Namespace) -> None:
    base, sizes = (QUICK_BASE, QUICK_SIZES) if options.quick else (BASE, SIZES)
    report = options.report
    report.note("5 folds x B/5 penalties; every size runs once per turn, seconds are medians")
    report.note("exponent: slope of log seconds against log size, over all sizes; last: last step")
    for axis in options.axes:
        contenders = {str(size): prepared({**base, axis: size}, options) for size in sizes[axis]}
        samples = collect(contenders, options.repeats)
        fixed = ", ".join(f"{name}={value}" for name, value in base.items() if name != axis)
        for part in ("build", "solve"):
            seconds = [float(np.median([getattr(s, part) for s in runs])) for runs in samples]
            slope, last = exponents(sizes[axis], seconds)
            report.add(
                **{
                    "part": part,
                    "grows": axis,
                    "fixed": fixed,
                    "ms": {str(z): 1e3 * t for z, t in zip(sizes[axis], seconds, strict=True)},
                    "exponent": slope,
                    "last": last,
                    "expected": EXPECTED[axis] if part == "solve" else None,
                    "worst gap": max(float(r[-1].solution.relative_gap.max()) for r in samples),
                    "unsolved": sum(int((~r[-1].solution.solved).sum()) for r in samples),
                    "non-zeros": [int(r[-1].solution.n_nonzero.max()) for r in samples],
                }
            )


def prepared(size: dict[str, int], options: argparse.Namespace) -> Callable[[], Sample]:
    """Data of one size, ready for build and solve."""
    data = generated(size["m"], size["n"], size["k"], options.noise)
    return partial(build_and_solve, data, size["B"] // 5, options)


def build_and_solve(data: Generated, alphas: int, options: argparse.Namespace) -> Sample:
    start = perf_counter()
    m = len(data.y)
    problems = build_problems(
        data.sketch,
        data.y,
        alphas=alphas,
        alpha_min_ratio=options.ratio,
        rows=splitter_rows(folds(m), m),
    )
    built = perf_counter() - start
    solution = solve(problems.batch, settings=Settings(tol=options.tol), chain=problems.chain)
    return Sample(built, solution.seconds, solution)


def collect(contenders: dict[str, Callable[[], Sample]], repeats: int) -> list[list[Sample]]:
    """Samples of every contender, taken in turns."""
    kept: dict[str, list[Sample]] = {name: [] for name in contenders}

    def keep(name: str) -> None:
        kept[name].append(contenders[name]())

    interleave({name: partial(keep, name) for name in contenders}, repeats)
    return [samples[1:] for samples in kept.values()]  # the first was the warm-up
