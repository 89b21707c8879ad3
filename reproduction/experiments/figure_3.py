"""Figure 3: time ratio of the sketched to the full model on random data, and its growth law."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.harness import exponents, interleave
from threadpoolctl import threadpool_limits

import sketchlasso as sl
from reproduction.barrier import solve_barrier
from reproduction.contenders import clarabel_answer, clarabel_on_sketch
from reproduction.data import SEED
from reproduction.drawing import PALETTE, drawn, tidy
from reproduction.experiment import Finding, Plan, Results, Say, Section, Sheet, judged
from reproduction.paper_figures import PAPER
from reproduction.words import count, number, seconds

TITLE = "Figure 3: time ratio on random data"

# Sketched over full: name, words, contender on the full data.
PAIRS = {
    "conic": ("Clarabel", "the same generic second-order solver on both sides", "conic"),
    "barrier": ("barrier", "our log barrier, the paper's method, on both sides", "barrier"),
    "newton": ("default", "our default solver on the sketch, Clarabel on the full data", "conic"),
}
SAMPLES_PER_FEATURE, RANK, PENALTY, RADIUS_SHARE, TOL = 5, 10, 0.5, 0.1, 1e-6
# An exponent this close to the predicted one counts as reproduced.
TOLERANCE = 0.35


def run(plan: Plan, say: Say) -> Section:
    """Ratios of every size, and their exponents over all sizes and the larger half."""
    sizes = [30, 40, 50, 60] if plan.quick else list(range(100, 601, 25))
    repeats, paper = 2 if plan.quick else 9, PAPER["figure_3"]
    _one_size(sizes[0], 1)  # compiles
    rows = []
    for n in sizes:
        say(f"n = {n}, m = {SAMPLES_PER_FEATURE * n}")
        rows.append(_one_size(n, repeats))
    findings, half, slopes = [], len(rows) // 2, {}
    for pair, (name, words, _) in PAIRS.items():
        ratios = [row[pair][1] for row in rows]
        slopes[pair] = exponents(sizes, ratios)[0]
        larger = exponents(sizes[half:], ratios[half:])[0]
        off = slopes[pair] - paper["exponent"]
        findings.append(
            Finding(
                f"the time ratio falls like 1/n ({name})",
                f"exponent {number(paper['exponent'])}",
                f"exponent {number(slopes[pair])}; {number(larger)} over the larger half",
                judged(off <= -TOLERANCE, off <= TOLERANCE),
                f"With {words} the ratio goes from {number(ratios[0])} at n = {sizes[0]} to "
                f"{number(ratios[-1])} at n = {sizes[-1]}.",
                timing=True,
            )
        )
    names = list(rows[0]["seconds"])
    columns = ("n", "m", *names, *(f"ratio, {name}" for name, _, _ in PAIRS.values()))
    table = [
        (
            row["n"],
            SAMPLES_PER_FEATURE * row["n"],
            *(seconds(row["seconds"][name]) for name in names),
            *(number(row[pair][1]) for pair in PAIRS),
        )
        for row in rows
    ]
    caption = (
        "Time of the sketched model over the full model's, sketch included; bands hold the middle "
        "half of the repetitions. Dotted: the predicted slope, through the first ratio."
    )
    return Section(
        f"Dense normal data with {SAMPLES_PER_FEATURE} n samples of n features, {len(sizes)} sizes "
        f"from n = {sizes[0]} to {sizes[-1]}, {repeats} repetitions per size, contenders in turns, "
        f"one thread; one penalty, {PENALTY:g} of the largest; rank {RANK} by power iteration, the "
        "paper's sketch, whose time is counted. The full problem is given to Clarabel as stated; "
        "the barrier gets it rotated to n x n by an exact decomposition, which is timed. Exponents "
        "are slopes on logarithmic axes, of the median ratios.",
        f"Clarabel instead of Mosek, {repeats} repetitions instead of "
        f"{count(paper['repetitions'])}, with the middle half of them shown. The paper does not "
        f"state its rank, penalty or radius; the radius here is {RADIUS_SHARE:g} of the spectral "
        "one, because on random data, which has no low-rank structure at all, the spectral radius "
        "would leave no feature.",
        findings,
        [Sheet("Median times, sketch included, and ratios sketched / full", columns, table)],
        [drawn(lambda figure: _draw(figure, rows, slopes), (7.0, 4.0), caption)],
        rows,
    )


def _one_size(n: int, repeats: int) -> Results:
    """Median seconds of every contender, and quartiles of the ratios."""
    rng = np.random.default_rng(SEED + n)
    X = rng.standard_normal((SAMPLES_PER_FEATURE * n, n))
    y = X[:, :5].sum(axis=1) + rng.standard_normal(len(X))
    alpha = PENALTY * float(np.abs(X.T @ y).max() / np.linalg.norm(y))

    def sketched(solve: Callable[[Any], object]) -> Callable[[], object]:
        def work() -> object:
            made = sl.sketch(X, rank=RANK, method="power", random_state=SEED)
            radii = [RADIUS_SHARE * made.radius]
            return solve(
                sl.build_problems(made, y, alphas=[alpha], radii=radii, fit_intercept=False).batch
            )

        return work

    def full_barrier() -> object:
        made = sl.sketch(X, method="exact", radius=0)
        batch = sl.build_problems(made, y, alphas=[alpha], fit_intercept=False).batch
        return solve_barrier(batch, TOL)

    contenders: dict[str, Callable[[], object]] = {
        "full conic": lambda: clarabel_answer(X, y, alpha),
        "full barrier": full_barrier,
        "sketched conic": sketched(clarabel_on_sketch),
        "sketched barrier": sketched(lambda batch: solve_barrier(batch, TOL)),
        "sketched newton": sketched(lambda batch: sl.solve(batch, settings=sl.Settings(tol=TOL))),
    }
    # One thread: a law of growth should not measure where threading starts to pay.
    with threadpool_limits(limits=1):
        measured = interleave(contenders, repeats, warm_up=False)
    row: Results = {"n": n, "seconds": {name: one.median for name, one in measured.items()}}
    for pair, (_, _, full) in PAIRS.items():
        ours, theirs = (
            np.array(measured[name].seconds) for name in (f"sketched {pair}", f"full {full}")
        )
        row[pair] = np.quantile(ours / theirs, [0.25, 0.5, 0.75])
    return row


def _draw(figure: Any, rows: list[Results], slopes: dict[str, float]) -> None:
    ax = figure.add_subplot()
    sizes = np.array([row["n"] for row in rows], dtype=np.float64)
    for place, (pair, (name, _, _)) in enumerate(PAIRS.items()):
        low, middle, high = np.array([row[pair] for row in rows]).T
        ax.plot(
            sizes, middle, "o-", color=PALETTE[place], markersize=3,
            label=f"{name}, fitted exponent {number(slopes[pair])}",
        )  # fmt: skip
        ax.fill_between(sizes, low, high, color=PALETTE[place], alpha=0.25, linewidth=0)
        if place == 0:
            predicted = middle[0] * (sizes / sizes[0]) ** PAPER["figure_3"]["exponent"]
            ax.plot(sizes, predicted, ":", color="0.5", label="predicted, 1/n")
    tidy(ax, "features n (samples: 5 n)", "time sketched / time full", xscale="log", yscale="log")
    ax.legend()
