"""Section 3: features that the paper's safe rule removes, beside stronger rules."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import sketchlasso as sl
from reproduction.data import SEED, load
from reproduction.drawing import PALETTE, tidy
from reproduction.experiment import Finding, Picture, Plan, Report, Results, Sheet
from reproduction.words import count, listed, number, percent
from sketchlasso.engine import Batch
from sketchlasso.problem.dual import correlate
from sketchlasso.problem.screening import gap_safe_distance, gap_safe_rule, norm_rule, row_norms

TITLE = "Section 3: safe feature elimination"

RULES = {
    "paper": "the paper's rule",
    "static": "stronger static rule",
    "gap_safe": "gap-safe rule",
    "zero": "truly zero",
}


def settings(plan: Plan) -> Results:
    """Sets, radii and penalties."""
    return {
        "quick": plan.quick,
        "sets": {"digits": 30, "made_text": 20} if plan.quick else {"digits": 30, "rcv1": 50},
        "rows": plan.rows,
        "radii": [1.0, 0.1],
        "shares": [0.9, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01],
        "shown": 0.5,
        "tol": 1e-8,
    }


def compute(chosen: Results, report: Report) -> Results:
    """Shares of features removed, and whether any of them was needed."""
    panels = []
    for name, rank in chosen["sets"].items():
        split = load(name, chosen["rows"])
        made = sl.sketch(split.X, rank=min(rank, *split.X.shape), random_state=SEED)
        for radius in chosen["radii"]:
            panels.append({"set": name, "radius": radius, **_panel(made, split.y, radius, chosen)})
        report(f"{name}: rank {made.rank}")
    shown = chosen["shares"].index(chosen["shown"])
    at = {rule: [panel[rule][shown] for panel in panels] for rule in RULES if rule != "zero"}
    return {
        "panels": panels,
        "wrong": sum(panel["wrong"] for panel in panels),
        "problems": sum(len(panel["zero"]) for panel in panels),
        **{f"{rule}_lowest": min(values) for rule, values in at.items()},
        **{f"{rule}_highest": max(values) for rule, values in at.items()},
        "useless": [
            f"{panel['set']} at {panel['radius']:g} of the spectral radius"
            for panel in panels
            if panel["paper"][shown] == 0
        ],
    }


def _panel(made: sl.Sketch, y: np.ndarray, share: float, chosen: Results) -> Results:
    radius = share * made.radius
    largest = float(sl.build_problems(made, y, alphas=1, radii=[radius]).batch.alpha[0])
    alphas = largest * np.array(chosen["shares"])
    batch = sl.build_problems(made, y, alphas=alphas, radii=[radius]).batch
    # Solved without any rule: what a rule removes must be zero here.
    solution = sl.solve(batch, settings=sl.Settings(tol=chosen["tol"], screening=False))
    removed = _removed(batch, solution)
    return {
        "alpha": alphas,
        "spectral_radius": made.radius,
        "largest_alpha": largest,
        **{rule: lines.mean(axis=1) for rule, lines in removed.items()},
        "zero": 1.0 - solution.n_nonzero / made.n_features,
        "wrong": int(np.count_nonzero(removed["paper"] & (solution.coef.toarray() != 0))),
    }


def _removed(batch: Batch, solution: sl.Solution) -> dict[str, np.ndarray]:
    """Which features (B, n) each rule removes, the gap-safe rule at the final gap."""
    norms = row_norms(batch)
    seen = correlate(batch, solution.dual_point)
    distance = gap_safe_distance(batch, solution.gap)
    lines: dict[str, list[np.ndarray]] = {"paper": [], "static": [], "gap_safe": []}
    for b in range(batch.n_instances):
        lines["paper"].append(norm_rule(batch, norms, b, float(batch.radius[b])))
        lines["static"].append(norm_rule(batch, norms, b, 0.0))
        lines["gap_safe"].append(gap_safe_rule(batch, norms, b, seen[b], float(distance[b])))
    return {rule: np.array(rows) for rule, rows in lines.items()}


def protocol(stored: Results) -> str:
    """What was done."""
    chosen = stored["settings"]
    return (
        f"Sketches of {listed(list(chosen['sets']))}; radius at {listed(chosen['radii'])} of the "
        f"spectral one; {len(chosen['shares'])} penalties from {chosen['shares'][0]:g} to "
        f"{chosen['shares'][-1]:g} of the largest, relative gap {chosen['tol']:g}. The static rule "
        "removes where ||a_j|| <= lambda: as cheap as the paper's lambda - epsilon, and it "
        "contains it. The gap-safe rule uses the final gap. Every problem is also solved without "
        "any rule, and what the paper's rule removes is looked up there."
    )


def differs(stored: Results) -> str:
    """What is not as in the paper."""
    return (
        "The paper states the rule and shows no figure of it; it leaves the rule out of its "
        "timings. Both stronger rules are additions."
    )


def findings(stored: Results) -> list[Finding]:
    """Safety, then how much is removed."""
    found, chosen = stored["results"], stored["settings"]
    safe, idle = found["wrong"] == 0, found["useless"]
    return [
        Finding(
            "what the rule discards is zero",
            "proved",
            f"{count(found['wrong'])} wrong removals in {count(found['problems'])} problems",
            "reproduced" if safe else "not reproduced",
            "No feature that the rule removes has a coefficient in the problem solved without it."
            if safe
            else "Some removed features have coefficients in the problem solved without the rule.",
        ),
        Finding(
            "how much it removes",
            "no figure",
            f"{percent(found['paper_lowest'])} to {percent(found['paper_highest'])} of the "
            f"features at {chosen['shown']:g} of the largest lambda; the stronger static rule "
            f"{percent(found['static_lowest'])} to {percent(found['static_highest'])}",
            "beyond the paper",
            (
                f"It needs lambda above the radius, so it removes nothing on {listed(idle)}. "
                if idle
                else ""
            )
            + f"The gap-safe rule removes {percent(found['gap_safe_lowest'])} to "
            f"{percent(found['gap_safe_highest'])}.",
        ),
    ]


def tables(stored: Results) -> list[Sheet]:
    """Shares removed."""
    shares = stored["settings"]["shares"]
    rows = tuple(
        (panel["set"], number(panel["radius"]), f"{share:g}",
         *(percent(panel[rule][place]) for rule in RULES))
        for panel in stored["results"]["panels"]
        for place, share in list(enumerate(shares))[::2]
    )  # fmt: skip
    columns = ("set", "radius / spectral", "lambda / largest", *RULES.values())
    return [Sheet("Share of all features", columns, rows)]


def pictures(stored: Results) -> list[Picture]:
    """A panel for every set and radius."""
    caption = "Share of features proved zero against lambda over its largest value."
    return [Picture(partial(_draw, stored), (7.2, 4.6), caption)]


def _draw(stored: Results, figure: Any) -> None:
    panels, shares = stored["results"]["panels"], stored["settings"]["shares"]
    axes = np.ravel(figure.subplots((len(panels) + 1) // 2, 2, sharex=True, sharey=True))
    for ax, panel in zip(axes, panels, strict=False):
        for place, (rule, name) in enumerate(RULES.items()):
            style = ":" if rule == "zero" else "-"
            colour = "0.5" if rule == "zero" else PALETTE[place]
            ax.plot(
                shares, [100 * value for value in panel[rule]], style, color=colour, label=name,
                marker="o" if rule != "zero" else None, markersize=3,
            )  # fmt: skip
        title = f"{panel['set']}, radius {panel['radius']:g} x spectral"
        tidy(ax, "lambda / largest", "% of features", title, xscale="log")
        ax.set_ylim(-3, 103)
        ax.label_outer()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
