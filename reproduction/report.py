"""The report: one HTML page, light and dark, for screen and print, and all results as JSON."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path

from benchmarks.report import as_json, format_cell, write_whole

from reproduction.experiment import Results
from reproduction.words import listed, seconds

TITLE = "Robust sketching for multiple square-root LASSO problems, reproduced"
COLUMNS = ("claim", "the paper", "here", "verdict", "what we found")
# A cell that is a number, perhaps with a mark before and a unit behind it.
NUMBER = re.compile(r"(~ |>= )?[-+]?\d[\d,.]*(e[-+]?\d+)?( (s|ms|x|%))?|-|yes|no")
OPENING = (
    "Every table, figure and timed claim of the paper, computed again on the data at hand, with "
    "its figure beside ours. Times marked ~ are extrapolated, those marked >= are lower bounds; "
    "everything else was measured from beginning to end."
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
@media print { body { font-size: 10pt; max-width: none; padding: 0; } nav { display: none; }
  h2 { break-after: avoid; } figure, tr { break-inside: avoid; } .wide { overflow: visible; } }
"""


def write_report(folder: Path, outcomes: Sequence[Results]) -> Counter[str]:
    """Write ``paper.html`` and ``results.json`` from outcomes as stored; return the tally."""
    rows = []
    for outcome in outcomes:
        label = outcome["title"].partition(":")[0]
        for one in findings_of(outcome):
            rows.append([f"{label}: {one['claim']}", *(one[key] for key in FINDING)])
        if outcome["section"] is None:
            rows.append([outcome["title"], "-", "-", "no results", outcome["reason"]])
    tally = Counter(row[3] for row in rows)
    summary = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    document = {"summary": summary, "experiments": list(outcomes)}
    write_whole(folder / "results.json", as_json(document) + "\n")
    counts = [f"{count} {verdict}" for verdict, count in tally.most_common()]
    quick = any(outcome["plan"]["quick"] for outcome in outcomes)
    links = [f'<li><a href="#{one["name"]}">{escape(one["title"])}</a></li>' for one in outcomes]
    body = [
        f"<h1>{TITLE}</h1>",
        f"<p>{(QUICK if quick else '') + escape(OPENING)}</p>",
        f'<p id="tally">{escape(listed(counts) if counts else "nothing yet")}.</p>',
        _table("Summary", COLUMNS, rows, verdicts=3),
        f"<nav><ol>{''.join(links)}</ol></nav>",
        *map(_section, outcomes),
        *_machine(outcomes),
    ]
    page = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{TITLE}</title><style>{STYLE}</style></head>\n<body>\n"
    )
    write_whole(folder / "paper.html", page + "\n".join(body) + "\n</body></html>\n")
    return tally


FINDING = ("paper", "ours", "verdict", "why")


def findings_of(outcome: Results) -> list[Results]:
    """Return the findings of a finished experiment; the quick form judges no claim of time."""
    if outcome["section"] is None:
        return []
    return [
        {**one, "verdict": "not judged"} if outcome["plan"]["quick"] and one["timing"] else one
        for one in outcome["section"]["findings"]
    ]


def _section(outcome: Results) -> str:
    section, paper = outcome["section"], outcome["paper"]
    notes = [("The paper", f"{paper['claim']} ({paper['where']})")]
    head = f'<h2 id="{outcome["name"]}">{escape(outcome["title"])}</h2>'
    if section is None:
        return head + _notes([*notes, ("No results", outcome["reason"])])
    notes += [("What was done", section["protocol"])]
    notes += [("What differs, and why", section["differs"])]
    for one in findings_of(outcome):
        said = f"The paper: {one['paper']}. Here: {one['ours']}. {one['why']}"
        notes.append((f"{one['verdict'].capitalize()}: {one['claim']}", said))
    tables = [_table(one["title"], one["columns"], one["rows"]) for one in section["tables"]]
    return "\n".join([head, _notes(notes), *map(_picture, section["pictures"]), *tables])


def _notes(notes: Sequence[tuple[str, str]]) -> str:
    items = [
        f'<dt class="{about.partition(":")[0].lower().replace(" ", "-")}">{escape(about)}</dt>'
        f"<dd>{escape(words)}</dd>"
        for about, words in notes
    ]
    return f"<dl>{''.join(items)}</dl>"


def _picture(picture: Results) -> str:
    light, dark = (
        "data:image/svg+xml;base64," + base64.b64encode(picture[key].encode()).decode()
        for key in ("light", "dark")
    )
    caption = escape(picture["caption"])
    return (
        f'<figure><picture><source media="screen and (prefers-color-scheme: dark)" srcset="{dark}">'
        f'<img src="{light}" alt="{caption}"></picture><figcaption>{caption}</figcaption></figure>'
    )


def _table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    verdicts: int | None = None,
) -> str:
    """Write a table; columns of numbers stand right, and the one of verdicts is coloured."""
    lines = [["-" if cell is None else format_cell("", cell) for cell in row] for row in rows]
    sides = [
        ' class="right"' if lines and all(NUMBER.fullmatch(line[place]) for line in lines) else ""
        for place in range(len(columns))
    ]
    head = [f"<th{side}>{escape(name)}</th>" for name, side in zip(columns, sides, strict=True)]
    body = ""
    for line in lines:
        cells = [escape(cell) for cell in line]
        if verdicts is not None:
            kind = line[verdicts].replace(" ", "-")
            cells[verdicts] = f'<span class="{kind}">{cells[verdicts]}</span>'
        entries = zip(cells, sides, strict=True)
        body += f"<tr>{''.join(f'<td{side}>{cell}</td>' for cell, side in entries)}</tr>"
    # A region that takes the focus scrolls with the keyboard.
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(title)}">'
        f"<table><caption>{escape(title)}</caption>"
        f"<thead><tr>{''.join(head)}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _machine(outcomes: Sequence[Results]) -> list[str]:
    if not outcomes:
        return []
    facts = outcomes[0]["machine"]
    packages = ", ".join(f"{name} {version}" for name, version in facts["packages"].items())
    total = seconds(sum(outcome["seconds"] for outcome in outcomes))
    loads = ", ".join(f"{outcome['machine']['load_before']:g}" for outcome in outcomes)
    notes = [
        ("Machine", f"{facts['cpu']}, {facts['cores']} cores, {facts['system']}"),
        ("Software", f"Python {facts['python']}, {packages}; revision {facts['revision']}"),
        ("Time", f"{len(outcomes)} experiments in {total}, the first begun {facts['date']}"),
        ("Load", f"before the experiments, from 1 (one busy core) up: {loads}"),
    ]
    return ['<h2 id="machine">Where and when</h2>', _notes(notes)]
