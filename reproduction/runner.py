"""Running experiments one after another; finished ones are run again only on request."""

from __future__ import annotations

import json
import traceback
import warnings
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.catalogue import MissingDataError
from benchmarks.machine import machine_facts

from reproduction.code import code_digest
from reproduction.experiment import Experiment, Plan, Report
from reproduction.store import FOLDER, Outcome, read_outcome, write_outcome
from sketchlasso.errors import MissingExtraError, StoredFileError
from sketchlasso.interfaces.commands.report import as_json

__all__ = ["run_experiments"]


def run_experiments(
    folder: Path,
    experiments: Sequence[Experiment],
    plan: Plan,
    *,
    again: Collection[str] = (),
    report: Report = lambda line: None,
) -> list[Outcome]:
    """Run what has no results yet.

    Every experiment leaves its results file as soon as it is through, so an interruption
    loses only the running experiment. One that fails leaves a file that says so.

    Parameters
    ----------
    folder : Path
        Where results are kept; those of the same settings and code are used again.
    experiments : sequence of Experiment
    plan : Plan
    again : collection of str
        Names of experiments to run even if they have results.
    report : callable
        Called with lines of progress.
    """
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)  # fails before the work, not after it
    outcomes = []
    for number, experiment in enumerate(experiments, start=1):
        place = f"[{number}/{len(experiments)}] {experiment.name}"
        settings = _as_stored(experiment.settings(plan))
        code = code_digest(experiment.name)
        known = read_outcome(folder, experiment.name)
        if experiment.name not in again and _usable(known, experiment, settings, code):
            assert known is not None
            report(f"{place}: there already, {known.seconds:.1f} s when it ran")
            outcomes.append(known)
            continue
        report(f"{place}: {experiment.title}")
        outcome = _run(experiment, settings, code, lambda words: report(f"    {words}"))
        outcomes.append(write_outcome(folder, outcome))
        ending = outcome.status + (f" ({outcome.reason})" if outcome.reason else "")
        report(f"{place}: {ending}, {outcome.seconds:.1f} s")
    return outcomes


def _usable(known: Outcome | None, experiment: Experiment, settings: Any, code: str) -> bool:
    return (
        known is not None
        and known.status == "finished"
        and known.code == code
        and known.settings == settings
        and known.paper == _as_stored(experiment.paper)
    )


def _as_stored(value: Any) -> Any:
    return json.loads(as_json(value))


def _run(experiment: Experiment, settings: Any, code: str, report: Report) -> Outcome:
    common: dict[str, Any] = {
        "name": experiment.name,
        "settings": settings,
        "paper": experiment.paper,
        "machine": machine_facts(),
        "code": code,
        "started": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }
    start = perf_counter()
    try:
        with warnings.catch_warnings():
            # Grids whose best penalty is at an edge, peers that do not converge: the tables
            # show both.
            warnings.simplefilter("ignore")
            results = experiment.compute(settings, report)
        return Outcome(status="finished", results=results, seconds=perf_counter() - start, **common)
    except MissingExtraError as missing:
        return Outcome(status="skipped", reason=str(missing), **common)
    except (MissingDataError, StoredFileError) as absent:
        return Outcome(status="skipped", reason=str(absent), **common)
    except Exception as error:  # one experiment must not take the others down
        report(traceback.format_exc())
        seconds = perf_counter() - start
        reason = f"{type(error).__name__}: {error}"
        return Outcome(status="failed", reason=reason[:500], seconds=seconds, **common)
