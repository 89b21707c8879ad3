"""Table 2: 5-fold cross-validation on the full data and on the sketch, and the saving factor."""

from __future__ import annotations

from typing import Any

import numpy as np
from benchmarks.harness import timed
from benchmarks.pipeline import cross_validated

import sketchlasso as sl
from reproduction.barrier import solve_barrier
from reproduction.contenders import CONTENDERS, clarabel_on_sketch, every_fold, one_full_solve
from reproduction.data import SEED, SETS, Split, folds, load
from reproduction.experiment import Finding, Plan, Results, Say, Section, Sheet, judged
from reproduction.paper_figures import PAPER
from reproduction.words import count, factor, listed, number, quoted, seconds, share

TITLE = "Table 2: cross-validation, full data against sketch"

PEERS = [name for name in CONTENDERS if name != "full_conic"]
QUICK = {"Gisette": ("digits", "stand-in of the quick form: scikit-learn's digits")}
FOLDS, FEW_ALPHAS, PENALTY, PEER_RATIO, PEER_TOL = 5, 5, 0.1, 1e-2, 1e-3
GOAL = 10_000.0


def run(plan: Plan, say: Say) -> Section:
    """Every set: ours, generic solvers on the sketch and on the full data, and the peers."""
    rank, alphas = (20, 10) if plan.quick else (50, 100)
    rows = [
        {
            "paper": theirs,
            "data": data,
            "standing": standing,
            **_one_set(data, rank, alphas, plan, say),
        }
        for theirs, (data, standing) in (QUICK if plan.quick else SETS).items()
    ]
    standings = "; ".join(f"{row['paper']}: {row['standing']}" for row in rows)
    problems, few = FOLDS * alphas, FOLDS * FEW_ALPHAS
    return Section(
        f"Ours: sketch of rank {rank}, {FOLDS} folds x {alphas} penalties down to 0.001 of the "
        f"largest ({count(problems)} problems, relative gap 1e-6), scores on held-out rows and the "
        "refit; wall time, median of the repeats. Full model: Clarabel, a generic second-order "
        "solver of Mosek's class, solves one square-root LASSO on the training rows of the first "
        f"fold at {PENALTY:g} of the largest penalty; the loop is that time multiplied by the "
        "number of problems, an extrapolation. Where it does not finish within its limit it is "
        "timed on fewer rows and extended in proportion to the rows, a lower bound: the measured "
        "growth is faster. The peers solve LASSO paths (skglm: the square-root LASSO) on the "
        f"same folds, {alphas} penalties down to {PEER_RATIO:g} of the largest, tol {PEER_TOL:g}.",
        f"{standings}. Clarabel instead of Mosek. The paper does not say how many penalties it "
        "tried; a sketch pays more the more problems share it, so the factor for few penalties is "
        "given too. Peers get a shallower grid of penalties than ours, in their favour.",
        [*(_saving(row, problems, few) for row in rows), _goal(rows), _against_peers(rows)],
        [_main(rows, problems), _arithmetic(rows, problems, few), _peers(rows), _scores(rows)],
        results=rows,
    )


def _one_set(data: str, rank: int, alphas: int, plan: Plan, say: Say) -> Results:
    split = load(data, plan.rows)
    row: Results = {"shape": f"{split.X.shape[0]:,} x {split.X.shape[1]:,}"}
    row |= _ours(split, rank, alphas, 1 if plan.quick else 3) | _generic(split, rank)
    say(f"{data}: ours {row['ours']['seconds']:.2f} s")
    # The dense set is small enough for a whole solve of the full data.
    dense = data == "gisette_like"
    budget = None if plan.quick else plan.budget
    patience = None if budget is None else budget * (12.0 if dense else 2.0)
    first = 1200 if dense else 300
    task: Results = {"data": data, "rows": plan.rows, "folds": FOLDS, "penalty": PENALTY}
    task |= {"alphas": alphas, "ratio": PEER_RATIO, "tol": PEER_TOL}
    row["full"] = one_full_solve({**task, "first_rows": first}, patience)
    say(f"{data}: Clarabel, {row['full']['words']}")
    problems, one, sketched = FOLDS * alphas, row["full"]["one"], row["conic"]["seconds"]
    row["generic_seconds"] = row["power_seconds"] + problems * sketched
    row["full_seconds"] = None if one is None else problems * one
    row["factors"] = {
        "plain": _ratio(row["full_seconds"], row["plain"]["seconds"]),
        "ours": _ratio(row["full_seconds"], row["ours"]["seconds"]),
        "generic": _ratio(row["full_seconds"], row["generic_seconds"]),
        "few": _ratio(one and FOLDS * FEW_ALPHAS * one, row["few"]["seconds"]),
    }
    row["peers"] = {}
    # skglm compiles for ten seconds, which the quick form has not.
    for name in PEERS[:-1] if plan.quick else PEERS:
        peer = every_fold(name, task, budget)
        peer["factor"] = _ratio(peer["seconds"], row["plain"]["seconds"])
        row["peers"][name] = peer
        say(f"{data}: {name}, {seconds(peer['seconds'])} {peer['failure']}")
    return row


