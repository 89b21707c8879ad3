"""Writing the report: results as one file for machines, a page, and a PDF."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from sketchlasso.interfaces.commands.report import as_json
from sketchlasso.interfaces.paper.document import Document, make_document
from sketchlasso.interfaces.paper.experiment import Experiment
from sketchlasso.interfaces.paper.html import as_html
from sketchlasso.interfaces.paper.pdf import as_pdf
from sketchlasso.interfaces.paper.store import read_outcomes, write_whole

__all__ = ["REPORT", "write_report"]

REPORT = ("paper.html", "paper.pdf", "results.json")


def write_report(folder: Path, experiments: Sequence[Experiment]) -> Document:
    """Write ``paper.html``, ``paper.pdf`` and ``results.json`` from the results files."""
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
    page, _, results = REPORT
    write_whole(folder / results, (machine + "\n").encode())
    write_whole(folder / page, as_html(document).encode())
    write_whole(folder / REPORT[1], as_pdf(document))
    return document
