"""Held-out scores on X itself and on sketches of several ranks, beside LassoCV.

Every hyper-parameter is chosen by 5-fold cross-validation on training rows only; test rows decide
nothing. The paper's sketch has singular directions and the spectral radius.

    python -m benchmarks accuracy --shapes rcv1 imdb --ranks 10 50 --seeds 3
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np

from benchmarks.defaults.contenders import Result, ours, peer
from benchmarks.defaults.shapes import SHAPES
from benchmarks.harness import Outcome, timed
from benchmarks.report import Report
from sketchlasso.errors import InvalidInputError

QUICK = ("500 x 400 bumps", "digits")
DEFAULT = ("rcv1", "gisette_like", "imdb", "20news", "riboflavin")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--shapes", nargs="+", default=list(DEFAULT), choices=list(SHAPES))
    parser.add_argument("--ranks", type=int, nargs="+", default=[10, 50])
    parser.add_argument("--seeds", type=int, default=3)


def run(options: argparse.Namespace) -> Report:
    report = options.report
    columns: dict[str, dict[str, Any]] = {"default": {}, "X itself": {"sketch": None}}
    for rank in [10] if options.quick else options.ranks:
        columns[f"response, {rank}"] = {"sketch": "response", "rank": rank}
        columns[f"paper, {rank}"] = {"sketch": "power", "rank": rank, "radius": "spectral"}
    for name in QUICK if options.quick else options.shapes:
        outcomes: dict[str, list[Outcome]] = {}
        for seed in range(1 if options.quick else options.seeds):
            for column, settings in columns.items():
                outcomes.setdefault(column, []).append(_timed(name, seed, settings))
            lasso = peer(name, seed, options.peer_limit, ["LassoCV"])["LassoCV"]
            outcomes.setdefault("LassoCV", []).append(lasso)
        for column, runs in outcomes.items():
            report.add(data=name, model=column, **_summary(runs))
    return report


def _timed(name: str, seed: int, settings: dict[str, Any]) -> Outcome:
    """One fit; a radius that leaves no feature at any penalty has no score."""
    try:
        return timed(ours(name, seed, settings))
    except InvalidInputError as error:
        return Outcome(math.nan, failure=str(error))


def _summary(runs: list[Outcome]) -> dict[str, Any]:
    """Mean and standard deviation of the score over the seeds, mean non-zeros and seconds."""
    results = [run.value for run in runs if isinstance(run.value, Result)]
    scores = [result.score for result in results]
    nonzero = [result.nonzero for result in results]
    return {
        "score": float(np.mean(scores)) if scores else math.nan,
        "deviation": float(np.std(scores, ddof=1)) if len(scores) > 1 else math.nan,
        "non-zeros": float(np.mean(nonzero)) if nonzero else math.nan,
        "seconds": float(np.median([run.seconds for run in runs])),
    }