def _ratio(theirs: float | None, ours: float) -> float | None:
    return None if theirs is None else theirs / ours


def _ours(split: Split, rank: int, alphas: int, repeats: int) -> Results:
    """Medians of our pipelines: the paper's sketch, the response-aware one, few penalties."""
    paper = {"method": "randomized", "radius": "0.1*spectral"}
    kinds: dict[str, tuple[int, dict[str, Any]]] = {
        "plain": (alphas, paper),
        "ours": (alphas, {"method": "response", "radius": "realised"}),
        "few": (FEW_ALPHAS, paper),
    }
    result = {}
    for name, (penalties, options) in kinds.items():
        cross_validated(split, rank=rank, alphas=FEW_ALPHAS, **options)  # compiles
        runs = [
            cross_validated(split, rank=rank, alphas=penalties, **options) for _ in range(repeats)
        ]
        middle = float(np.median([run.seconds for run in runs]))
        result[name] = {**runs[-1].row(), "seconds": middle}
    return result


def _generic(split: Split, rank: int) -> Results:
    """One problem of the first fold on the sketch, by the solvers of the paper's class."""
    made = sl.sketch(split.X, rank=rank, method="power", random_state=SEED)
    first = sl.splitter_rows(folds(len(split.y), FOLDS)[:1], len(split.y))
    build: dict[str, Any] = {"radii": [0.1 * made.radius], "rows": first}
    largest = float(sl.build_problems(made, split.y, alphas=1, **build).batch.alpha[0])
    problem = sl.build_problems(made, split.y, alphas=[PENALTY * largest], **build).batch
    conic, barrier = timed(lambda: clarabel_on_sketch(problem)), solve_barrier(problem)
    return {
        "power_seconds": made.cost.seconds,
        "conic": {"seconds": conic.seconds, "gap": conic.value["gap"]},
        "sketched_barrier": {"seconds": barrier.seconds, "gap": barrier.relative_gap},
    }


def _saving(row: Results, problems: int, few: int) -> Finding:
    """Like with like: the sketch of the paper, with our default solver on it."""
    at_least, factors = row["full"]["at_least"], row["factors"]
    theirs = PAPER["table_2"]["sets"][row["paper"]]["factor"]
    why = f"Clarabel solved nothing within its limit: {row['full']['words']}"
    if factors["plain"] is not None:
        why = (
            f"{count(problems)} problems x {seconds(row['full']['one'])} for one on the full data"
            f"{' (lower bound)' if at_least else ''} = {seconds(row['full_seconds'])} "
            f"(extrapolated), against {seconds(row['plain']['seconds'])} on the paper's sketch "
            "with our default solver, measured. Our own sketch, which knows the response (F1 "
            f"{share(row['ours']['test_f1'])} against {share(row['plain']['test_f1'])}), takes "
            f"{seconds(row['ours']['seconds'])}: {factor(factors['ours'], at_least)}. "
            f"With Clarabel on the sketch too: {factor(factors['generic'], at_least)}; with only "
            f"{count(few)} problems: {factor(factors['few'], at_least)}."
        )
    return Finding(
        f"saving factor on {row['paper']} ({row['data']})",
        quoted(theirs, " x"),
        f"{factor(factors['plain'], at_least)} (extrapolated)",
        judged((factors["plain"] or 0.0) > theirs),
        why,
        timing=True,
    )


