"""Running experiments one after another; what is finished is never run again unasked."""

from __future__ import annotations

import json
import traceback
import warnings
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import sketchlasso as sl
from sketchlasso.interfaces.commands.report import as_json
from sketchlasso.interfaces.paper.experiment import Experiment, Plan, Tell
from sketchlasso.interfaces.paper.machine import code_digest, machine_facts
from sketchlasso.interfaces.paper.store import (
    FOLDER,
    Outcome,
    make_folder,
    read_outcome,
    write_outcome,
)

__all__ = ["run_experiments"]


def run_experiments(
    folder: Path,
    experiments: Sequence[Experiment],
    plan: Plan,
    *,
    again: Collection[str] = (),
    tell: Tell = lambda words: None,
) -> list[Outcome]:
    """Run what has no results yet.

    Every experiment leaves its results file as soon as it is through, so an interruption costs
    the experiment at work and no other. One that fails leaves a file that says so.

    Parameters
    ----------
    folder : Path
        Where results are kept; those of the same settings and code are used again.
    experiments : sequence of Experiment
    plan : Plan
    again : collection of str
        Names of experiments to run though they have results.
    tell : callable
        Called with lines on how it goes.
    """
    make_folder(folder / FOLDER)  # refused now, not after the first experiment
    outcomes = []
    for number, experiment in enumerate(experiments, start=1):
        place = f"[{number}/{len(experiments)}] {experiment.name}"
        settings = _as_stored(experiment.settings(plan))
        code = code_digest(experiment.name)
        known = read_outcome(folder, experiment.name)
        if experiment.name not in again and _usable(known, experiment, settings, code):
            assert known is not None
            tell(f"{place}: there already, {known.seconds:.1f} s when it ran")
            outcomes.append(known)
            continue
        tell(f"{place}: {experiment.title}")
        outcome = _run(experiment, settings, code, lambda words: tell(f"    {words}"))
        outcomes.append(write_outcome(folder, outcome))
        ending = outcome.status + (f" ({outcome.reason})" if outcome.reason else "")
        tell(f"{place}: {ending}, {outcome.seconds:.1f} s")
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


def _run(experiment: Experiment, settings: Any, code: str, tell: Tell) -> Outcome:
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
            # Grids whose best penalty is at an edge, peers that do not converge: both are told
            # in the tables.
            warnings.simplefilter("ignore")
            results = experiment.compute(settings, tell)
        return Outcome(status="finished", results=results, seconds=perf_counter() - start, **common)
    except sl.MissingExtraError as missing:
        return Outcome(status="skipped", reason=str(missing), **common)
    except sl.StoredFileError as absent:
        return Outcome(status="skipped", reason=str(absent), **common)
    except Exception as error:  # one experiment must not take the others down
        tell(traceback.format_exc())
        seconds = perf_counter() - start
        reason = f"{type(error).__name__}: {error}"
        return Outcome(status="failed", reason=reason[:500], seconds=seconds, **common)
