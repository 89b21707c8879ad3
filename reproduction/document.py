"""The report as a document: sections of paragraphs, tables and pictures, made from outcomes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from reproduction.experiment import Experiment, Finding, Picture, Results
from reproduction.store import Outcome
from reproduction.words import count, seconds
from sketchlasso.interfaces.commands.report import Sheet

__all__ = ["Document", "Section", "make_document", "right_columns", "summary"]

TITLE = "Robust sketching for multiple square-root LASSO problems, reproduced"
# A cell that is a number, perhaps with a mark before and a unit behind it.
NUMBER = re.compile(r"(~ |>= )?[-+]?\d[\d,.]*(e[-+]?\d+)?( (s|ms|x|%))?|-|yes|no")
COLUMNS = ("claim", "the paper", "here", "verdict", "what we found")


@dataclass(frozen=True)
class Section:
    """One experiment.

    Attributes
    ----------
    name, title : str
    notes : tuple of (str, str)
        What is said, and about what: claim, protocol, what differs, finding.
    tables : tuple of Sheet
    pictures : tuple of Picture
    findings : tuple of Finding
    problem : str
        Why there are no results.
    """

    name: str
    title: str
    notes: tuple[tuple[str, str], ...]
    tables: tuple[Sheet, ...] = ()
    pictures: tuple[Picture, ...] = ()
    findings: tuple[Finding, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class Document:
    """The report."""

    title: str
    opening: str
    summary: Sheet
    sections: tuple[Section, ...]
    closing: tuple[tuple[str, str], ...]


def make_document(experiments: Sequence[Experiment], outcomes: Sequence[Outcome]) -> Document:
    """Make the report of what is there; nothing is computed."""
    held = {outcome.name: outcome for outcome in outcomes}
    sections = tuple(
        _section(experiment, held[experiment.name])
        for experiment in experiments
        if experiment.name in held
    )
    return Document(TITLE, _opening(outcomes), summary(sections), sections, _machine(outcomes))


def summary(sections: Sequence[Section]) -> Sheet:
    """The table that opens the report: one row per finding, and one for what has no results."""
    rows: list[tuple[str, ...]] = []
    for section in sections:
        label = section.title.partition(":")[0]
        for finding in section.findings:
            rows.append(
                (
                    f"{label}: {finding.claim}",
                    finding.paper,
                    finding.ours,
                    finding.verdict,
                    finding.why,
                )
            )
        if section.problem:
            rows.append((section.title, "-", "-", "no results", section.problem))
    return Sheet("Summary", COLUMNS, tuple(rows))


def right_columns(sheet: Sheet) -> list[bool]:
    """Return which columns hold numbers only, and stand right."""
    lines = sheet.cells()
    return [
        bool(lines) and all(NUMBER.fullmatch(line[column]) for line in lines)
        for column in range(len(sheet.columns))
    ]


def _section(experiment: Experiment, outcome: Outcome) -> Section:
    stored = outcome.stored()
    notes = [("The paper", f"{outcome.paper['claim']} ({outcome.paper['where']})")]
    if outcome.status != "finished":
        problem = f"This experiment {outcome.status}: {outcome.reason}"
        return Section(experiment.name, experiment.title, tuple(notes), problem=problem)
    try:
        return _finished_section(experiment, stored, notes)
    except (LookupError, TypeError):
        problem = (
            "Its results are of another version of the code and cannot be shown; run it again: "
            f"python -m reproduction --again {experiment.name}"
        )
        return Section(experiment.name, experiment.title, tuple(notes), problem=problem)


def _finished_section(
    experiment: Experiment, stored: Results, notes: list[tuple[str, str]]
) -> Section:
    findings = experiment.findings(stored)
    notes = [
        *notes,
        ("What was done", experiment.protocol(stored)),
        ("What differs, and why", experiment.differs(stored)),
    ]
    notes += [
        (
            f"{finding.verdict.capitalize()}: {finding.claim}",
            f"The paper: {finding.paper}. Here: {finding.ours}. {finding.why}",
        )
        for finding in findings
    ]
    return Section(
        experiment.name,
        experiment.title,
        tuple(notes),
        tuple(experiment.tables(stored)),
        tuple(experiment.pictures(stored)),
        tuple(findings),
    )


def _opening(outcomes: Sequence[Outcome]) -> str:
    quick = any(outcome.settings.get("quick") for outcome in outcomes)
    form = (
        "This is the quick form: generated and bundled data of small sizes, which show that every "
        "experiment runs; times on such small data mean nothing. "
        if quick
        else ""
    )
    return (
        f"{form}Every table, figure and timed claim of the paper, computed again on the data at "
        "hand, with its figure beside ours. Every number below was read from a results file that "
        "the run wrote. Times marked ~ are extrapolated, those marked >= are lower bounds; "
        "everything else was measured from beginning to end."
    )


def _machine(outcomes: Sequence[Outcome]) -> tuple[tuple[str, str], ...]:
    if not outcomes:
        return ()
    facts = outcomes[0].machine
    packages = ", ".join(
        f"{name} {version}" for name, version in facts.get("packages", {}).items() if version
    )
    total = sum(outcome.seconds for outcome in outcomes)
    loads = [outcome.machine.get("load_before") for outcome in outcomes]
    known = [load for load in loads if load is not None]
    return (
        ("Machine", f"{facts.get('cpu')}, {facts.get('cores')} cores, {facts.get('system')}"),
        ("Software", f"Python {facts.get('python')}, {packages}"),
        ("Time", f"{count(len(outcomes))} experiments in {seconds(total)}, first started "
         f"{min(outcome.started for outcome in outcomes)}"),
        ("Load", "before the experiments, from 1 (one busy core) up: "
         + ", ".join(f"{load:g}" for load in known)),
    )  # fmt: skip
