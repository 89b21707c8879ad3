"""Leave-one-out over every row, as a multiple of the 5-fold x 100-penalty cross-validation.

Claim under test: leave-one-out over all 6,000 rows of gisette_like at the penalty that the
cross-validation chose takes at most 3 times that cross-validation, sketch and refit included.
Some rows are refitted from scratch on the same sketch, to a gap of 1e-10. An error of leave-one-out
is compared with the effect, the change of a row's prediction when the row is left out: an error as
large as the effect means that the warm start was returned unchanged.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np

from benchmarks.datasets import Split, available, load
from benchmarks.harness import interleave
from benchmarks.pipeline import cross_validated, left_out_errors
from sketchlasso import Settings, Status, leave_one_out


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", nargs="+", help="(gisette_like; quick: digits rcv1)")
    parser.add_argument("--shares", type=float, nargs="+", default=[1.0, 0.3, 0.1])
    parser.add_argument("--tol", type=float, help="gap of leave-one-out (its default)")
    parser.add_argument("--refits", type=int, default=50, help="rows checked by a refit")


def run(options: argparse.Namespace) -> None:
    options.report.note(
        "cv: sketch, 5 folds x 100 penalties, scores, refit; loo: leave_one_out on "
        "the sketch made there; difference: of a left-out prediction from a refit; effect: of "
        "leaving the row out; y is +1/-1; unmoved: share of rows whose model is that of all rows"
    )
    sets = options.data or (["digits", "rcv1"] if options.quick else ["gisette_like"])
    for split in available(sets, partial(load, quick=options.quick), options.report.note):
        for share in options.shares:
            one_radius(split, share, options)


def one_radius(split: Split, share: float, options: argparse.Namespace) -> None:
    """Cross-validation and leave-one-out in turns, then the check."""
    pipeline = partial(
        cross_validated,
        split,
        rank=50,
        radius=f"{share}*spectral",
        alphas=100,
        metric="mse",
    )
    fitted = pipeline()
    loo = partial(
        leave_one_out,
        fitted.sketch,
        split.X,
        split.y,
        alpha=fitted.alpha,
        radius=fitted.radius,
        settings=None if options.tol is None else Settings(tol=options.tol),
    )
    loo(rows=np.arange(20))
    times = interleave({"cv": pipeline, "loo": loo}, options.repeats, warm_up=False)
    cv, left, result = times["cv"], times["loo"], times["loo"].value
    difference, effect = left_out_errors(split, fitted, result, options.refits)
    options.report.add(
        **{
            "data": split.name,
            "radius / spectral": share,
            "rows": len(result.rows),
            "cv s": cv.median,
            "loo s": left.median,
            "loo / cv": left.median / cv.median,
            "worst gap": float(result.relative_gap.max()),
            "unsolved": int((result.status != Status.SOLVED).sum()),
            "unmoved": float(np.mean(result.coefficient_shift == 0)),
            "refits": len(difference),
            "largest difference": float(difference.max()),
            "median difference": float(np.median(difference)),
            "median effect": float(np.median(effect)),
        }
    )
