"""Results files: one an experiment, written whole or not at all."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Literal

import sketchlasso as sl
from sketchlasso.interfaces.commands.report import as_json
from sketchlasso.interfaces.paper.experiment import Results

__all__ = [
    "FOLDER",
    "Outcome",
    "make_folder",
    "read_outcome",
    "read_outcomes",
    "write_outcome",
    "write_whole",
]

FOLDER = "results"


@dataclass(frozen=True)
class Outcome:
    """What came of an experiment.

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

    def told(self) -> Results:
        """What the functions that tell may see."""
        return {"settings": self.settings, "paper": self.paper, "results": self.results}


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that appears under its name only when complete; a link to a file stays."""
    target = Path(os.path.realpath(path))
    partial = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    make_folder(path.parent)
    try:
        partial.write_bytes(data)
        partial.replace(target)
    except OSError as problem:
        raise _not_written(path, problem) from problem
    finally:
        partial.unlink(missing_ok=True)


def make_folder(path: Path) -> None:
    """Make a folder, unless it is there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise _not_written(path, problem) from problem


def _not_written(path: Path, problem: OSError) -> sl.StoredFileError:
    return sl.StoredFileError(
        f"{path} could not be written ({problem.strerror or problem}); choose a folder that can "
        "be written to."
    )


def write_outcome(folder: Path, outcome: Outcome) -> Outcome:
    """Write a results file and return what it holds, as JSON has it."""
    text = as_json(asdict(outcome))
    write_whole(folder / FOLDER / f"{outcome.name}.json", (text + "\n").encode())
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
