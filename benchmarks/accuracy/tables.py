"""Summaries as markdown: the verdict, the columns, the radii, the labels, and every figure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from benchmarks.accuracy.columns import MAIN, POLICIES
from benchmarks.accuracy.summary import ALLOWED_LOSS, Summary, Verdict, label_differences, verdict
from benchmarks.report import markdown_table

Summaries = dict[tuple[str, str], Summary]
OURS = "ours-50"
RADII = ("paper-50", "svd-50-realised", *POLICIES[:3], "ours-50-realised", OURS)
HEADINGS = {"paper-50": "paper-50 (spectral)", OURS: "ours-50 (default)"}
HOW = """\
- Score: F1 of the positive class; macro F1 of labels or classes (classes chosen and predicted by
  the largest decision value); R2. Mean and standard deviation over the splits.
- Non-zeros: coefficients of one label, mean over labels. Seconds: sketch, choice and refit of all
  labels (and of all five outer folds of a microarray), on one machine under one limit.
- Every column has the same splits and folds, and a grid of {grids} the largest at which its model
  is not empty; `ceiling` has its own (9 weights of a linear SVM on sparse rows, 11 penalties of
  ridge on dense ones). "At edge": the smallest penalty won, a deeper grid might do better.
- Penalties and radii are chosen by the mean over the folds of F1 (of accuracy, for classes, with
  one share of the largest penalty for all of them; of R2 for regression), `lassocv` by its own
  mean squared error at tol 1e-3. Models predict +1 above 0.
- tf-idf weights, means and scales come from the training rows of a split, once for its folds: the
  folds' held-out rows share them, their responses never do.
