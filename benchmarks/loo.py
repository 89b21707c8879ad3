"""Leave-one-out over every row, as a multiple of the 5-fold x 100-penalty cross-validation.

Claim under test: leave-one-out over all 6,000 rows of gisette_like at the penalty that the
cross-validation chose takes at most 3 times that cross-validation, sketch and refit included.
Some rows are refitted from scratch on the same sketch: statistics rebuilt from the remaining
rows, solved without a warm start and to a gap of 1e-10. An error of
leave-one-out is compared with the effect, the change of a row's prediction when the row is left
out: an error as large as the effect means that the warm start was returned unchanged.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np

from benchmarks.cv import pipeline
from benchmarks.datasets import Split, available, load
from benchmarks.harness import interleave
from benchmarks.pipeline import left_out_errors
from sketchlasso import LeaveOneOut, Settings, Status, leave_one_out


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", nargs="+", help="(gisette_like; quick: digits rcv1)")
    parser.add_argument("--rank", type=int, default=50)
    parser.add_argument("--method", default="randomized", help="of the sketch")
    parser.add_argument("--alphas", type=int, default=100)
    parser.add_argument("--ratio", type=float, default=1e-3, help="smallest / largest penalty")
    parser.add_argument("--shares", type=float, nargs="+", default=[1.0, 0.3, 0.1])
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--loo-tol", type=float, help="gap of leave-one-out (its default)")
    parser.add_argument("--refits", type=int, default=50, help="rows checked by a refit")


def run(options: argparse.Namespace) -> None:
    report = options.report
    report.note(
        f"cv: sketch, 5 folds x {options.alphas} penalties down to {options.ratio:g} of the "
        "largest, scores, refit. loo: leave_one_out on the sketch made there"
    )
    report.note(
        "difference: of a left-out row's prediction, against a refit; effect: by how much the "
        "refit's prediction differs from that of the model with all rows; y is +1/-1. unmoved: "
        "share of rows whose model is the one with all rows, unchanged"
    )
    sets = options.data or (["digits", "rcv1"] if options.quick else ["gisette_like"])
    for split in available(sets, partial(load, quick=options.quick), report.note):
        for share in options.shares:
            one_radius(split, share, options)


def one_radius(split: Split, share: float, options: argparse.Namespace) -> None:
    """Cross-validation and leave-one-out in turns, then the check."""
    # None: leave_one_out's own, finer default.
    settings = None if options.loo_tol is None else Settings(tol=options.loo_tol)
    fitted = pipeline(split, share, options)
    loo = partial(
        leave_one_out,
        fitted.sketch,
        split.X,
        split.y,
        alpha=fitted.alpha,
        radius=fitted.radius,
        settings=settings,
    )
    loo(rows=np.arange(20))
    times = interleave(
        {"cv": partial(pipeline, split, share, options), "loo": loo},
        options.repeats,
        warm_up=False,
    )
    cv, left = times["cv"], times["loo"]
    found: LeaveOneOut = left.value
    without_sketch = cv.median - cv.value.sketch_seconds
    difference, effect = left_out_errors(split, fitted, found, options.refits)
    options.report.add(
        **{
            "data": split.name,
            "radius / spectral": share,
            "rows": len(found.rows),
            "cv s": cv.median,
            "loo s": left.median,
            "loo / cv": left.median / cv.median,
            "loo / cv without sketch": left.median / without_sketch,
            "loo ms per row": 1e3 * left.median / len(found.rows),
            "solve share of loo": found.seconds / left.seconds[-1],
            "worst gap": float(found.relative_gap.max()),
            "unsolved": int((found.status != Status.SOLVED).sum()),
            "unmoved": float(np.mean(found.coefficient_shift == 0)),
            "refits": len(difference),
            "largest difference": float(difference.max()),
            "median difference": float(np.median(difference)),
            "median effect": float(np.median(effect)),
            "spread of cv": cv.spread,
            "spread of loo": left.spread,
        }
    )
