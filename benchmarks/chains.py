"""Random small chains of every regime: does each problem reach its gap?

Chains of twelve penalties from 1.1 to 0.001 of the largest, over random factors with up to 80
features and 25 dimensions: with and without a radius, an unreachable part of the response,
duplicated and empty rows, penalty factors (0 and infinity among them), non-negative
coefficients, both losses. Every batch is solved cold (each problem alone), warm (as a chain) and
from the solutions of the penalties in reverse order, which are poor starting points. Gaps are
computed again from the coefficients and the dual points.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator

import numpy as np

from sketchlasso import Settings, alpha_max, solve
from sketchlasso.engine import Batch
from sketchlasso.problem import certify_batch
from sketchlasso.solvers import Iterates, Solution, Status

TOLERANCE = 1e-6
SHARES = np.geomspace(1.1, 1e-3, 12)
RADII = (0.0, 0.0, 1e-3, 0.1, 1.0)
BATCHES_PER_SOLVE = 3  # cold, warm, reversed


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--chains", type=int, help="how many chains to solve (99,999; quick: 300)")
    parser.add_argument("--seed", type=int, default=0)


def run(options: argparse.Namespace) -> None:
    report = options.report
    wanted = options.chains or (300 if options.quick else 99_999)
    rng = np.random.default_rng(options.seed)
    counts: dict[str, Counter[str]] = {}
    worst: dict[str, float] = {}
    for _ in range(wanted // BATCHES_PER_SOLVE):
        batch = random_batch(rng)
        for start, solution in solutions(batch):
            endings = counts.setdefault(start, Counter())
            endings.update(Status(status).name for status in solution.status)
            again = certify_batch(batch, solution.coef, solution.dual_point).relative_gap
            worst[start] = max(worst.get(start, 0.0), float(again.max()))
    report.note(f"relative gap asked for: {TOLERANCE:g}; {len(SHARES)} penalties per chain")
    for start, endings in counts.items():
        problems = sum(endings.values())
        report.add(
            start=start,
            chains=problems // len(SHARES),
            problems=problems,
            solved=endings["SOLVED"],
            not_solved=problems - endings["SOLVED"],
            worst_gap=worst[start],
        )


def random_batch(rng: np.random.Generator) -> Batch:
    """One chain with a randomly chosen regime."""
    n, k = int(rng.integers(1, 80)), int(rng.integers(1, 25))
    P = rng.normal(size=(n, k)) * np.exp(rng.normal(size=k))
    if rng.random() < 0.3:
        P[rng.integers(0, n, size=n // 4 + 1)] = 0.0
    if rng.random() < 0.3:
        P[rng.integers(0, n, size=n // 3 + 1)] = P[0]
    truth = rng.normal(size=n) * (rng.random(n) < 0.1)
    c = P.T @ truth + 0.3 * rng.normal(size=k)
    factor = np.ones(n)
    if rng.random() < 0.3:
        factor[rng.integers(0, n, size=4)] = (3.0, 0.5, np.inf, 0.0)
    fixed = {
        "radius": float(rng.choice(RADII)),
        "penalty_factor": factor,
        "positive": bool(rng.random() < 0.3),
        "loss": str(rng.choice(["sqrt", "sqrt", "squared"])),
    }
    s = float(rng.choice([0.0, 0.1, 3.0]))
    largest = float(alpha_max(Batch.build(P, c, s, alpha=1.0, **fixed))[0])
    return Batch.build(P, c, s, alpha=max(largest, 1e-3) * SHARES, **fixed)


def solutions(batch: Batch) -> Iterator[tuple[str, Solution]]:
    settings, chain = Settings(tol=TOLERANCE), np.zeros(batch.n_instances, dtype=int)
    cold = solve(batch, settings=settings)
    yield "cold", cold
    yield "chained", solve(batch, settings=settings, chain=chain)
    order = np.arange(batch.n_instances)[::-1]
    warm = Iterates(cold.coef[order], cold.dual_point[order], 0 * order)
    yield "reversed", solve(batch, settings=settings, warm=warm)
