"""Figure 3: time ratio of the sketched to the full model on random data, and its growth law."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from benchmarks.harness import exponents, interleave
from threadpoolctl import threadpool_limits

import sketchlasso as sl
from reproduction.barrier import solve_barrier
from reproduction.contenders import clarabel_answer, clarabel_on_sketch
from reproduction.data import SEED
from reproduction.drawing import PALETTE, tidy
from reproduction.experiment import Finding, Picture, Plan, Report, Results, Sheet
from reproduction.words import count, number, seconds

TITLE = "Figure 3: time ratio on random data"

# The pairs of which a ratio is taken: sketched over full.
PAIRS = {
    "conic": ("Clarabel", "the same generic second-order solver on both sides"),
    "barrier": ("barrier", "our log barrier, the paper's method, on both sides"),
    "newton": ("default", "our default solver on the sketch, Clarabel on the full data"),
}


def settings(plan: Plan) -> Results:
    """Sizes, repetitions and the one penalty."""
    sizes = [30, 40, 50, 60] if plan.quick else list(range(100, 601, 25))
    return {
        "quick": plan.quick,
        "sizes": sizes,
        "samples_per_feature": 5,
        "rank": 10,
        # Fewest and most; after the fewest, only until a size has taken `seconds_a_size`.
        "repetitions": [2, 2] if plan.quick else [5, 40],
        "seconds_a_size": 16.0,
        "threads": 1,
        "penalty_share": 0.5,
        "radius_share": 0.1,
        "tol": 1e-6,
        # An exponent this close to the predicted one counts as reproduced.
        "tolerance": 0.35,
    }


def compute(chosen: Results, report: Report) -> Results:
    """Ratios of every size, and their exponents over the larger half of the sizes."""
    rows = [_one_size(n, chosen) for n in _warmed(chosen, report)]
    half = rows[len(rows) // 2 :]
    laws = {}
    for pair in PAIRS:
        values = [row["ratio"][pair]["median"] for row in rows]
        laws[pair] = {
            "exponent": exponents([row["n"] for row in rows], values)[0],
            "exponent_larger_half": exponents([row["n"] for row in half], values[len(rows) // 2 :])[
                0
            ],
            "first": values[0],
            "last": values[-1],
        }
    return {"rows": rows, "laws": laws, "worst_gap": max(row["worst_gap"] for row in rows)}


def _warmed(chosen: Results, report: Report) -> Any:
    """The sizes, after one run that does not count: kernels are compiled in it."""
    _one_size(chosen["sizes"][0], {**chosen, "repetitions": [1, 1]})
    for n in chosen["sizes"]:
        report(f"n = {n}, m = {chosen['samples_per_feature'] * n}")
        yield n


def _one_size(n: int, chosen: Results) -> Results:
    rng = np.random.default_rng(SEED + n)
    X = rng.standard_normal((chosen["samples_per_feature"] * n, n))
    y = X[:, :5].sum(axis=1) + rng.standard_normal(len(X))
    alpha = chosen["penalty_share"] * float(np.abs(X.T @ y).max() / np.linalg.norm(y))
    gaps: list[float] = []
    runs: dict[str, Callable[[], Any]] = {
        "full conic": partial(_full_conic, X, y, alpha, gaps),
        "full barrier": partial(_full_barrier, X, y, alpha, chosen["tol"], gaps),
        **{
            f"sketched {solver}": partial(_sketched, X, y, alpha, solver, chosen, gaps)
            for solver in PAIRS
        },
    }
    # One thread: a law of growth should not measure where threading starts to pay.
    least, most = chosen["repetitions"]
    with threadpool_limits(limits=chosen["threads"]):
        measured = interleave(
            runs, most, warm_up=False, least=least, enough=chosen["seconds_a_size"]
        )
    found = {name: own.seconds for name, own in measured.items()}
    full = {"conic": "full conic", "barrier": "full barrier", "newton": "full conic"}
    ratios = {
        pair: [
            ours / theirs
            for ours, theirs in zip(found[f"sketched {pair}"], found[full[pair]], strict=True)
        ]
        for pair in PAIRS
    }
    return {
        "n": n,
        "m": len(X),
        "repetitions": len(found["full conic"]),
        "seconds": {name: _spread(values) for name, values in found.items()},
        "ratio": {pair: _spread(values) for pair, values in ratios.items()},
        "worst_gap": max(gaps),
    }


def _spread(values: list[float]) -> dict[str, float]:
    """Median, and the range in which the middle half lies."""
    low, middle, high = np.quantile(np.asarray(values, dtype=np.float64), [0.25, 0.5, 0.75])
    return {"median": float(middle), "low": float(low), "high": float(high)}


def _full_conic(X: np.ndarray, y: np.ndarray, alpha: float, gaps: list[float]) -> None:
    """The full problem as stated."""
    gaps.append(clarabel_answer(X, y, alpha)["gap"])


def _full_barrier(
    X: np.ndarray, y: np.ndarray, alpha: float, tol: float, gaps: list[float]
) -> None:
    """The full problem, first rotated to n x n, which is the best that the barrier can get."""
    made = sl.sketch(X, method="exact", radius=0)
    batch = sl.build_problems(made, y, alphas=[alpha], fit_intercept=False).batch
    gaps.append(solve_barrier(batch, tol).relative_gap)


def _sketched(
    X: np.ndarray, y: np.ndarray, alpha: float, solver: str, chosen: Results, gaps: list[float]
) -> None:
    """Sketch and solve; Clarabel gets ||c - R'w, s|| + radius ||w|| + alpha ||w||_1."""
    made = sl.sketch(X, rank=chosen["rank"], method="power", random_state=SEED)
    batch = sl.build_problems(
        made,
        y,
        alphas=[alpha],
        radii=[chosen["radius_share"] * made.radius],
        fit_intercept=False,
    ).batch
    if solver == "conic":
        gaps.append(clarabel_on_sketch(batch)["gap"])
        return
    if solver == "barrier":
        gaps.append(solve_barrier(batch, chosen["tol"]).relative_gap)
        return
    options = sl.Settings(tol=chosen["tol"])
    gaps.append(float(sl.solve(batch, settings=options).relative_gap[0]))