def _goal(rows: list[Results]) -> Finding:
    """Whether the saving is past our own goal, which is far above the paper's factors."""
    theirs = [one["factor"] for one in PAPER["table_2"]["sets"].values()]
    plain, ours = ([row["factors"][key] or 0.0 for row in rows] for key in ("plain", "ours"))
    short = [
        f"{row['data']} ({factor(row['factors']['plain'], row['full']['at_least'])})"
        for row in rows
        if (row["factors"]["plain"] or 0.0) < GOAL
    ]
    return Finding(
        f"a saving past {factor(GOAL)}, our own goal",
        f"{quoted(min(theirs))} to {quoted(max(theirs), ' x')}",
        f"{count(len(rows) - len(short))} of {count(len(rows))} sets, extrapolated; "
        f"{factor(min(plain))} to {factor(max(plain))}",
        judged(not short),
        f"{f'Short of it: {listed(short)}' if short else 'Every set is past it'}. With our own "
        "sketch, of which every fold gets its own: "
        f"{factor(min(ours))} to {factor(max(ours))}.",
        timing=True,
    )


def _against_peers(rows: list[Results]) -> Finding:
    best = []
    for row in rows:
        known = {name: peer for name, peer in row["peers"].items() if peer["seconds"] is not None}
        if known:
            name = min(known, key=lambda peer: known[peer]["seconds"])
            times = factor(known[name]["factor"], known[name]["at_least"])
            best.append(f"{times} against {name} on {row['data']}")
    return Finding(
        "against today's fast solvers",
        "not given",
        listed(best) if best else "none is installed",
        "beyond the paper",
        "Cross-validation on the paper's sketch against the fastest LASSO package on each set, "
        "which is a far harder baseline than a generic second-order solver.",
    )


def _main(rows: list[Results], problems: int) -> Sheet:
    columns = (
        "the paper", "here", "size", "full: one solve", f"full: x {count(problems)}",
        "sketch + Clarabel", "the paper's sketch, default solver", "ours",
        "saving factor, the paper's sketch", "saving factor, ours", "the paper's",
    )  # fmt: skip
    table = [
        (
            row["paper"],
            row["data"],
            row["shape"],
            seconds(row["full"]["one"], at_least=row["full"]["at_least"]),
            seconds(row["full_seconds"], True, row["full"]["at_least"]),
            seconds(row["generic_seconds"], True),
            seconds(row["plain"]["seconds"]),
            seconds(row["ours"]["seconds"]),
            factor(row["factors"]["plain"], row["full"]["at_least"]),
            factor(row["factors"]["ours"], row["full"]["at_least"]),
            quoted(PAPER["table_2"]["sets"][row["paper"]]["factor"], " x"),
        )
        for row in rows
    ]
    return Sheet("Cross-validation (~ extrapolated, >= lower bound)", columns, table)


def _arithmetic(rows: list[Results], problems: int, few: int) -> Sheet:
    columns = (
        "data", "measured by Clarabel on the full data", "one solve, all rows",
        f"x {count(problems)}", "over ours", "over the paper's sketch",
        "over the sketch with Clarabel", f"for {count(few)} problems",
    )  # fmt: skip
    table = [
        (
            row["data"],
            row["full"]["words"],
            seconds(row["full"]["one"], at_least=row["full"]["at_least"]),
            seconds(row["full_seconds"], True, row["full"]["at_least"]),
            *(
                factor(row["factors"][key], row["full"]["at_least"])
                for key in ("ours", "plain", "generic", "few")
            ),
        )
        for row in rows
    ]
    return Sheet("The arithmetic of the factors (each rests on one timed solve)", columns, table)


def _peers(rows: list[Results]) -> Sheet:
    columns = ("data", "peer", "folds finished", "seconds", "over the paper's sketch", "remark")
    table = [
        (
            row["data"],
            name,
            peer["folds"],
            seconds(peer["seconds"], peer.get("extrapolated", False), peer["at_least"]),
            factor(peer["factor"], peer["at_least"]),
            peer["failure"] or "-",
        )
        for row in rows
        for name, peer in row["peers"].items()
    ]
    return Sheet("Peers on the full data, all folds (~ extrapolated from some)", columns, table)


def _scores(rows: list[Results]) -> Sheet:
    columns = (
        "data", "F1, the paper's sketch", "F1, ours", "worst gap", "worst gap, ours",
        "gap, Clarabel on the sketch", "gap, barrier on the sketch", "one solve, Clarabel",
        "one solve, barrier",
    )  # fmt: skip
    table = [
        (
            row["data"],
            *(share(row[key]["test_f1"]) for key in ("plain", "ours")),
            *(number(row[key]["worst_gap"], 2) for key in ("plain", "ours")),
            *(number(row[key]["gap"], 2) for key in ("conic", "sketched_barrier")),
            *(seconds(row[key]["seconds"]) for key in ("conic", "sketched_barrier")),
        )
        for row in rows
    ]
    return Sheet("F1 on test rows and gaps; one solve on the sketch", columns, table)
