"""Results as one screen of text, and as tables of HTML for notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sketchlasso.results.choices import CrossValidation
    from sketchlasso.results.leave_one_out import LeaveOneOut
    from sketchlasso.results.path import Path

MOST_ROWS = 12  # of a table, so that it fits on one screen with what is around it


@dataclass(frozen=True)
class Screen:
    """A title, facts with their labels, a table by columns, and a remark below it."""

    title: str
    facts: Sequence[tuple[str, str]]
    columns: Mapping[str, Any]
    closing: str

    def text(self) -> str:
        """Return aligned text: words on the left of their column, numbers on the right."""
        width = max(len(label) for label, _ in self.facts)
        lines = [self.title, *(f"{label:<{width}}  {words}" for label, words in self.facts)]
        aligned = []
        for heading, values in self.columns.items():
            cells = [heading, *map(shown, values)]
            longest, words = max(map(len, cells)), any(isinstance(value, str) for value in values)
            aligned.append(
                [cell.ljust(longest) if words else cell.rjust(longest) for cell in cells]
            )
        if aligned:
            lines += ["", *("   ".join(row).rstrip() for row in zip(*aligned, strict=True))]
        return "\n".join([*lines, self.closing] if self.closing else lines)

    def html(self) -> str:
        """Return the same as HTML."""

        def line(cells: Any, tag: str) -> str:
            inner = "".join(f"<{tag}>{escape(shown(cell))}</{tag}>" for cell in cells)
            return f"<tr>{inner}</tr>"

        facts = "".join(
            "<tr><th>{}</th><td>{}</td></tr>".format(*map(escape, fact)) for fact in self.facts
        )
        rows = "".join(line(row, "td") for row in zip(*self.columns.values(), strict=True))
        table = f"<table>{line(self.columns, 'th')}{rows}</table>" if rows else ""
        title, closing = escape(self.title), escape(self.closing)
        return f"<p>{title}</p><table>{facts}</table>{table}<p>{closing}</p>"


class Shown:
    """A result that notebooks and terminals show as one screen."""

    def _screen(self) -> Screen:
        raise NotImplementedError

    def __repr__(self) -> str:
        return self._screen().text()

    def _repr_html_(self) -> str:
        return self._screen().html()


def shown(value: Any) -> str:
    """Return a number of four digits, or at most forty letters; a dash for NaN."""
    if isinstance(value, float | np.floating):
        return "-" if np.isnan(value) else f"{value:.4g}"
    words = str(value)
    return words if len(words) <= 40 else f"{words[:37]}..."


def counted(count: int, thing: str, things: str = "") -> str:
    """Return a number of things in words."""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def gap_words(gap: Any) -> str:
    """Say what the largest of some relative gaps proves; NaN is of problems left out."""
    worst = float(np.max(np.nan_to_num(gap), initial=0.0))
    share = f" by more than a {worst:.1g} share" if worst else ""
    return f"no other coefficients lower the objective{share}"


def path_screen(path: Path) -> Screen:
    """Number of features, share explained and penalty, as glmnet prints a path."""
    row_sets, responses, radii, alphas = path.shape
    several = ((row_sets, "row sets"), (responses, "responses"), (radii, "radii"))
    others = [f"the first of {count} {things}" for count, things in several if count > 1]
    rows = np.unique(np.linspace(0, alphas - 1, min(alphas, MOST_ROWS)).round().astype(int))
    title = f"Path of {counted(alphas, 'penalty', 'penalties')}"
    return Screen(
        f"{title} ({', '.join(others)})" if others else title,
        [("gap", gap_words(path.relative_gap))],
        {
            "features": path.models.n_nonzero[rows],
            "explained": path.explained[rows],
            "penalty": path.alphas[0, 0, rows],
        },
        f"{len(rows)} of {alphas} penalties are shown" if len(rows) < alphas else "",
    )


def search_screen(search: CrossValidation) -> Screen:
    """The best point and the one within a standard error, of each of the first responses."""
    folds, responses, radii, alphas = search.fits.shape
    first = search.first_metric
    table: dict[str, list[Any]] = {}
    for response in range(min(responses, MOST_ROWS // 2)):
        for rule in ("min", "1se"):
            choice = search.best(response=response, rule=rule)
            at = (response, choice.radius_index, choice.alpha_index)
            row: dict[str, Any] = {"response": response} if responses > 1 else {}
            row["rule"] = rule
            row |= {
                "penalty": choice.alpha,
                "radius": float(search.radius[:, *at].mean()),
                "features": float(search.n_nonzero[:, *at].mean()),
                **{str(metric): float(search.mean(metric)[at]) for metric in search.scores},
                f"error of {first}": float(search.standard_error()[at]),
            }
            for name, value in row.items():
                table.setdefault(name, []).append(value)
    grid = f"{counted(alphas, 'penalty', 'penalties')} x {counted(radii, 'radius', 'radii')}"
    more = responses - MOST_ROWS // 2
    return Screen(
        f"Search of {grid} on {counted(folds, 'fold')}",
        [("gap", gap_words(search.relative_gap))],
        table,
        f"{counted(more, 'response')} more" if more > 0 else "",
    )


def left_out_screen(found: LeaveOneOut) -> Screen:
    """The rows whose absence moves the coefficients most."""
    rows = np.argsort(-found.coefficient_shift, kind="stable")[:MOST_ROWS]
    error = float(np.sqrt(np.mean(found.residuals**2)))
    return Screen(
        f"{counted(len(found.rows), 'row')} predicted without themselves",
        [
            ("error", f"{error:.4g} (root mean square of the residuals)"),
            ("gap", gap_words(found.relative_gap)),
        ],
        {
            "row": found.rows[rows],
            "prediction": found.predictions[rows],
            "residual": found.residuals[rows],
            "coefficient shift": found.coefficient_shift[rows],
            "gained": found.features_gained[rows],
            "lost": found.features_lost[rows],
        },
        f"the {len(rows)} of largest influence" if len(rows) < len(found.rows) else "",
    )
