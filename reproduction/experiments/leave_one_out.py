"""Leave-one-out over every row: total seconds, and predictions checked against refits."""

from __future__ import annotations

from typing import Any

import numpy as np
from benchmarks.harness import timed
from benchmarks.pipeline import cross_validated, left_out_errors

import sketchlasso as sl
from reproduction.data import load
from reproduction.experiment import Finding, Plan, Report, Results, Sheet
from reproduction.paper_figures import PAPER
from reproduction.words import count, factor, number, percent, seconds, share
from reproduction.words import quoted as as_quoted

TITLE = "Leave-one-out: every row of Gisette"


def settings(plan: Plan) -> Results:
    """One data set, every row of it."""
    return {
        "quick": plan.quick,
        "data": "digits" if plan.quick else "gisette_like",
        "rows": plan.rows,
        "rank": 20 if plan.quick else 50,
        "folds": 5,
        "alphas": 10 if plan.quick else 100,
        "ratio": 1e-3,
        "radius": "0.1*spectral",
        "refits": 10 if plan.quick else 50,
        "refit_tol": 1e-10,
        # A prediction is right when its error is at most this share of what leaving out changes.
        "allowed": 0.1,
    }


def compute(chosen: Results, report: Report) -> Results:
    """Cross-validation, leave-one-out at its penalty, and refits of some rows."""
    split = load(chosen["data"], chosen["rows"])
    options: dict[str, Any] = {
        "rank": chosen["rank"],
        "radius": chosen["radius"],
        "alphas": chosen["alphas"],
        "ratio": chosen["ratio"],
        "n_folds": chosen["folds"],
    }
    cross_validated(split, **options)  # compiles
    fitted = cross_validated(split, **options)
    assert fitted.sketch is not None
    report(f"{chosen['folds']}-fold cross-validation: {fitted.seconds:.2f} s")
    arguments: dict[str, Any] = {"alpha": fitted.alpha, "radius": fitted.radius}
    data = fitted.sketch, split.X, split.y
    sl.leave_one_out(*data, rows=np.arange(5), **arguments)
    timing = timed(lambda: sl.leave_one_out(*data, **arguments))
    took, found = timing.seconds, timing.value
    report(f"{len(split.y):,} rows left out: {took:.2f} s")
    right = float(np.mean((found.predictions > 0) == (split.y > 0)))
    difference, effect = left_out_errors(
        split, fitted, found, chosen["refits"], chosen["refit_tol"]
    )
    return {
        "samples": split.X.shape[0],
        "features": split.X.shape[1],
        "cv_seconds": fitted.seconds,
        "loo_seconds": took,
        "loo_over_cv": took / fitted.seconds,
        "per_row": took / len(split.y),
        "speed_up": PAPER["leave_one_out"]["seconds"] / took,
        "paper_loo_over_cv": PAPER["leave_one_out"]["seconds"]
        / PAPER["leave_one_out"]["cv_seconds"],
        "nonzeros": fitted.nonzeros,
        "accuracy": right,
        "worst_gap": float(found.relative_gap.max()),
        "unsolved": int(np.sum(found.status != sl.Status.SOLVED)),
        "refits": len(difference),
        "largest_difference": float(difference.max()),
        "median_difference": float(np.median(difference)),
        "median_effect": float(np.median(effect)),
        "difference_over_effect": float(difference.max() / np.median(effect)),
    }


def protocol(stored: Results) -> str:
    """What was done."""
    chosen, found = stored["settings"], stored["results"]
    return (
        f"{chosen['data']}, {count(found['samples'])} x {count(found['features'])}, rank "
        f"{chosen['rank']}, radius {chosen['radius']}. The penalty is the one that "
        f"{chosen['folds']}-fold cross-validation over {chosen['alphas']} penalties chose; then "
        "every row is left out in turn. "
        f"{count(found['refits'])} rows are refitted from scratch to a gap of "
        f"{chosen['refit_tol']:g}; errors are read against the effect, the change of a row's "
        "prediction when the row is left out."
    )


def differs(stored: Results) -> str:
    """What is not as in the paper."""
    return (
        "gisette_like is a re-creation of Gisette from real digits (the quick form takes "
        "scikit-learn's digits). The sketch is that of the cross-validation, as in the paper, and "
        "is not counted twice. The check against refits is added."
    )


def findings(stored: Results) -> list[Finding]:
    """Seconds against the paper's, and whether predictions are right."""
    found, quoted, chosen = stored["results"], stored["paper"], stored["settings"]
    fast = found["loo_seconds"] < quoted["seconds"]
    right = found["difference_over_effect"] <= chosen["allowed"] and found["unsolved"] == 0
    return [
        Finding(
            f"leave-one-out over all {count(quoted['rows'])} rows",
            as_quoted(quoted["seconds"], " s"),
            f"{seconds(found['loo_seconds'])} for {count(found['samples'])} rows",
            "better" if fast else "not reproduced",
            f"{count(found['samples'])} problems take {seconds(found['loo_seconds'])}, "
            f"{seconds(found['per_row'])} per row and {factor(found['loo_over_cv'])} the "
            f"{chosen['folds']}-fold cross-validation; the paper's took "
            f"{factor(found['paper_loo_over_cv'])} its own.",
            timing=True,
        ),
        Finding(
            "left-out predictions are those of refits",
            "not checked",
            f"largest error {number(found['largest_difference'], 2)}, median effect "
            f"{number(found['median_effect'], 2)}",
            "beyond the paper" if right else "not reproduced",
            f"On {count(found['refits'])} refits the largest error is "
            f"{percent(found['difference_over_effect'])} of the median effect of a row"
            + ("." if right else ", more than allowed, or some problem was not solved."),
        ),
    ]


def tables(stored: Results) -> list[Sheet]:
    """All facts."""
    found = stored["results"]
    rows = (
        ("cross-validation, sketch and refit included", seconds(found["cv_seconds"])),
        ("leave-one-out, all rows", seconds(found["loo_seconds"])),
        ("one row", seconds(found["per_row"])),
        ("leave-one-out / cross-validation", factor(found["loo_over_cv"])),
        ("non-zeros of the model", count(found["nonzeros"])),
        ("left-out accuracy", share(found["accuracy"])),
        ("worst relative gap", number(found["worst_gap"], 2)),
        ("unsolved problems", count(found["unsolved"])),
        ("largest difference from a refit", number(found["largest_difference"], 2)),
        ("median difference from a refit", number(found["median_difference"], 2)),
        ("median effect of a row", number(found["median_effect"], 2)),
    )
    return [Sheet("Leave-one-out", ("what", "measured"), rows)]