- Rank is at most min(rows, features): on a microarray of 57 training rows, 200 means 57.\
"""


def how(cells: list[dict[str, Any]]) -> str:
    """What the tables show, and how the figures were computed."""
    grids = dict.fromkeys(tuple(cell["grid"]) for cell in cells)
    words = [
        f"{count} penalties down to {ratio:g} ({sketched:g} on sketches) of"
        for count, ratio, sketched in grids
    ]
    return HOW.format(grids=" or ".join(words))


def tasks_of(found: Summaries) -> list[str]:
    return list(dict.fromkeys(task for task, _ in found))


def scored(summary: Summary | None) -> str:
    """Score and spread, or why there is none."""
    if summary is None:
        return ""
    if not summary.done:
        return "; ".join(summary.failures)
    spread = "" if np.isnan(summary.spread) else f" ± {summary.spread:.4f}"
    partial = f" ({len(summary.done)} splits; {summary.failures[0]})" if summary.failures else ""
    return f"{summary.mean('score'):.4f}{spread}{partial}"


def whole(summary: Summary | None) -> str:
    """Score, non-zeros and seconds in one cell."""
    text = scored(summary)
    if summary is None or not summary.done:
        return text
    edge = ", at edge" if summary.mean("at_edge") > 0.5 else ""
    cost = f"{summary.mean('nonzeros'):,.0f} nz, {seconds(summary.mean('seconds'))}"
    return f"{text}<br>{cost}{edge}"


def seconds(value: float) -> str:
    return f"{value:.2g} s" if value < 10 else f"{value:,.0f} s"


def wide_table(found: Summaries, columns: Iterable[str]) -> str:
    """Sets in rows, the columns that exist beside each other."""
    present = [column for column in columns if any(name == column for _, name in found)]
    headings = ["set", "score", *(HEADINGS.get(column, column) for column in present)]
    rows = []
    for task in tasks_of(found):
        cells = [whole(found.get((task, column))) for column in present]
        rows.append([task, metric_of(found, task), *cells])
    return markdown_table(headings, rows)


def metric_of(found: Summaries, task: str) -> str:
    cells = [cell for (name, _), summary in found.items() if name == task for cell in summary.done]
    return cells[0]["metric"] if cells else ""


def verdicts(found: Summaries, column: str = OURS) -> list[Verdict]:
    """A column against the full model on every set where both have a score."""
    given = [
        verdict(found[task, "full"], found[task, column])
        for task in tasks_of(found)
        if (task, "full") in found and (task, column) in found
    ]
    return [one for one in given if one is not None]


def verdict_row(one: Verdict) -> dict[str, Any]:
    spread = "" if np.isnan(one.spread) else f" ± {one.spread:.4f}"
    equal = f"{one.difference_at_equal_size:+.4f}" if one.has_path else ""
    return {
        "set": one.task,
        "score": one.metric,
        "splits": one.splits,
        "full": f"{one.full:.4f}",
        OURS: f"{one.ours:.4f}",
        "ours - full": f"{one.difference:+.4f}{spread}",
        "not below by 0.002": one.passes,
        "non-zeros: full, ours": f"{one.full_nonzeros:,.0f}, {one.ours_nonzeros:,.0f}",
        "at full's non-zeros": equal + (" (end of path)" if equal and one.clamped else ""),
        "within 0.005": one.passes_at_equal_size if equal else "",
    }


def verdict_sentence(given: list[Verdict]) -> str:
    """The goal in one sentence."""
    if not given:
        return "No set has both columns yet."
    below = [one.task for one in given if not one.passes]
    equal = [one.task for one in given if one.has_path and not one.passes_at_equal_size]
    above = sum(one.difference > 0 for one in given)
    return (
        f"Of {len(given)} sets, {OURS} is above the full model on {above}, below it by more than "
        f"0.002 on {listed(below)}, and at the full model's non-zeros not within 0.005 on "
        f"{listed(equal)}."
    )


def listed(names: list[str]) -> str:
    return f"{len(names)} ({', '.join(names)})" if names else "none"


def label_table(found: Summaries) -> str:
    """How the labels or classes of a set differ."""
    rows = []
    for task in tasks_of(found):
        pair = found.get((task, "full")), found.get((task, OURS))
        if pair[0] is None or pair[1] is None:
            continue
        values = label_differences(pair[0], pair[1])
        if len(values) > 1:
            good = int(np.sum(values >= -ALLOWED_LOSS))
            levels = [f"{value:+.4f}" for value in np.quantile(values, (0.0, 0.5, 1.0))]
            rows.append([task, str(len(values)), *levels, f"{good} of {len(values)}"])
    return markdown_table(["set", "labels", "worst", "median", "best", "not below by 0.002"], rows)


def check_table(found: Summaries) -> str:
    """Answers of celer at the matched penalty beside ours."""
    rows = []
    for (task, column), summary in found.items():
        for cell in summary.done if column == "full-check" else ():
            ours = cell["curve"][1][2] if cell["curve"] else np.nan
            rows.append(
                [task, str(cell["split"]), f"{cell['score']:.4f}", f"{ours:.4f}", cell["note"]]
            )
    what = "penalty / largest: objective of ours over celer's - 1, non-zeros ours / celer's"
    return markdown_table(["set", "split", "celer at 0.1", "ours at 0.1", what], rows)


def everything(found: Summaries) -> str:
    """One row for each column of each set."""
    order = {column: place for place, column in enumerate((*MAIN, *POLICIES))}
    keys = sorted(
        found, key=lambda key: (tasks_of(found).index(key[0]), order.get(key[1], len(order)))
    )
    headings = ["set", "column", "splits", "score", "accuracy", "non-zeros", "seconds"]
    headings += ["sketch", "choice", "refit", "at edge", "worst gap", "note"]
    return markdown_table(headings, (_long_row(found[key]) for key in keys))


def _long_row(one: Summary) -> list[str]:
    start = [one.task, one.column, str(len(one.done)), scored(one)]
    if not one.done:
        return [*start, *[""] * 9]
    phases = [
        np.mean([cell["seconds_of"].get(phase, 0.0) for cell in one.done])
        for phase in ("sketch", "choose", "refit")
    ]
    accuracies = [cell["scores"].get("accuracy", np.nan) for cell in one.done]
    gaps = [cell["gap"] for cell in one.done if cell["gap"] is not None]
    return [
        *start,
        "" if np.isnan(accuracies).any() else f"{np.mean(accuracies):.4f}",
        f"{one.mean('nonzeros'):,.0f}",
        *(f"{value:,.2f}" for value in (one.mean("seconds"), *phases)),
        f"{one.mean('at_edge'):.0%}",
        f"{max(gaps):.1e}" if gaps else "",
        "; ".join(dict.fromkeys(cell["note"] for cell in one.done if cell["note"])),
    ]
