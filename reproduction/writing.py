"""Writing the report: a page, and all results in one JSON file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.report import write_whole

from reproduction.document import Document, make_document
from reproduction.experiment import Experiment
from reproduction.html import as_html
from reproduction.store import read_outcomes
from sketchlasso.interfaces.commands.report import as_json

__all__ = ["write_report"]


def write_report(folder: Path, experiments: Sequence[Experiment]) -> Document:
    """Write ``paper.html`` and ``results.json`` from the results files."""
    outcomes = read_outcomes(folder, [experiment.name for experiment in experiments])
    document = make_document(experiments, outcomes)
    machine = as_json(
        {
            "summary": [
                dict(zip(document.summary.columns, row, strict=True))
                for row in document.summary.rows
            ],
            "experiments": [asdict(outcome) for outcome in outcomes],
        }
    )
    write_whole(folder / "results.json", machine + "\n")
    write_whole(folder / "paper.html", as_html(document))
    return document
