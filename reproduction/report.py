"""The report: one HTML page, light and dark, for screen and print, and all results as JSON."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from html import escape
from pathlib import Path

from benchmarks.report import as_json, write_whole

from reproduction.drawing import drawn
from reproduction.experiment import Experiment, Finding, Picture, Sheet
from reproduction.runner import Outcome, read_outcome
from reproduction.words import listed, seconds

TITLE = "Robust sketching for multiple square-root LASSO problems, reproduced"
COLUMNS = ("claim", "the paper", "here", "verdict", "what we found")
# A cell that is a number, perhaps with a mark before and a unit behind it.
NUMBER = re.compile(r"(~ |>= )?[-+]?\d[\d,.]*(e[-+]?\d+)?( (s|ms|x|%))?|-|yes|no")
OPENING = (
    "Every table, figure and timed claim of the paper, computed again on the data at hand, with "
    "its figure beside ours. Every number below was read from a results file that the run wrote. "
    "Times marked ~ are extrapolated, those marked >= are lower bounds; everything else was "
    "measured from beginning to end."
)
QUICK = (
    "This is the quick form: small generated and bundled data, which show that every experiment "
    "runs. Claims about time are not judged on them. "
)
STYLE = """
:root { color-scheme: light dark; --text: #1f2328; --back: #ffffff; --soft: #59636e;
  --line: #d8dee4; --head: #f3f5f7; --good: #11703c; --bad: #b42318; --more: #0b5cad; }
@media screen and (prefers-color-scheme: dark) { :root { --text: #dfe3e8; --back: #16191d;
  --soft: #9aa4af; --line: #31363d; --head: #20252b; --good: #57c98a; --bad: #ff8a7a;
  --more: #77b6ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1.2rem 4rem; max-width: 62rem; color: var(--text);
  background: var(--back); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0.5rem 0 1rem; }
h2 { font-size: 1.25rem; margin: 2.6rem 0 0.6rem; padding-top: 0.8rem;
  border-top: 1px solid var(--line); }
nav ol { columns: 2; padding-left: 1.4rem; } a { color: var(--more); }
dl { margin: 0.6rem 0; } dt { font-weight: 600; margin-top: 0.5rem; } dd { margin: 0; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: 0.86rem; width: 100%; }
caption { text-align: left; font-weight: 600; padding: 0.3rem 0; }
th, td { padding: 0.3rem 0.55rem; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; }
th { background: var(--head); } td.right, th.right { text-align: right; white-space: nowrap; }
figure { margin: 1.2rem 0; } figure img { max-width: 100%; height: auto; }
figcaption { color: var(--soft); font-size: 0.88rem; }
.reproduced, .better { color: var(--good); font-weight: 600; }
.not-reproduced, .no-results { color: var(--bad); font-weight: 600; }
.beyond-the-paper { color: var(--more); font-weight: 600; }
.problem { color: var(--bad); }
@media print { body { font-size: 10pt; max-width: none; padding: 0; } nav { display: none; }
  h2 { break-after: avoid; } figure, tr { break-inside: avoid; } .wide { overflow: visible; } }
"""


def write_report(folder: Path, experiments: Sequence[Experiment]) -> Counter[str]:
    """Write ``paper.html`` and ``results.json`` from the results files; return the tally."""
    outcomes = [
        (experiment, outcome)
        for experiment in experiments
        if (outcome := read_outcome(folder, experiment.name)) is not None
    ]
    rows: list[tuple[str, ...]] = []
    sections = []
    for experiment, outcome in outcomes:
        findings, problem = findings_of(experiment, outcome)
        label = experiment.title.partition(":")[0]
        rows += [
            (f"{label}: {one.claim}", one.paper, one.ours, one.verdict, one.why) for one in findings
        ]
        if problem:
            rows.append((experiment.title, "-", "-", "no results", problem))
        sections.append(_section(experiment, outcome, findings, problem))
    tally = Counter(row[3] for row in rows)
    document = {
        "summary": [dict(zip(COLUMNS, row, strict=True)) for row in rows],
        "experiments": [asdict(outcome) for _, outcome in outcomes],
    }
    write_whole(folder / "results.json", as_json(document) + "\n")
    page = _page(outcomes, Sheet("Summary", COLUMNS, tuple(rows)), tally, sections)
    write_whole(folder / "paper.html", page)
    return tally


def findings_of(experiment: Experiment, outcome: Outcome) -> tuple[list[Finding], str]:
    """Return what was found, or why there is nothing; the quick form judges no claim of time."""
    if outcome.status != "finished":
        return [], f"This experiment {outcome.status}: {outcome.reason}"
    try:
        findings = experiment.findings(outcome.stored())
    except (LookupError, TypeError):
        return [], (
            "Its results are of another version of the code and cannot be shown; run it again: "
            f"python -m reproduction --again {experiment.name}"
        )
    quick = bool(outcome.settings.get("quick"))
    return [
        replace(one, verdict="not judged") if quick and one.timing else one for one in findings
    ], ""


def _page(
    outcomes: Sequence[tuple[Experiment, Outcome]],
    summary: Sheet,
    tally: Counter[str],
    sections: Sequence[str],
) -> str:
    quick = any(outcome.settings.get("quick") for _, outcome in outcomes)
    counts = [f"{count} {verdict}" for verdict, count in tally.most_common()]
    links = "".join(
        f'<li><a href="#{one.name}">{escape(one.title)}</a></li>' for one, _ in outcomes
    )
    body = [
        f"<h1>{escape(TITLE)}</h1>",
        f"<p>{escape((QUICK if quick else '') + OPENING)}</p>",
        f'<p id="tally">{escape(listed(counts) if counts else "nothing yet")}.</p>',
        _table(summary, verdicts=3),
        f"<nav><ol>{links}</ol></nav>",
        *sections,
        '<h2 id="machine">Where and when</h2>',
        _notes(_machine([outcome for _, outcome in outcomes])),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(TITLE)}</title><style>{STYLE}</style></head>\n"
        f"<body>\n{chr(10).join(body)}\n</body></html>\n"
    )


def _section(
    experiment: Experiment, outcome: Outcome, findings: Sequence[Finding], problem: str
) -> str:
    stored = outcome.stored()
    notes = [("The paper", f"{experiment.paper['claim']} ({experiment.paper['where']})")]
    parts = [f'<h2 id="{experiment.name}">{escape(experiment.title)}</h2>']
    if problem:
        return "\n".join([*parts, _notes(notes), f'<p class="problem">{escape(problem)}</p>'])
    notes += [
        ("What was done", experiment.protocol(stored)),
        ("What differs, and why", experiment.differs(stored)),
    ]
    notes += [
        (
            f"{one.verdict.capitalize()}: {one.claim}",
            f"The paper: {one.paper}. Here: {one.ours}. {one.why}",
        )
        for one in findings
    ]
    pictures = [_picture(picture) for picture in experiment.pictures(stored)]
    tables = [_table(sheet) for sheet in experiment.tables(stored)]
    return "\n".join([*parts, _notes(notes), *pictures, *tables])


def _notes(notes: Sequence[tuple[str, str]]) -> str:
    items = "".join(
        f'<dt class="{about.partition(":")[0].lower().replace(" ", "-")}">{escape(about)}</dt>'
        f"<dd>{escape(words)}</dd>"
        for about, words in notes
    )
    return f"<dl>{items}</dl>"


def _picture(picture: Picture) -> str:
    light, dark = (
        "data:image/svg+xml;base64," + base64.b64encode(file).decode() for file in drawn(picture)
    )
    caption = escape(picture.caption)
    return (
        f'<figure><picture><source media="screen and (prefers-color-scheme: dark)" srcset="{dark}">'
        f'<img src="{light}" alt="{caption}"></picture><figcaption>{caption}</figcaption></figure>'
    )


def right_columns(sheet: Sheet) -> list[bool]:
    """Return which columns hold numbers only, and stand right."""
    lines = sheet.cells()
    return [
        bool(lines) and all(NUMBER.fullmatch(line[column]) for line in lines)
        for column in range(len(sheet.columns))
    ]


def _table(sheet: Sheet, verdicts: int | None = None) -> str:
    sides = [' class="right"' if right else "" for right in right_columns(sheet)]
    head = "".join(
        f"<th{side}>{escape(name)}</th>" for name, side in zip(sheet.columns, sides, strict=True)
    )
    body = ""
    for row in sheet.cells():
        cells = [escape(cell) for cell in row]
        if verdicts is not None:
            kind = row[verdicts].replace(" ", "-")
            cells[verdicts] = f'<span class="{kind}">{cells[verdicts]}</span>'
        entries = zip(cells, sides, strict=True)
        body += f"<tr>{''.join(f'<td{side}>{cell}</td>' for cell, side in entries)}</tr>"
    # A region that takes the focus scrolls with the keyboard.
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(sheet.title)}">'
        f"<table><caption>{escape(sheet.title)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _machine(outcomes: Sequence[Outcome]) -> list[tuple[str, str]]:
    if not outcomes:
        return []
    facts = outcomes[0].machine
    packages = ", ".join(f"{name} {one}" for name, one in facts["packages"].items() if one)
    total = seconds(sum(outcome.seconds for outcome in outcomes))
    first = min(outcome.started for outcome in outcomes)
    loads = ", ".join(f"{outcome.machine['load_before']:g}" for outcome in outcomes)
    return [
        ("Machine", f"{facts['cpu']}, {facts['cores']} cores, {facts['system']}"),
        ("Software", f"Python {facts['python']}, {packages}; revision {facts['revision']}"),
        ("Time", f"{len(outcomes)} experiments in {total}, first started {first}"),
        ("Load", f"before the experiments, from 1 (one busy core) up: {loads}"),
    ]
