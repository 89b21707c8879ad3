"""Compute every table and figure of the paper again: ``python -m reproduction``.

Results are kept in one file per experiment: a stopped run continues where it was, and what is
finished is not run again unless the settings have changed or --again names it. Without --quick the
data sets are read from the folder that SKETCHLASSO_DATA names.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from reproduction.experiment import Plan
from reproduction.experiments import EXPERIMENTS
from reproduction.report import write_report
from reproduction.runner import run_experiments

DATA_VARIABLE = "SKETCHLASSO_DATA"
FEWEST_ROWS = 50
NAMES = [experiment.name for experiment in EXPERIMENTS]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the experiments, write the report; 1 where one of them failed."""
    options = _options(arguments)
    chosen = [one for one in EXPERIMENTS if not options.only or one.name in options.only]
    plan = Plan(options.quick, options.budget, options.rows)
    try:
        outcomes = run_experiments(
            options.output, chosen, plan, again=options.again, report=_print_line
        )
    except KeyboardInterrupt:
        write_report(options.output, EXPERIMENTS)
        _print_line(f"interrupted; {options.output} has what is finished. Run it again to go on.")
        return 130
    for verdict, count in write_report(options.output, EXPERIMENTS).items():
        _print_line(f"{count:3} {verdict}")
    _print_line(f"report: {options.output / 'paper.html'}")
    return int(any(outcome.status == "failed" for outcome in outcomes))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m reproduction",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("paper-report"), help="folder of the report"
    )
    parser.add_argument("--only", type=_names, default=(), help="experiments, separated by commas")
    parser.add_argument(
        "--again", type=_names, default=(), help="experiments to run even if they have results"
    )
    parser.add_argument(
        "--quick", action="store_true", help="small generated and bundled data: does it run?"
    )
    parser.add_argument(
        "--budget", type=float, default=45.0, help="seconds per contender and data set"
    )
    parser.add_argument("--rows", type=int, help="at most so many rows of every data set")
    options = parser.parse_args(arguments)
    if options.budget <= 0:
        parser.error(f"--budget {options.budget:g} was given; give a positive number of seconds.")
    if options.rows is not None and options.rows < FEWEST_ROWS:
        parser.error(f"--rows {options.rows} was given; give at least {FEWEST_ROWS} rows.")
    if not options.quick and not os.environ.get(DATA_VARIABLE):
        parser.error(
            f"{DATA_VARIABLE} is not set, but it names the folder of the data sets; set it, or "
            "run with --quick, which needs no data."
        )
    return options


def _names(given: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in given.split(",") if name.strip())
    for name in names:
        if name not in NAMES:
            raise argparse.ArgumentTypeError(
                f"{name!r} is not an experiment; choose from {', '.join(NAMES)}."
            )
    return names


def _print_line(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
