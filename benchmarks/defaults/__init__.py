"""Our estimators with their defaults, beside LassoCV, cv.glmnet and celer.

Claims under test: never slower than LassoCV, at least 5 times faster in the geometric mean and 20
times on text, as fast as cv.glmnet in the geometric mean, and never more than 0.002 below
LassoCV's score in the mean over the seeds.

LassoCV has two threads, cv.glmnet and celer one, and our estimators all cores. cv.glmnet has 5
folds, does not standardise, and predicts at lambda.min; celer gets LassoCV's search. Clarabel
solves one problem of the search, on four fifths of the rows. Generated data are drawn anew for
every seed; of real data the training rows are put in another order, or drawn.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.defaults.contenders import ONE_PROBLEM, PEERS, Result, has_glmnet, ours, peer
from benchmarks.defaults.shapes import SHAPES, TEXT
from benchmarks.harness import timed
from benchmarks.report import Report
from sketchlasso import SqrtLassoClassifierCV

QUICK = ("450 x 449, noise 0.1", "digits")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), choices=list(SHAPES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--peers", nargs="*", default=PEERS, choices=PEERS, help="all; none: our estimators only"
    )


def run(options: argparse.Namespace) -> Report:
    report = options.report
    if not has_glmnet():
        report.note("no Rscript with glmnet: cv.glmnet is left out")
    _warm_up()
    rows = []
    for name in QUICK if options.quick else options.shapes:
        row = _row(name, 1 if options.quick else options.seeds, options)
        rows.append(row)
        report.add(**row)
    for text in _summary(rows):
        report.note(text)
    return report


def _warm_up() -> None:
    """Compile what the fits need, with a sketch and without."""
    for name in QUICK:
        ours(name, 0)()
    rng = np.random.default_rng(0)
    X = sparse.random_array((700, 600), density=0.05, format="csr", rng=rng)
    SqrtLassoClassifierCV(random_state=0).fit(X, rng.integers(0, 2, 700))


def _row(name: str, seeds: int, options: argparse.Namespace) -> dict[str, Any]:
    """Medians of the seconds and means of the scores over the seeds."""
    found: dict[str, list[Any]] = {}
    for seed in range(seeds):
        fit = ours(name, seed)
        outcomes = {"ours": timed(fit)} | peer(name, seed, options.peer_limit, options.peers)
        for who, outcome in outcomes.items():
            found.setdefault(who, []).append(outcome)
    row: dict[str, Any] = {"data": name}
    for who, outcomes_of in found.items():
        row[who] = float(np.median([outcome.seconds for outcome in outcomes_of]))
    found.pop(ONE_PROBLEM, None)  # it has no score
    for who, outcomes_of in found.items():
        results = [outcome.value for outcome in outcomes_of if isinstance(outcome.value, Result)]
        row[f"score, {who}"] = float(np.mean([r.score for r in results])) if results else math.nan
        if results:
            row[f"non-zeros, {who}"] = float(np.mean([r.nonzero for r in results]))
        if who == "ours":
            row["chose"] = results[0].chose
    for who in found:
        if who != "ours":
            row[f"times {who}"] = row[who] / row["ours"]
            row[f"score less {who}"] = _mean_difference(found["ours"], found[who])
    return row


def _mean_difference(ours: list[Any], theirs: list[Any]) -> float:
    """Our score less another's, on average over the seeds that both have finished."""
    pairs = [(one.value, other.value) for one, other in zip(ours, theirs, strict=True)]
    differences = [
        mine.score - other.score
        for mine, other in pairs
        if isinstance(mine, Result) and isinstance(other, Result)
    ]
    return float(np.mean(differences)) if differences else math.nan


def _summary(rows: list[dict[str, Any]]) -> list[str]:
    """Geometric means of the ratios, and the worst rows."""
    said = []
    for who in ("LassoCV", "cv.glmnet", "celer"):
        ratios = {row["data"]: row.get(f"times {who}", math.nan) for row in rows}
        ratios = {name: ratio for name, ratio in ratios.items() if math.isfinite(ratio)}
        if not ratios:
            continue
        text = [ratio for name, ratio in ratios.items() if name in TEXT]
        worst = min(ratios, key=lambda name: ratios[name])
        mean = math.exp(float(np.mean(np.log(list(ratios.values())))))
        line = f"{who}: {mean:.2f} times ours in the geometric mean of {len(ratios)} rows"
        if text:
            line += f", {math.exp(float(np.mean(np.log(text)))):.2f} on text"
        said.append(f"{line}; worst {ratios[worst]:.2f} ({worst})")
        below = [row.get(f"score less {who}", math.nan) for row in rows]
        if not all(map(math.isnan, below)):
            said.append(f"our score less that of {who}: {np.nanmin(below):+.4f} at worst")
    return said
