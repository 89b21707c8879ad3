"""Results files: one per experiment, written whole or not at all."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Literal

from benchmarks.report import write_whole

from reproduction.experiment import Results
from sketchlasso.interfaces.commands.report import as_json

__all__ = [
    "FOLDER",
    "Outcome",
    "read_outcome",
    "read_outcomes",
    "write_outcome",
]

FOLDER = "results"


@dataclass(frozen=True)
class Outcome:
    """The outcome of an experiment.

    Attributes
    ----------
    name : str
    status : {"finished", "failed", "skipped"}
    reason : str
        Why it failed or was skipped.
    settings, paper, results : dict
        What decided the results, what is quoted from the paper, and the results.
    machine : dict
    seconds : float
        Wall time.
    code : str
        Digest of the code that made the results.
    started : str
    """

    name: str
    status: Literal["finished", "failed", "skipped"]
    reason: str = ""
    settings: Results = field(default_factory=dict)
    paper: Results = field(default_factory=dict)
    results: Results = field(default_factory=dict)
    machine: Results = field(default_factory=dict)
    seconds: float = 0.0
    code: str = ""
    started: str = ""

    def stored(self) -> Results:
        """What the functions that write the report may see."""
        return {"settings": self.settings, "paper": self.paper, "results": self.results}


def write_outcome(folder: Path, outcome: Outcome) -> Outcome:
    """Write a results file and return what it holds, as JSON has it."""
    text = as_json(asdict(outcome))
    write_whole(folder / FOLDER / f"{outcome.name}.json", text + "\n")
    return Outcome(**json.loads(text))


def read_outcome(folder: Path, name: str) -> Outcome | None:
    """Return what a results file holds; None where there is none that can be used."""
    path = folder / FOLDER / f"{name}.json"
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        return Outcome(**{own.name: held[own.name] for own in fields(Outcome)})
    except (OSError, ValueError, KeyError, TypeError):
        return None  # missing or damaged: the experiment is run again


def read_outcomes(folder: Path, names: list[str]) -> list[Outcome]:
    """Return the outcomes that are there, in the given order."""
    found = [read_outcome(folder, name) for name in names]
    return [outcome for outcome in found if outcome is not None]
