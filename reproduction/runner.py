"""Running experiments one after another; each leaves a file of results."""

from __future__ import annotations

import json
import traceback
import warnings
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Literal

from benchmarks.catalogue import MissingDataError
from benchmarks.machine import machine_facts
from benchmarks.report import as_json, write_whole

from reproduction.experiment import Experiment, Plan, Report, Results
from sketchlasso.errors import MissingExtraError, StoredFileError

FOLDER = "results"


@dataclass
class Outcome:
    """The outcome of an experiment: what decided its results, and the results."""

    name: str
    settings: Results
    paper: Results
    status: Literal["finished", "failed", "skipped"] = "finished"
    reason: str = ""  # why it failed or was skipped
    results: Results = field(default_factory=dict)
    machine: Results = field(default_factory=dict)
    seconds: float = 0.0
    started: str = ""

    def stored(self) -> Results:
        """What the functions that write the report may see."""
        return {"settings": self.settings, "paper": self.paper, "results": self.results}


def run_experiments(
    folder: Path,
    experiments: Sequence[Experiment],
    plan: Plan,
    *,
    again: Collection[str] = (),
    report: Report = lambda line: None,
) -> list[Outcome]:
    """Run what has no results of the same settings yet, and what is to run `again`.

    Every experiment leaves its results file as soon as it is through, so an interruption
    loses only the running experiment. One that fails leaves a file that says so.
    """
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)  # fails before the work, not after it
    outcomes = []
    for number, experiment in enumerate(experiments, start=1):
        place = f"[{number}/{len(experiments)}] {experiment.name}"
        settings = json.loads(as_json(experiment.settings(plan)))
        known = read_outcome(folder, experiment.name)
        usable = known is not None and known.status == "finished" and known.settings == settings
        if known is not None and usable and experiment.name not in again:
            report(f"{place}: there already, of {known.started}")
            outcomes.append(known)
            continue
        report(f"{place}: {experiment.title}")
        outcome = _run(experiment, settings, lambda words: report(f"    {words}"))
        path = folder / FOLDER / f"{outcome.name}.json"
        write_whole(path, as_json(asdict(outcome)) + "\n")
        written = read_outcome(folder, experiment.name)
        assert written is not None
        outcomes.append(written)
        ending = outcome.status + (f" ({outcome.reason})" if outcome.reason else "")
        report(f"{place}: {ending}, {outcome.seconds:.1f} s")
    return outcomes


def read_outcome(folder: Path, name: str) -> Outcome | None:
    """Return what a results file holds; None where there is none that can be used."""
    try:
        text = (folder / FOLDER / f"{name}.json").read_text(encoding="utf-8")
        return Outcome(**json.loads(text))
    except (OSError, ValueError, TypeError):
        return None  # missing or damaged: the experiment is run again


def _run(experiment: Experiment, settings: Results, report: Report) -> Outcome:
    outcome = Outcome(experiment.name, settings, experiment.paper, machine=machine_facts())
    outcome.started = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    start = perf_counter()
    try:
        with warnings.catch_warnings():
            # Grids whose best penalty is at an edge, peers that do not converge: the tables
            # show both.
            warnings.simplefilter("ignore")
            outcome.results = experiment.compute(settings, report)
    except (MissingExtraError, MissingDataError, StoredFileError) as absent:
        outcome.status, outcome.reason = "skipped", str(absent)
    except Exception as error:  # one experiment must not take the others down
        report(traceback.format_exc())
        outcome.status, outcome.reason = "failed", f"{type(error).__name__}: {error}"[:500]
    outcome.seconds = perf_counter() - start
    return outcome
