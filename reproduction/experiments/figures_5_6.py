"""Figures 5 and 6: F1 and training time against k, the full model as a line."""

from __future__ import annotations

from typing import Any

from benchmarks.pipeline import cross_validated

from reproduction.data import load
from reproduction.drawing import PALETTE, drawn, tidy
from reproduction.experiment import Finding, Plan, Results, Say, Section, Sheet, judged
from reproduction.paper_figures import PAPER
from reproduction.words import count, listed, number, quoted, seconds, share

TITLE = "Figures 5 and 6: F1 and training time against k"

PAPERS, OURS = "singular directions, spectral radius", "response-aware, realised radius"
MODELS: dict[str, dict[str, Any]] = {
    PAPERS: {"method": "randomized", "radius": "spectral"},
    "singular directions, realised radius": {"method": "randomized", "radius": "realised"},
    "response-aware, spectral radius": {"method": "response", "radius": "spectral"},
    OURS: {"method": "response", "radius": "realised"},
}
QUICK = {"RCV1.binary": "made_text", "Gisette": "digits"}
FULL = {"RCV1.binary": "rcv1", "Gisette": "gisette_like"}
# Scores no further apart than this count as equivalent.
EQUIVALENT = 0.005


def run(plan: Plan, say: Say) -> Section:
    """Every set, model and rank; penalties by cross-validation on the training rows."""
    ranks = [5, 20] if plan.quick else [2, 5, 10, 20, 30, 40, 50]
    alphas = 6 if plan.quick else 30
    # Few rows of many words are soon interpolated, which takes an exact solver minutes.
    full_ratio = 1e-2 if plan.rows is None else 1e-1
    findings, sheets, sizes, sets = [], [], [], []
    for theirs, name in (QUICK if plan.quick else FULL).items():
        split = load(name, plan.rows)
        cross_validated(split, rank=None, ratio=0.5, alphas=alphas)  # compiles
        full = cross_validated(split, rank=None, ratio=full_ratio, alphas=alphas).row()
        say(f"{name}: full model, F1 {full['test_f1']:.4f}, {full['seconds']:.1f} s")
        rows: list[Results] = []
        for model, options in MODELS.items():
            for rank in ranks:
                fitted = cross_validated(split, rank=rank, alphas=alphas, **options)
                rows.append({"model": model, "rank": rank, **fitted.row()})
            say(f"{name}: {model}, F1 {rows[-1]['test_f1']:.4f}, {rows[-1]['seconds']:.1f} s")
        findings += _findings(theirs, name, full, rows)
        sheets.append(_sheet(name, full, rows))
        sizes.append(
            f"{theirs} is {name} ({count(split.X.shape[0])} x {count(split.X.shape[1])}, "
            f"{count(split.X_test.shape[0])} test rows)"
        )
        sets.append({"data": name, "full": full, "rows": rows})
    caption = (
        "F1 on test rows and training time against the rank, penalties by cross-validation; the "
        "grey line is the full model."
    )
    return Section(
        f"Training rows, 5 folds x {alphas} penalties, the one with the best F1 is refitted and "
        "scored on test rows that decided nothing. Training time: sketch, cross-validation and "
        "refit. The full model is the square-root LASSO on all data, solved exactly by this "
        f"library. Penalties go down to 0.001 of the largest on sketches and {full_ratio:g} on the "
        "full data, where smaller ones come near interpolation. Where a radius leaves no feature "
        "at any penalty, the model predicts the most frequent training class.",
        f"{listed(sizes)}. The paper does not say how it chose its penalty; its full training "
        "times are of one problem by a generic solver, ours of a whole cross-validation by a "
        "specialised one (table 2 has the generic solver).",
        findings,
        sheets,
        [drawn(lambda figure: _draw(figure, sets), (7.2, 2.6 * len(sets) + 0.6), caption)],
        sets,
    )


def _findings(theirs: str, name: str, full: Results, rows: list[Results]) -> list[Finding]:
    """The paper's model and ours against the full one, at the largest rank."""
    result = []
    last = {row["model"]: row for row in rows}
    for model, whose in ((PAPERS, "the paper's sketch"), (OURS, "ours")):
        row = last[model]
        gap = row["test_f1"] - full["test_f1"]
        result.append(
            Finding(
                f"as good as the full model on {theirs} ({name}), {whose}",
                "equivalent",
                f"F1 {share(row['test_f1'])} at k = {row['rank']}, full {share(full['test_f1'])}",
                judged(gap > EQUIVALENT, gap >= -EQUIVALENT),
                f"A difference of {number(gap, 2)} at k = {row['rank']} with "
                f"{count(row['nonzeros'])} non-zeros, where the full model has "
                f"{count(full['nonzeros'])}; {model}.",
            )
        )
    paper, ours = PAPER["figures_5_6"]["sets"][theirs], last[OURS]
    pays = full["seconds"] >= ours["seconds"]
    result.append(
        Finding(
            f"training time on {theirs} ({name})",
            f"{quoted(paper['ours'], ' s')} at k = {paper['k']}, full "
            f"{quoted(paper['full'], ' s')}",
            f"{seconds(ours['seconds'])} at k = {ours['rank']}, full {seconds(full['seconds'])}",
            judged(ours["seconds"] < paper["ours"]),
            "Our times are of whole cross-validations, and the full model is solved by the exact "
            f"solver. In time the sketch {'pays' if pays else 'does not pay'} for a single "
            "cross-validation; it does where problems come by the thousand.",
            timing=True,
        )
    )
    return result


def _sheet(name: str, full: Results, rows: list[Results]) -> Sheet:
    columns = ("model", "k", "test F1", "non-zeros", "seconds", "sketch alone", "radius")
    head = ("full model", "-", share(full["test_f1"]), full["nonzeros"], seconds(full["seconds"]))
    table: list[tuple[Any, ...]] = [(*head, "-", "-")]
    for row in rows:
        facts = (share(row["test_f1"]), row["nonzeros"], seconds(row["seconds"]))
        ends = (seconds(row["sketch_seconds"]), number(row["radius"]))
        table.append((row["model"], row["rank"], *facts, *ends))
    return Sheet(f"{name}: F1 on test rows", columns, table)


def _draw(figure: Any, sets: list[Results]) -> None:
    axes = figure.subplots(len(sets), 2, squeeze=False)
    for (left, right), one in zip(axes, sets, strict=True):
        for place, model in enumerate(MODELS):
            rows = [row for row in one["rows"] if row["model"] == model]
            ranks = [row["rank"] for row in rows]
            style: dict[str, Any] = {"color": PALETTE[place], "marker": "o", "markersize": 3}
            left.plot(ranks, [row["test_f1"] for row in rows], label=model, **style)
            right.plot(ranks, [row["seconds"] for row in rows], **style)
        for ax, key in ((left, "test_f1"), (right, "seconds")):
            ax.axhline(one["full"][key], color="0.5", linewidth=1.2, label="full model")
        tidy(left, "rank k", "F1 on test rows", one["data"], whole=True)
        tidy(right, "rank k", "seconds", one["data"], whole=True)
        right.set_ylim(bottom=0)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2)
