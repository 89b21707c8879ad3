"""Everything that is written from the cells alone: tables, figures, the verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.accuracy import figure, tables
from benchmarks.accuracy.columns import MAIN
from benchmarks.accuracy.summary import Verdict, summaries
from benchmarks.report import Report, markdown_table, write_whole


def write_page(cells: list[dict[str, Any]], folder: Path, report: Report) -> None:
    """Write tables.md and the figures into the folder, and the verdict into the report."""
    found = summaries(cells)
    given = tables.verdicts(found)
    figures = _figures(cells, found, folder)
    sections = [
        "# Accuracy on held-out rows",
        tables.how(cells),
        f"## {tables.OURS} against the full model",
        tables.verdict_sentence(given),
        _verdict_table(given),
        "## Columns",
        tables.wide_table(found, MAIN),
        "## Radius policies at rank 50",
        tables.wide_table(found, tables.RADII),
        f"## Labels and classes: {tables.OURS} minus full",
        tables.label_table(found),
        "## Our full model against celer's LASSO at matched penalties",
        tables.check_table(found),
        "## Score against non-zeros",
        "\n".join(f"![{path.stem}]({path.name})" for path in figures) or "No curve yet.",
        "## Every column of every set",
        tables.everything(found),
        _machines(cells),
    ]
    write_whole(folder / "tables.md", "\n\n".join(sections) + "\n")
    report.rows = [tables.verdict_row(one) for one in given]
    report.note(tables.verdict_sentence(given))
    report.note(f"{len(cells)} cells; all tables and figures: {folder / 'tables.md'}")


def _verdict_table(given: list[Verdict]) -> str:
    rows = [tables.verdict_row(one) for one in given]
    headings = list(rows[0]) if rows else ["set"]
    words = {True: "yes", False: "**no**"}
    cells = ([words[v] if isinstance(v, bool) else str(v) for v in row.values()] for row in rows)
    return markdown_table(headings, cells)


def _figures(cells: list[dict[str, Any]], found: tables.Summaries, folder: Path) -> list[Path]:
    drawn = []
    text_sets = {cell["task"] for cell in cells if cell.get("text")}
    for task in tables.tasks_of(found):
        columns = {column: one for (name, column), one in found.items() if name == task}
        path = folder / f"{task}.png"
        if task in text_sets and figure.draw(task, columns, path):
            drawn.append(path)
    return drawn


def _machines(cells: list[dict[str, Any]]) -> str:
    """Where and with what revision the cells were computed."""
    facts = [cell["machine"] for cell in cells if "machine" in cell]
    kinds = dict.fromkeys(
        f"{fact['cpu']}, {fact['cores']} cores, revision {fact['revision']}" for fact in facts
    )
    dates = sorted(fact["date"] for fact in facts)
    return f"{dates[0]} to {dates[-1]}; {'; '.join(kinds)}." if facts else "No cell yet."
