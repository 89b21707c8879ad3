"""False positives of stability selection against the bound, over simulated sets.

Claim under test: the mean number of selected features that have no effect is at most the bound
that `StabilitySelection` reports, for each of the three bounds and for designs that are
independent, Toeplitz (0.6) and equicorrelated (0.3). On a correlated design a feature without an
effect may well stand for one that has an effect, which the bound does not call an error; the
table counts it as one all the same. Half-samples are solved on X itself, and on one sketch that
has not seen y.
"""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.inference import DESIGNS
from sketchlasso import sketch
from sketchlasso.inference import StabilitySelection

SEED = 20
ASSUMPTIONS = ("none", "unimodal")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sets", type=int, help="simulated sets (100; quick: 3)")
    parser.add_argument("--shape", type=int, nargs=2, default=[100, 500], metavar=("M", "P"))
    parser.add_argument("--pfer", type=float, default=1.0)
    parser.add_argument("--designs", nargs="+", default=list(DESIGNS), choices=list(DESIGNS))
    parser.add_argument(
        "--base", nargs="+", default=["X", "randomized 50"], help="X, or a method and its rank"
    )
    parser.add_argument("--assumptions", nargs="+", default=list(ASSUMPTIONS), choices=ASSUMPTIONS)


def run(options: argparse.Namespace) -> None:
    sets = options.sets or (3 if options.quick else 100)
    m, p = (60, 80) if options.quick else options.shape
    options.report.note(
        f"{sets} sets of {m} x {p}: five effects of 1 and five of 0.5, noise of deviation 1; 50 "
        f"pairs, cutoff 0.75, bound asked for {options.pfer:g}. false: mean number of selected "
        "features without effect, with its standard error; weak, strong: share of effects found"
    )
    for design in options.designs:
        for base in options.base:
            for assumption in options.assumptions:
                options.report.add(
                    design=design,
                    base=base,
                    **measured(design, base, assumption, (m, p), sets, options.pfer),
                )


def measured(
    design: str, base: str, assumption: str, shape: tuple[int, int], sets: int, pfer: float
) -> dict[str, Any]:
    false, strong, weak, seconds = [], [], [], []
    selector = StabilitySelection()
    for number in range(sets):
        X, y, causes = simulated(design, shape, SEED + number)
        start = perf_counter()
        selector = StabilitySelection(
            pfer=pfer,
            cutoff=0.75,
            assumption=assumption,  # type: ignore[arg-type]
            sketch=shared(X, base),
            standardize=base == "X",
            random_state=number,
        ).fit(X, y)
        seconds.append(perf_counter() - start)
        chosen = selector.get_support()
        false.append(np.count_nonzero(chosen) - np.count_nonzero(chosen[causes]))
        strong.append(chosen[causes[:5]].mean())
        weak.append(chosen[causes[5:]].mean())
    return {
        "bound by": assumption,
        "q": selector.q_,
        "bound": selector.pfer_,
        "false": float(np.mean(false)),
        "standard error": float(np.std(false, ddof=1) / np.sqrt(sets)),
        "most false": int(max(false)),
        "strong": float(np.mean(strong)),
        "weak": float(np.mean(weak)),
        "seconds per set": float(np.median(seconds)),
    }


def shared(X: np.ndarray, base: str) -> Any:
    """The sketch of a method and a rank, made without y; None for X itself."""
    if base == "X":
        return None
    method, _, rank = base.partition(" ")
    size = {"rank": min(int(rank), *X.shape)} if rank else {}
    return sketch(X, method=method, center=True, scale=True, random_state=0, **size)  # type: ignore[arg-type]


def simulated(
    design: str, shape: tuple[int, int], seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X (m, p), y (m,) and the ten features that have an effect, the strong ones first."""
    rng = np.random.default_rng(seed)
    X = DESIGNS[design](rng, *shape)
    causes = rng.choice(shape[1], 10, replace=False)
    effects = np.repeat([1.0, 0.5], 5) * rng.choice([-1.0, 1.0], 10)
    return X, X[:, causes] @ effects + rng.standard_normal(shape[0]), causes
