"""The report as one HTML page: nothing is fetched, light and dark, for screen and print."""

from __future__ import annotations

import base64
from html import escape

from reproduction.document import Document, Section, right_columns
from reproduction.drawing import drawn
from reproduction.experiment import Picture
from sketchlasso.interfaces.commands.report import Sheet

__all__ = ["as_html"]

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


def as_html(document: Document) -> str:
    """Return the page."""
    links = "".join(
        f'<li><a href="#{section.name}">{escape(section.title)}</a></li>'
        for section in document.sections
    )
    parts = [
        f"<h1>{escape(document.title)}</h1>",
        f"<p>{escape(document.opening)}</p>",
        _table(document.summary, verdicts=3),
        f"<nav><ol>{links}</ol></nav>",
        *(_section(section) for section in document.sections),
        '<h2 id="machine">Where and when</h2>',
        _notes(document.closing),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(document.title)}</title><style>{STYLE}</style></head>\n"
        f"<body>\n{chr(10).join(parts)}\n</body></html>\n"
    )


def _section(section: Section) -> str:
    parts = [f'<h2 id="{section.name}">{escape(section.title)}</h2>', _notes(section.notes)]
    if section.problem:
        parts.append(f'<p class="problem">{escape(section.problem)}</p>')
    parts += [_picture(picture) for picture in section.pictures]
    parts += [_table(sheet) for sheet in section.tables]
    return "\n".join(parts)


def _notes(notes: tuple[tuple[str, str], ...]) -> str:
    stored = "".join(
        f'<dt class="{about.partition(":")[0].lower().replace(" ", "-")}">{escape(about)}</dt>'
        f"<dd>{escape(words)}</dd>"
        for about, words in notes
    )
    return f"<dl>{stored}</dl>"


def _picture(picture: Picture) -> str:
    light, dark = (
        "data:image/svg+xml;base64," + base64.b64encode(file).decode() for file in drawn(picture)
    )
    caption = escape(picture.caption)
    return (
        f'<figure><picture><source media="screen and (prefers-color-scheme: dark)" srcset="{dark}">'
        f'<img src="{light}" alt="{caption}"></picture><figcaption>{caption}</figcaption></figure>'
    )


def _table(sheet: Sheet, verdicts: int | None = None) -> str:
    right = right_columns(sheet)
    head = "".join(
        f"<th{_side(side)}>{escape(name)}</th>"
        for name, side in zip(sheet.columns, right, strict=True)
    )
    body = []
    for row in sheet.cells():
        cells = []
        for number, (cell, side) in enumerate(zip(row, right, strict=True)):
            shown = escape(cell)
            if number == verdicts:
                shown = f'<span class="{cell.replace(" ", "-")}">{shown}</span>'
            cells.append(f"<td{_side(side)}>{shown}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f'<div class="wide"><table><caption>{escape(sheet.title)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _side(right: bool) -> str:
    return ' class="right"' if right else ""
