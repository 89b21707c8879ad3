"""The sheets of table 2: the paper's table, its arithmetic, the peers, and what was gained."""

from __future__ import annotations

from reproduction.experiment import Results, Sheet
from reproduction.words import count, factor, number, quoted, seconds, share


def tables(stored: Results) -> list[Sheet]:
    """The paper's table, its arithmetic, the peers, and what was gained."""
    return [
        _main_sheet(stored),
        _arithmetic_sheet(stored),
        _peer_sheet(stored),
        _score_sheet(stored),
    ]


def _main_sheet(stored: Results) -> Sheet:
    found, theirs = stored["results"], stored["paper"]["sets"]
    rows = tuple(
        (
            row["paper"],
            row["data"],
            f"{count(row['samples'])} x {count(row['features'])}",
            seconds(row["full"]["one"], at_least=row["full"]["at_least"]),
            seconds(row["full_seconds"], True, row["full"]["at_least"]),
            seconds(row["generic_seconds"], True),
            seconds(row["plain"]["seconds"]),
            seconds(row["ours"]["seconds"]),
            factor(row["factor_plain"], row["full"]["at_least"]),
            factor(row["factor"], row["full"]["at_least"]),
            quoted(theirs[row["paper"]]["factor"], " x"),
        )
        for row in found["rows"]
    )
    heads = (
        "the paper",
        "here",
        "size",
        "full: one solve",
        f"full: x {count(found['instances'])}",
        "sketch + Clarabel",
        "the paper's sketch, default solver",
        "ours",
        "saving factor, the paper's sketch",
        "saving factor, ours",
        "the paper's",
    )
    return Sheet("Cross-validation (~ extrapolated, >= lower bound)", heads, rows)


def _arithmetic_sheet(stored: Results) -> Sheet:
    found = stored["results"]
    rows: list[tuple[str, ...]] = []
    for row in found["rows"]:
        clarabel, barrier = row["full"], row["full_barrier"]
        rows.append(
            (
                row["data"],
                "Clarabel",
                clarabel["words"],
                seconds(clarabel["one"], at_least=clarabel["at_least"]),
                seconds(row["full_seconds"], True, clarabel["at_least"]),
                *(
                    factor(row[key], clarabel["at_least"])
                    for key in ("factor", "factor_plain", "factor_generic", "factor_few")
                ),
            )
        )
        rows.append(
            (
                "",
                "our barrier",
                barrier["words"],
                seconds(barrier["one"], at_least=barrier["at_least"]),
                seconds(row["barrier_seconds"], True, barrier["at_least"]),
                factor(row["factor_barrier"], barrier["at_least"]),
                "-",
                "-",
                "-",
            )
        )
    heads = (
        "data",
        "full data by",
        "measured",
        "one solve, all rows",
        f"x {count(found['instances'])}",
        "over ours",
        "over the paper's sketch",
        "over the sketch with Clarabel",
        f"for {count(found['few_instances'])} problems",
    )
    return Sheet(
        "The arithmetic of the factors (each rests on one timed solve)", heads, tuple(rows)
    )


def _peer_sheet(stored: Results) -> Sheet:
    rows = tuple(
        (
            row["data"],
            name,
            count(peer["folds"]),
            seconds(peer["seconds"], peer.get("extrapolated", False), peer["at_least"]),
            factor(peer["factor"], peer["at_least"]),
            peer["failure"] or "-",
        )
        for row in stored["results"]["rows"]
        for name, peer in row["peers"].items()
    )
    heads = ("data", "peer", "folds finished", "seconds", "over the paper's sketch", "remark")
    return Sheet("Peers on the full data, all folds (~ extrapolated from some)", heads, rows)


def _score_sheet(stored: Results) -> Sheet:
    rows = tuple(
        (
            row["data"],
            share(row["plain"]["test_f1"]),
            share(row["ours"]["test_f1"]),
            number(row["plain"]["worst_gap"], 2),
            number(row["ours"]["worst_gap"], 2),
            number(row["generic"]["conic"]["gap"], 2),
            number(row["generic"]["barrier"]["gap"], 2),
            seconds(row["generic"]["conic"]["seconds"]),
            seconds(row["generic"]["barrier"]["seconds"]),
        )
        for row in stored["results"]["rows"]
    )
    heads = (
        "data",
        "F1, the paper's sketch",
        "F1, ours",
        "worst gap",
        "worst gap, ours",
        "gap, Clarabel on the sketch",
        "gap, barrier on the sketch",
        "one solve, Clarabel",
        "one solve, barrier",
    )
    return Sheet("What was gained: F1 on test rows and gaps; one solve on the sketch", heads, rows)
