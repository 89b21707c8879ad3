"""Compute every table and figure of the paper again: ``python -m reproduction``.

Results are kept in one file per experiment: a stopped run continues where it was, and what is
finished is not run again unless the settings have changed or --again names it. Without --quick the
data sets are read from the folder that SKETCHLASSO_DATA names.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
import warnings
from collections.abc import Collection, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from time import perf_counter

from benchmarks.datasets import MissingDataError
from benchmarks.report import as_json, machine_facts, write_whole

from reproduction.experiment import Plan, Results
from reproduction.paper_figures import PAPER
from reproduction.report import write_report
from sketchlasso.errors import MissingExtraError, StoredFileError

FEWEST_ROWS = 50
# In the order of the report.
ORDER = """
figure_1 figure_2 table_1 figure_3 figure_4 table_2 leave_one_out
figures_5_6 tables_3_4 iteration_cost safe_rule inverse_covariance subspace_clustering
"""
NAMES = ORDER.split()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the experiments, write the report; 1 where one of them failed."""
    options = _options(arguments)
    plan = Plan(options.quick, options.budget, options.rows)
    names = [name for name in NAMES if not options.only or name in options.only]
    try:
        outcomes = run_experiments(options.output, names, plan, options.again)
    except KeyboardInterrupt:
        write_report(options.output, _stored(options.output))
        print(f"interrupted; {options.output} has what is finished. Run it again to go on.")
        return 130
    for verdict, count in write_report(options.output, _stored(options.output)).items():
        print(f"{count:3} {verdict}")
    print(f"report: {options.output / 'paper.html'}")
    return int(any(outcome["status"] == "failed" for outcome in outcomes))


def run_experiments(
    folder: Path, names: Sequence[str], plan: Plan, again: Collection[str] = ()
) -> list[Results]:
    """Run what has no results of the same plan yet, and what is to run `again`.

    Every experiment leaves its results file as soon as it is through, so an interruption
    loses only the running experiment. One that fails leaves a file that says so.
    """
    (folder / "results").mkdir(parents=True, exist_ok=True)  # fails before the work, not after it
    outcomes = []
    for place, name in enumerate(names, start=1):
        outcome = read_outcome(folder, name)
        finished = outcome is not None and outcome["status"] == "finished"
        if outcome is None or not finished or outcome["plan"] != asdict(plan) or name in again:
            print(f"[{place}/{len(names)}] {name}", flush=True)
            write_whole(folder / "results" / f"{name}.json", as_json(_run(name, plan)) + "\n")
            outcome = read_outcome(folder, name)
            assert outcome is not None
            print(f"    {outcome['status']} in {outcome['seconds']:.1f} s {outcome['reason']}")
        outcomes.append(outcome)
    return outcomes


def read_outcome(folder: Path, name: str) -> Results | None:
    """Return what a results file holds; None where there is none that can be used."""
    try:
        outcome: Results = json.loads((folder / "results" / f"{name}.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None  # missing or damaged: the experiment is run again
    return outcome


def _stored(folder: Path) -> list[Results]:
    return [one for name in NAMES if (one := read_outcome(folder, name)) is not None]


def _run(name: str, plan: Plan) -> Results:
    module = import_module(f"reproduction.experiments.{name}")
    outcome: Results = {"name": name, "title": module.TITLE, "paper": PAPER[name]}
    outcome |= {"plan": asdict(plan), "status": "finished", "reason": "", "section": None}
    outcome["machine"] = machine_facts()
    start = perf_counter()
    try:
        with warnings.catch_warnings():
            # Best penalties at an edge, peers that do not converge: the tables show both.
            warnings.simplefilter("ignore")
            section = module.run(plan, lambda words: print(f"    {words}", flush=True))
        outcome["section"] = asdict(section)
    except (MissingExtraError, MissingDataError, StoredFileError) as absent:
        outcome |= {"status": "skipped", "reason": str(absent)}
    except Exception as error:  # one experiment must not take the others down
        traceback.print_exc()
        outcome |= {"status": "failed", "reason": f"{type(error).__name__}: {error}"[:500]}
    outcome["seconds"] = perf_counter() - start
    return outcome


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
        parser.error(f"--budget must be a positive number of seconds, not {options.budget:g}.")
    if options.rows is not None and options.rows < FEWEST_ROWS:
        parser.error(f"--rows must be at least {FEWEST_ROWS} rows, not {options.rows}.")
    if not options.quick and not os.environ.get("SKETCHLASSO_DATA"):
        parser.error(
            "SKETCHLASSO_DATA is not set, but it names the folder of the data sets; set it, or "
            "run with --quick, which needs no data."
        )
    return options


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if name not in NAMES:
            raise argparse.ArgumentTypeError(
                f"{name!r} is not an experiment; choose from {', '.join(NAMES)}."
            )
    return names


if __name__ == "__main__":
    sys.exit(main())
