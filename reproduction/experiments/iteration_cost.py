"""Section 5: cost of an iteration of the barrier method against k, n and m, others beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
from benchmarks.harness import exponents
from threadpoolctl import threadpool_limits

import sketchlasso as sl
from reproduction.barrier import Run, solve_barrier
from reproduction.data import SEED
from reproduction.drawing import PALETTE, drawn, tidy
from reproduction.experiment import Finding, Plan, Results, Say, Section, Sheet, judged
from reproduction.first_order import solve_first_order
from reproduction.paper_figures import PAPER
from reproduction.words import number, seconds
from sketchlasso.engine import Batch, sketch_from_factors

TITLE = "Section 5: cost of an iteration"

AXES = {"n": "features n", "k": "rank k", "m": "samples m"}
PENALTY, NOISE, TOL = 0.1, 0.1, 1e-6
# An exponent this close to nought counts as none at all.
FLAT = 0.2


def newton(batch: Batch, tol: float) -> Run:
    """Our default solver, one thread."""
    settings = sl.Settings(tol=tol, n_threads=1)
    solution = sl.solve(batch, settings=settings)
    gap, coef = float(solution.relative_gap[0]), solution.coef.toarray()[0]
    return Run(solution.seconds, int(solution.steps[0]), gap, coef)


SOLVERS = {"barrier": solve_barrier, "first-order": solve_first_order, "newton": newton}


def run(plan: Plan, say: Say) -> Section:
    """Seconds per step of the solvers, for every size."""
    base = {"n": 1000, "k": 20, "m": 500} if plan.quick else {"n": 4000, "k": 40, "m": 1000}
    doublings, repeats = (3, 1) if plan.quick else (5, 5)
    newton(_problem({**base, "n": 200}), TOL)  # compiles
    laws: list[Results] = []
    for axis in AXES:
        sizes = [base[axis] // 2 * 2**i for i in range(doublings)]
        for name, solver in SOLVERS.items():
            runs = []
            for size in sizes:
                batch = _problem({**base, axis: size})
                with threadpool_limits(limits=1):
                    tries = [solver(batch, TOL) for _ in range(repeats)]
                runs.append(min(tries, key=lambda run: run.seconds))
            steps = [run.seconds / max(run.steps, 1) for run in runs]
            slope, last = exponents(sizes, steps)
            law: Results = {"axis": axis, "solver": name, "sizes": sizes, "per_step": steps}
            law |= {"exponent": slope, "last": last, "steps": [run.steps for run in runs]}
            laws.append({**law, "whole": [run.seconds for run in runs]})
            say(f"{name} in {axis}: exponent {slope:.2f}")
    table = [
        (AXES[law["axis"]], law["solver"], size, seconds(step), steps, seconds(whole))
        for law in laws
        for size, step, steps, whole in zip(
            law["sizes"], law["per_step"], law["steps"], law["whole"], strict=True
        )
    ]
    columns = ("grows", "solver", "to", "one step", "steps", "whole solve")
    caption = "Seconds per step on logarithmic axes, one size growing, the others fixed."
    return Section(
        "One problem over a generated sketch, one size growing and the others at "
        f"{', '.join(f'{name} = {value:,}' for name, value in base.items())}; seconds of the whole "
        f"solve (relative gap {TOL:g}, one thread) over its steps, the fastest of "
        f"{repeats}. Exponents are slopes on logarithmic axes.",
        "The paper derives the cost and does not measure it. It inverts the Hessian, a block "
        "diagonal plus k + 2 dyads, in O(k n^2); the matrix inversion lemma needs only "
        "O(n k^2 + k^3), which is what our barrier does.",
        _findings(laws),
        [Sheet("Cost of a step", columns, table)],
        [drawn(lambda figure: _draw(figure, laws), (7.2, 2.9), caption)],
        laws,
    )


def _problem(size: dict[str, int]) -> Batch:
    """One problem over a sketch of m samples."""
    rng = np.random.default_rng(SEED)
    n, k, m = size["n"], size["k"], size["m"]
    Q = np.linalg.qr(rng.standard_normal((m, k)))[0]
    P = rng.standard_normal((n, k))
    made = sketch_from_factors(P, Q, radius=1.0)
    y = Q @ (P[:5].sum(axis=0) + NOISE * rng.standard_normal(k))
    y = y + NOISE * np.linalg.norm(y) * rng.standard_normal(m) / np.sqrt(m)
    common: dict[str, Any] = {"radii": [1.0], "fit_intercept": False}
    largest = float(sl.build_problems(made, y, alphas=1, **common).batch.alpha[0])
    return sl.build_problems(made, y, alphas=[PENALTY * largest], **common).batch


def _findings(laws: list[Results]) -> list[Finding]:
    """Exponents in n, k and m."""
    paper, of = PAPER["iteration_cost"], {(law["solver"], law["axis"]): law for law in laws}
    slope = {axis: of["barrier", axis]["exponent"] for axis in AXES}
    claims = {
        "n": (
            "cost of a barrier iteration in n",
            judged(slope["n"] < paper["exponent_n"], True),
            "The structured Hessian is inverted in time linear in n, not quadratic.",
        ),
        "k": (
            "cost of a barrier iteration in k",
            judged(False, slope["k"] <= paper["exponent_k"] + FLAT),
            "The price of being linear in n is a term k^2, which shows at large k.",
        ),
        "m": (
            "the number of samples m does not matter once the sketch is made",
            judged(False, abs(slope["m"]) <= FLAT),
            "Samples enter through k x k statistics alone.",
        ),
    }
    return [
        Finding(
            claim,
            f"exponent {number(paper[f'exponent_{axis}'])}",
            f"exponent {number(slope[axis])}; {number(of['newton', axis]['exponent'])} for our "
            "Newton",
            verdict,
            f"The last doubling gives {number(of['barrier', axis]['last'])} for the barrier. {why}",
            timing=True,
        )
        for axis, (claim, verdict, why) in claims.items()
    ]


def _draw(figure: Any, laws: list[Results]) -> None:
    axes = figure.subplots(1, len(AXES), sharey=True)
    for ax, axis in zip(axes, AXES, strict=True):
        for place, law in enumerate(law for law in laws if law["axis"] == axis):
            ax.plot(
                law["sizes"], [1e3 * step for step in law["per_step"]], "o-",
                color=PALETTE[place], markersize=3,
                label=f"{law['solver']}, exponent {number(law['exponent'], 2)}",
            )  # fmt: skip
        tidy(ax, AXES[axis], "", xscale="log", yscale="log")
        ax.legend(fontsize=7)
    axes[0].set_ylabel("milliseconds per step")
