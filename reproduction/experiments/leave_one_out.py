"""Leave-one-out over every row: total seconds, and predictions checked against refits."""

from __future__ import annotations

import numpy as np
from benchmarks.harness import timed
from benchmarks.pipeline import cross_validated, left_out_errors

import sketchlasso as sl
from reproduction.data import load
from reproduction.experiment import Finding, Plan, Say, Section, Sheet, judged
from reproduction.paper_figures import PAPER
from reproduction.words import count, factor, number, percent, quoted, seconds, share

TITLE = "Leave-one-out: every row of Gisette"

RADIUS = "0.1*spectral"
# Predictions are right when the largest error is at most this share of the median effect.
ALLOWED = 0.1


def run(plan: Plan, say: Say) -> Section:
    """Cross-validation, leave-one-out at its penalty, and refits of some rows."""
    paper, data = PAPER["leave_one_out"], "digits" if plan.quick else "gisette_like"
    rank, alphas = (20, 10) if plan.quick else (50, 100)
    split = load(data, plan.rows)
    rows, features = split.X.shape
    cross_validated(split, rank=rank, radius=RADIUS, alphas=alphas)  # compiles
    fitted = cross_validated(split, rank=rank, radius=RADIUS, alphas=alphas)
    say(f"5-fold cross-validation: {fitted.seconds:.2f} s")

    def left_out(rows: np.ndarray | None = None) -> sl.LeaveOneOut:
        made, alpha, radius = fitted.sketch, fitted.alpha, fitted.radius
        assert made is not None
        return sl.leave_one_out(made, split.X, split.y, alpha=alpha, radius=radius, rows=rows)

    left_out(np.arange(5))  # compiles
    outcome = timed(left_out)
    took, result = outcome.seconds, outcome.value
    say(f"{rows:,} rows left out: {took:.2f} s")
    difference, effect = left_out_errors(split, fitted, result, 10 if plan.quick else 50)
    worst, middle = float(difference.max()), float(np.median(effect))
    unsolved = int(np.sum(result.status != sl.Status.SOLVED))
    right = worst <= ALLOWED * middle and unsolved == 0
    findings = [
        Finding(
            f"leave-one-out over all {count(paper['rows'])} rows",
            quoted(paper["seconds"], " s"),
            f"{seconds(took)} for {count(rows)} rows",
            judged(took < paper["seconds"]),
            f"{count(rows)} problems take {seconds(took)}, {seconds(took / rows)} per row and "
            f"{factor(took / fitted.seconds)} the 5-fold cross-validation; the paper's took "
            f"{factor(paper['seconds'] / paper['cv_seconds'])} its own.",
            timing=True,
        ),
        Finding(
            "left-out predictions are those of refits",
            "not checked",
            f"largest error {number(worst, 2)}, median effect {number(middle, 2)}",
            "beyond the paper" if right else "not reproduced",
            f"On {count(len(difference))} refits the largest error is {percent(worst / middle)} of "
            f"the median effect of a row; {count(unsolved)} problems were not solved.",
        ),
    ]
    table = [
        ("cross-validation, sketch and refit included", seconds(fitted.seconds)),
        ("leave-one-out, all rows", seconds(took)),
        ("one row", seconds(took / rows)),
        ("leave-one-out / cross-validation", factor(took / fitted.seconds)),
        ("non-zeros of the model", count(fitted.nonzeros)),
        ("left-out accuracy", share(np.mean((result.predictions > 0) == (split.y > 0)))),
        ("worst relative gap", number(float(result.relative_gap.max()), 2)),
        ("unsolved problems", count(unsolved)),
        ("largest difference from a refit", number(worst, 2)),
        ("median difference from a refit", number(float(np.median(difference)), 2)),
        ("median effect of a row", number(middle, 2)),
    ]
    return Section(
        f"{data}, {count(rows)} x {count(features)}, rank {rank}, radius {RADIUS}. The penalty is "
        f"the one that 5-fold cross-validation over {alphas} penalties chose; then every row is "
        f"left out in turn. {count(len(difference))} rows are refitted from scratch to a gap of "
        "1e-10; errors are read against the effect, the change of a row's prediction when the row "
        "is left out.",
        "gisette_like is a re-creation of Gisette from real digits (the quick form takes "
        "scikit-learn's digits). The sketch is that of the cross-validation, as in the paper, and "
        "is not counted twice. The check against refits is added.",
        findings,
        [Sheet("Leave-one-out", ("what", "measured"), table)],
        results=[{"cv_seconds": fitted.seconds, "loo_seconds": took, "difference": difference}],
    )
