"""`sketchlasso stability`: features that are chosen again and again on half of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

import sketchlasso as sl
from sketchlasso.interfaces.commands.data import read_given
from sketchlasso.interfaces.commands.fitting import target_words
from sketchlasso.interfaces.commands.given import Given
from sketchlasso.interfaces.commands.options import DataOptions, File, Seed, Threads
from sketchlasso.interfaces.commands.outputs import check_outputs, save_picture
from sketchlasso.interfaces.commands.report import Bar, Report, Sheet
from sketchlasso.interfaces.commands.screen import Screen, Watcher

__all__ = ["stability"]


RULE = "Selection"


@dataclass(frozen=True)
class SelectionOptions:
    """How often a feature has to be chosen, of how many, and what is bounded."""

    pfer: Annotated[
        float | None,
        typer.Option(
            rich_help_panel=RULE,
            help="Expected number of false selections to accept at most; 1 by default.",
        ),
    ] = None
    cutoff: Annotated[
        float | None,
        typer.Option(
            rich_help_panel=RULE,
            help="Share of half-samples that a feature needs; 0.75 by default.",
        ),
    ] = None
    q: Annotated[
        int | None,
        typer.Option(
            "--q",
            rich_help_panel=RULE,
            help="Features chosen on each half-sample. Two of --pfer, --cutoff and --q decide the "
            "third.",
        ),
    ] = None
    assumption: Annotated[
        str,
        typer.Option(
            rich_help_panel=RULE,
            help="Of the bound: unimodal, r-concave, or none (Meinshausen and Buehlmann).",
        ),
    ] = "unimodal"
    pairs: Annotated[int, typer.Option(rich_help_panel=RULE, help="Pairs of half-samples.")] = 50
    intercept: Annotated[
        bool, typer.Option(rich_help_panel=RULE, help="Whether models have an intercept.")
    ] = True
    standardize: Annotated[
        bool,
        typer.Option(rich_help_panel=RULE, help="Divide columns by their standard deviations."),
    ] = True
    positive: Annotated[
        bool,
        typer.Option("--positive", rich_help_panel=RULE, help="Choose positive effects only."),
    ] = False
    threads: Threads = -1
    seed: Seed = 0

    def selector(self, watch: Watcher | None) -> sl.inference.StabilitySelection:
        """Return the selector that the options ask for."""
        return sl.inference.StabilitySelection(
            pfer=self.pfer,
            cutoff=self.cutoff,
            q=self.q,
            assumption=self.assumption,  # type: ignore[arg-type]
            n_pairs=self.pairs,
            fit_intercept=self.intercept,
            standardize=self.standardize,
            positive=self.positive,
            n_jobs=self.threads,
            random_state=self.seed,
            verbose=watch or False,
        )


def stability(
    file: File,
    data: DataOptions,
    rule: SelectionOptions,
    screen: Screen,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            show_default=False,
            help="Table to write: every feature, how often it was chosen, whether it is selected.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(show_default=False, help="Picture of the stability paths (.png, .svg, .pdf)."),
    ] = None,
    top: Annotated[int, typer.Option(help="How many features to show at most.", min=0)] = 20,
) -> Report:
    """Select features with a bound on the number of false ones.

    The rows are split in half again and again; features that are chosen on most halves are
    selected.
    """
    check_outputs(output, plot)
    given = read_given([file], data, needs_target=True)
    y, classes = given.signs(None)
    start = perf_counter()
    with screen.watching("half-samples") as watch:
        selector = rule.selector(watch).fit(given.X, y)
    seconds = perf_counter() - start
    wrote = _write(selector, given, output, plot)
    selected = f"{len(selector.get_support(indices=True))} of {given.X.shape[1]} features"
    bound = f"{selector.pfer_:.3g} false selections expected at most ({rule.assumption})"
    return Report(
        data={
            "command": "stability",
            "output": None if output is None else str(output),
            "plot": None if plot is None else str(plot),
            **_data(selector, given),
            "seconds": seconds,
        },
        facts=(
            ("data", given.words()),
            ("target", target_words(given, classes)),
            ("halves", f"{2 * rule.pairs}, {selector.q_} features chosen on each"),
            ("cutoff", f"{selector.cutoff_:g} of the halves"),
            ("bound", bound),
            ("selected", selected),
            ("seconds", f"{seconds:.2f}"),
            *wrote,
        ),
        sheets=_sheet(selector, given, top),
    )


def _data(selector: sl.inference.StabilitySelection, given: Given) -> dict[str, Any]:
    """What was selected, for machines."""
    return {
        "n_samples": given.X.shape[0],
        "n_features": given.X.shape[1],
        "target": given.target_name,
        "cutoff": selector.cutoff_,
        "q": selector.q_,
        "pfer": selector.pfer_,
        "assumption": selector.assumption,
        "selected": [
            {"feature": _name(given, j), "frequency": selector.frequencies_[j]}
            for j in selector.get_support(indices=True)
        ],
        "frequencies": selector.frequencies_,
    }


def _write(
    selector: sl.inference.StabilitySelection, given: Given, output: Path | None, plot: Path | None
) -> tuple[tuple[str, str], ...]:
    """Write the table and the picture that were asked for; facts that say so."""
    wrote: list[tuple[str, str]] = []
    if output is not None:
        columns = [selector.frequencies_, selector.get_support().astype(np.float64)]
        names = np.array([_name(given, j) for j in range(given.X.shape[1])])
        table = sl.io.Table(np.column_stack(columns), names, ("frequency", "selected"), "feature")
        sl.io.write_table(output, table)
        wrote.append(("wrote", str(output)))
    if plot is not None:
        save_picture(sl.plots.plot_stability(selector, feature_names=given.names).ax_, plot)
        wrote.append(("wrote", str(plot)))
    return tuple(wrote)


def _sheet(selector: sl.inference.StabilitySelection, given: Given, top: int) -> tuple[Sheet, ...]:
    """The features chosen most often, down to half of the cutoff."""
    often = selector.frequencies_
    order = np.argsort(-often, kind="stable")[:top]
    order = order[often[order] >= 0.5 * selector.cutoff_]
    if len(order) == 0:
        return ()
    support = selector.get_support()
    rows = tuple(
        (_name(given, j), float(often[j]), "selected" if support[j] else "", Bar(float(often[j])))
        for j in order
    )
    return (Sheet("share of half-samples", ("feature", "share", "", ""), rows),)


def _name(given: Given, j: Any) -> str:
    return f"feature {j}" if given.names is None else given.names[int(j)]
