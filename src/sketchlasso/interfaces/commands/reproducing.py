"""`sketchlasso paper`: every table and figure of the paper, computed again, as a report."""

from __future__ import annotations

import os
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

import sketchlasso as sl
from sketchlasso.interfaces.commands.report import Report, Sheet
from sketchlasso.interfaces.commands.screen import Screen
from sketchlasso.interfaces.exits import Interrupted

__all__ = ["paper"]

DATA_VARIABLE = "SKETCHLASSO_DATA"
FEWEST_ROWS = 50
Names = Annotated[
    list[str] | None,
    typer.Option("--only", help="Run these experiments only (repeat it, or separate by commas)."),
]


def paper(
    screen: Screen,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder of the report and of its results files.")
    ] = Path("paper-report"),
    only: Names = None,
    again: Annotated[
        list[str] | None,
        typer.Option("--again", help="Run these experiments again though they have results."),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Generated and bundled data of small sizes: does it run?"),
    ] = False,
    budget: Annotated[
        float, typer.Option(help="Seconds that one contender may take on one data set.")
    ] = 45.0,
    rows: Annotated[
        int | None, typer.Option(help="At most so many rows of every data set: a first look.")
    ] = None,
) -> Report:
    """Reproduce the paper: every table and figure, ours beside its own.

    Results are kept one file an experiment, so a run that was stopped goes on where it was, and
    what is finished is not run again unless settings or code have changed. Without --quick the
    data sets are read from the folder that SKETCHLASSO_DATA names.
    """
    # Loading the experiments takes a while, which other commands should not.
    from sketchlasso.interfaces.paper import Plan, run_experiments, write_report
    from sketchlasso.interfaces.paper.experiments import EXPERIMENTS

    _check_drawing()
    _check_numbers(quick, budget, rows)
    known = [experiment.name for experiment in EXPERIMENTS]
    wanted, repeated = _names(only, known), _names(again, known)
    chosen = [one for one in EXPERIMENTS if not wanted or one.name in wanted]
    start = perf_counter()
    try:
        outcomes = run_experiments(
            output, chosen, Plan(quick, budget, rows), again=repeated, tell=screen.tell
        )
    except Interrupted:
        write_report(output, EXPERIMENTS)
        screen.tell(f"what is finished is in {output}; the same command goes on from there")
        raise
    document = write_report(output, EXPERIMENTS)
    states: dict[str, str] = {one.name: one.status for one in outcomes}
    verdicts = [str(row[3]) for row in document.summary.rows]
    return _told(output, states, verdicts, perf_counter() - start)


def _told(output: Path, states: dict[str, str], verdicts: list[str], seconds: float) -> Report:
    """Where the report is, and what it says in the whole."""
    counts = tuple((verdict, verdicts.count(verdict)) for verdict in dict.fromkeys(verdicts))
    unfinished = [
        (state, ", ".join(name for name, own in states.items() if own == state))
        for state in ("failed", "skipped")
        if state in states.values()
    ]
    return Report(
        data={
            "command": "paper",
            "output": str(output.absolute()),
            "experiments": states,
            "verdicts": dict(counts),
            "seconds": seconds,
        },
        facts=(
            ("report", str(output / "paper.html")),
            ("for printing", str(output / "paper.pdf")),
            ("for machines", str(output / "results.json")),
            *unfinished,
        ),
        sheets=(Sheet("verdicts", ("verdict", "claims"), counts),),
        fell_short="failed" in states.values(),
    )


def _check_numbers(quick: bool, budget: float, rows: int | None) -> None:
    if budget <= 0 or (rows is not None and rows < FEWEST_ROWS):
        raise sl.InvalidInputError(
            f"--budget {budget:g} and --rows {rows} were given, but a positive number of seconds "
            f"and at least {FEWEST_ROWS} rows are needed; give larger ones."
        )
    if not quick and not os.environ.get(DATA_VARIABLE):
        raise sl.InvalidInputError(
            f"{DATA_VARIABLE} is not set, but the experiments read their data sets from the folder "
            "that it names; set it, or ask for --quick, which needs none."
        )


def _check_drawing() -> None:
    """Refuse before an hour of work rather than after it."""
    from importlib.util import find_spec

    for package in ("matplotlib", "fpdf"):
        if find_spec(package) is None:
            name = "fpdf2" if package == "fpdf" else package
            raise sl.MissingExtraError("the report", name, "paper")


def _names(given: list[str] | None, known: list[str]) -> set[str]:
    names = {name.strip() for entry in given or () for name in entry.split(",") if name.strip()}
    for name in sorted(names):
        if name not in known:
            raise sl.InvalidInputError(
                f"{name!r} is no experiment; choose from {', '.join(known)}."
            )
    return names
