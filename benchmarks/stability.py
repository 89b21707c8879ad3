"""False positives of stability selection against the bound, over simulated sets.

Claim under test: the mean number of selected features that have no effect is at most the bound
that `StabilitySelection` reports, for both bounds and for designs that are independent, Toeplitz
(0.6) and equicorrelated (0.3). On a correlated design a feature without an effect may well stand
for one that has an effect, which the bound does not call an error; the table counts it all the
same.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from benchmarks.harness import timed
from benchmarks.inference import DESIGNS
from sketchlasso.inference import StabilitySelection

SEED = 20
ASSUMPTIONS = ("none", "unimodal")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sets", type=int, help="simulated sets (100; quick: 3)")
    parser.add_argument("--shape", type=int, nargs=2, default=[100, 500], metavar=("M", "P"))
    parser.add_argument("--pfer", type=float, default=1.0)
    parser.add_argument("--designs", nargs="+", default=list(DESIGNS), choices=list(DESIGNS))
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
        for assumption in options.assumptions:
            row = measured(design, assumption, (m, p), sets, options.pfer)
            options.report.add(design=design, **{"bound by": assumption}, **row)


def measured(
    design: str, assumption: Any, shape: tuple[int, int], sets: int, pfer: float
) -> dict[str, Any]:
    false, strong, weak, seconds = [], [], [], []
    for number in range(sets):
        rng = np.random.default_rng(SEED + number)
        X = DESIGNS[design](rng, *shape)
        causes = rng.choice(shape[1], 10, replace=False)
        effects = np.repeat([1.0, 0.5], 5) * rng.choice([-1.0, 1.0], 10)
        y = X[:, causes] @ effects + rng.standard_normal(shape[0])
        selector = StabilitySelection(
            pfer=pfer, cutoff=0.75, assumption=assumption, random_state=number
        )
        seconds.append(timed(lambda s=selector, X=X, y=y: s.fit(X, y)).seconds)
        selected = selector.get_support()
        false.append(np.count_nonzero(selected) - np.count_nonzero(selected[causes]))
        strong.append(selected[causes[:5]].mean())
        weak.append(selected[causes[5:]].mean())
    return {
        "q": selector.q_,
        "bound": selector.pfer_,
        "false": float(np.mean(false)),
        "standard error": float(np.std(false, ddof=1) / np.sqrt(sets)),
        "most false": int(max(false)),
        "strong": float(np.mean(strong)),
        "weak": float(np.mean(weak)),
        "seconds per set": float(np.median(seconds)),
    }