def protocol(stored: Results) -> str:
    """What was done."""
    chosen = stored["settings"]
    return (
        f"Dense normal data with {chosen['samples_per_feature']} n samples of n features, "
        f"{len(chosen['sizes'])} sizes from n = {chosen['sizes'][0]} to {chosen['sizes'][-1]}, "
        f"{_repetitions(chosen)} repetitions per size, "
        "contenders in turns, "
        f"{chosen['threads']} thread of BLAS; one penalty, "
        f"{chosen['penalty_share']:g} of the largest; rank {chosen['rank']} by power iteration, "
        "the paper's sketch, whose time is counted. The full problem is given to Clarabel as "
        "stated; the barrier gets it rotated to n x n by an exact decomposition, which is timed. "
        "Exponents are slopes on logarithmic axes, of the median ratios."
    )


def _repetitions(chosen: Results) -> str:
    least, most = chosen["repetitions"]
    return count(least) if least == most else f"{count(least)} to {count(most)}"


def differs(stored: Results) -> str:
    """What is not as in the paper."""
    chosen, quoted = stored["settings"], stored["paper"]
    return (
        f"Clarabel instead of Mosek, {_repetitions(chosen)} repetitions instead of "
        f"{count(quoted['repetitions'])}, with the middle half of them shown. The paper does not "
        "state its rank, penalty or radius; the radius here is "
        f"{chosen['radius_share']:g} of the spectral one, because on random data, which has no "
        "low-rank structure at all, the spectral radius would leave no feature."
    )


def findings(stored: Results) -> list[Finding]:
    """Exponents against the predicted one."""
    chosen, quoted = stored["settings"], stored["paper"]
    result = []
    for pair, (name, words) in PAIRS.items():
        law = stored["results"]["laws"][pair]
        slope = law["exponent"]
        if slope <= quoted["exponent"] - chosen["tolerance"]:
            verdict: Any = "better"
        elif slope <= quoted["exponent"] + chosen["tolerance"]:
            verdict = "reproduced"
        else:
            verdict = "not reproduced"
        result.append(
            Finding(
                f"the time ratio falls like 1/n ({name})",
                f"exponent {number(quoted['exponent'])}",
                f"exponent {number(slope)}; {number(law['exponent_larger_half'])} over the larger "
                "half",
                verdict,
                f"With {words} the ratio goes from {number(law['first'])} at n = "
                f"{chosen['sizes'][0]} to {number(law['last'])} at n = {chosen['sizes'][-1]}.",
                timing=True,
            )
        )
    return result


def tables(stored: Results) -> list[Sheet]:
    """Medians of every size."""
    rows = tuple(
        (
            row["n"],
            row["m"],
            row["repetitions"],
            *(seconds(row["seconds"][name]["median"]) for name in row["seconds"]),
            *(number(row["ratio"][pair]["median"]) for pair in PAIRS),
        )
        for row in stored["results"]["rows"]
    )
    names = list(stored["results"]["rows"][0]["seconds"])
    columns = ("n", "m", "runs", *names, *(f"ratio, {name}" for name, _ in PAIRS.values()))
    return [Sheet("Median times, sketch included, and ratios sketched / full", columns, rows)]


def pictures(stored: Results) -> list[Picture]:
    """Ratios on logarithmic axes with the predicted slope."""
    caption = (
        "Time of the sketched model over the full model's, sketch included; bands hold the middle "
        "half of the repetitions. Dotted: the predicted slope, through the first ratio."
    )
    return [Picture(partial(_draw, stored), (7.0, 4.0), caption)]


def _draw(stored: Results, figure: Any) -> None:
    ax = figure.add_subplot()
    rows = stored["results"]["rows"]
    sizes = np.array([row["n"] for row in rows], dtype=np.float64)
    for place, (pair, (name, _)) in enumerate(PAIRS.items()):
        middle, low, high = (
            np.array([row["ratio"][pair][key] for row in rows]) for key in ("median", "low", "high")
        )
        slope = stored["results"]["laws"][pair]["exponent"]
        ax.plot(
            sizes, middle, "o-", color=PALETTE[place], markersize=3,
            label=f"{name}, fitted exponent {number(slope)}",
        )  # fmt: skip
        ax.fill_between(sizes, low, high, color=PALETTE[place], alpha=0.25, linewidth=0)
        if place == 0:
            predicted = middle[0] * (sizes / sizes[0]) ** stored["paper"]["exponent"]
            ax.plot(sizes, predicted, ":", color="0.5", label="predicted, 1/n")
    tidy(ax, "features n (samples: 5 n)", "time sketched / time full", xscale="log", yscale="log")
    ax.legend()
