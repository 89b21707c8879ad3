"""Section 3: features that the paper's safe rule removes, beside stronger rules."""

from __future__ import annotations

from typing import Any

import numpy as np

import sketchlasso as sl
from reproduction.data import SEED, load
from reproduction.drawing import PALETTE, drawn, tidy
from reproduction.experiment import Finding, Plan, Results, Say, Section, Sheet, judged
from reproduction.words import count, listed, number, percent
from sketchlasso.engine import Batch
from sketchlasso.problem import gap_safe_rule, safe_rule

TITLE = "Section 3: safe feature elimination"

RULES = {
    "paper": "the paper's rule",
    "static": "stronger static rule",
    "gap_safe": "gap-safe rule",
    "zero": "truly zero",
}
RADII = (1.0, 0.1)
SHARES = (0.9, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)
SHOWN, TOL = 0.5, 1e-8


def run(plan: Plan, say: Say) -> Section:
    """Shares of features removed, and whether any of them was needed."""
    sets = {"digits": 30, "made_text": 20} if plan.quick else {"digits": 30, "rcv1": 50}
    panels: list[Results] = []
    for name, rank in sets.items():
        split = load(name, plan.rows)
        made = sl.sketch(split.X, rank=min(rank, *split.X.shape), random_state=SEED)
        for radius in RADII:
            panels.append({"set": name, "radius": radius, **_panel(made, split.y, radius)})
        say(f"{name}: rank {made.rank}")
    wrong, shown = sum(panel["wrong"] for panel in panels), SHARES.index(SHOWN)
    spans = {}
    for rule in ("paper", "static", "gap_safe"):
        shares = [panel[rule][shown] for panel in panels]
        spans[rule] = f"{percent(min(shares))} to {percent(max(shares))}"
    idle = [
        f"{panel['set']} at {panel['radius']:g} of the spectral radius"
        for panel in panels
        if panel["paper"][shown] == 0
    ]
    findings = [
        Finding(
            "what the rule discards is zero",
            "proved",
            f"{count(wrong)} wrong removals in {count(len(panels) * len(SHARES))} problems",
            judged(False, wrong == 0),
            "Looked up in the coefficients of the problem solved without the rule.",
        ),
        Finding(
            "how much it removes",
            "no figure",
            f"{spans['paper']} of the features at {SHOWN:g} of the largest lambda; the stronger "
            f"static rule {spans['static']}",
            "beyond the paper",
            (f"It needs lambda above the radius: nothing on {listed(idle)}. " if idle else "")
            + f"The gap-safe rule removes {spans['gap_safe']}.",
        ),
    ]
    table = [
        (panel["set"], number(panel["radius"]), f"{share:g}",
         *(percent(panel[rule][place]) for rule in RULES))
        for panel in panels
        for place, share in list(enumerate(SHARES))[::2]
    ]  # fmt: skip
    columns = ("set", "radius / spectral", "lambda / largest", *RULES.values())
    caption = "Share of features proved zero against lambda over its largest value."
    return Section(
        f"Sketches of {listed(list(sets))}; radius at {listed(RADII)} of the spectral one; "
        f"{len(SHARES)} penalties from {SHARES[0]:g} to {SHARES[-1]:g} of the largest, relative "
        f"gap {TOL:g}. The static rule removes where ||a_j|| <= lambda: as cheap as the paper's "
        "lambda - epsilon, and it contains it. The gap-safe rule uses the final gap. Every problem "
        "is also solved without any rule, and what the paper's rule removes is looked up there.",
        "The paper states the rule and shows no figure of it; it leaves the rule out of its "
        "timings. Both stronger rules are additions.",
        findings,
        [Sheet("Share of all features", columns, table)],
        [drawn(lambda figure: _draw(figure, panels), (7.2, 4.6), caption)],
        panels,
    )


def _panel(made: sl.Sketch, y: np.ndarray, share: float) -> Results:
    radius = share * made.radius
    largest = float(sl.build_problems(made, y, alphas=1, radii=[radius]).batch.alpha[0])
    alphas = largest * np.array(SHARES)
    batch = sl.build_problems(made, y, alphas=alphas, radii=[radius]).batch
    # Solved without any rule: what a rule removes must be zero here.
    solution = sl.solve(batch, settings=sl.Settings(tol=TOL))
    removed = _removed(batch, solution)
    return {
        **{rule: lines.mean(axis=1) for rule, lines in removed.items()},
        "zero": 1.0 - solution.n_nonzero / made.n_features,
        "wrong": int(np.count_nonzero(removed["paper"] & (solution.coef.toarray() != 0))),
    }


def _removed(batch: Batch, solution: sl.Solution) -> dict[str, np.ndarray]:
    """Which features (B, n) each rule removes, the gap-safe rule at the final gap."""
    lines: dict[str, list[np.ndarray]] = {"paper": [], "static": [], "gap_safe": []}
    point, gap = solution.dual_point, solution.gap
    for b in range(batch.n_instances):
        lines["paper"].append(safe_rule(batch, b, float(batch.radius[b])))
        lines["static"].append(safe_rule(batch, b))
        lines["gap_safe"].append(gap_safe_rule(batch, b, point[b], gap[b]))
    return {rule: np.array(rows) for rule, rows in lines.items()}


def _draw(figure: Any, panels: list[Results]) -> None:
    axes = np.ravel(figure.subplots(len(panels) // 2, 2, sharex=True, sharey=True))
    for ax, panel in zip(axes, panels, strict=True):
        for place, (rule, name) in enumerate(RULES.items()):
            zero = rule == "zero"
            style: dict[str, Any] = {"linestyle": ":", "color": "0.5"}
            if not zero:
                style = {"color": PALETTE[place], "marker": "o", "markersize": 3}
            ax.plot(SHARES, [100 * value for value in panel[rule]], label=name, **style)
        title = f"{panel['set']}, radius {panel['radius']:g} x spectral"
        tidy(ax, "lambda / largest", "% of features", title, xscale="log")
        ax.set_ylim(-3, 103)
        ax.label_outer()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
