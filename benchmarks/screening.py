"""How many features each safe rule removes, along the path, on digits and rcv1."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.catalogue import MissingDataError
from benchmarks.datasets import load
from sketchlasso import Settings, build_problems, sketch, solve

SHARES = np.array([0.9, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.01])


def digits() -> tuple[Any, Any]:
    X, digit = load_digits(return_X_y=True)
    keep = (digit == 4) | (digit == 9)
    return X[keep], np.where(digit[keep] == 4, 1.0, -1.0)


def table(name: str, X: Any, y: Any, rank: int) -> list[dict[str, Any]]:
    """Share of features removed per alpha and radius; gap-safe at the final gap of 1e-8."""
    found = sketch(X, rank=rank, random_state=0)
    rows = []
    for radius_share in (1.0, 0.1):
        radius = radius_share * found.radius
        largest = build_problems(found, y, alphas=1, radii=radius).batch.alpha[0]
        problems = build_problems(found, y, alphas=largest * SHARES, radii=radius)
        solution = solve(problems.batch, settings=Settings(tol=1e-8))
        for b, share in enumerate(SHARES):
            removed = solution.screened
            rows.append(
                {
                    "data": name,
                    "radius / spectral": radius_share,
                    "alpha / alpha_max": share,
                    "paper": removed.paper[b] / found.n_features,
                    "static": removed.static[b] / found.n_features,
                    "gap-safe": removed.gap_safe[b] / found.n_features,
                    "truly zero": 1.0 - solution.n_nonzero[b] / found.n_features,
                }
            )
    return rows


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rank", type=int, default=50, help="of the sketch of rcv1")


def run(options: argparse.Namespace) -> None:
    report = options.report
    report.note("shares of all features; gap-safe at the final gap of 1e-8")
    for row in table("digits", *digits(), rank=30):
        report.add(**row)
    try:
        split = load("rcv1", options.quick)
    except MissingDataError as error:
        report.note(f"rcv1: skipped. {error}")
        return
    for row in table("rcv1", split.X, split.y, rank=options.rank):
        report.add(**row)
