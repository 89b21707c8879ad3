"""`sketchlasso stability`: features that are chosen again and again on half of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, ClassVar

import numpy as np
import typer

import sketchlasso as sl
from sketchlasso.interfaces.commands.data import read_given
from sketchlasso.interfaces.commands.describe import feature_name, target_words
from sketchlasso.interfaces.commands.given import Given
from sketchlasso.interfaces.commands.options import DataOptions, File, Seed, Threads
from sketchlasso.interfaces.commands.outputs import (
    check_outputs,
    output_option,
    plot_option,
    save_picture,
)
from sketchlasso.interfaces.commands.report import Bar, Report, Sheet, wrote
from sketchlasso.interfaces.commands.screen import Screen, Watcher

__all__ = ["stability"]


@dataclass(frozen=True)
class SelectionOptions:
    """How often a feature has to be chosen, of how many, and what is bounded."""

    panel: ClassVar[str] = "Selection"
    pfer: Annotated[
        float | None,
        typer.Option(help="Expected number of false selections to accept at most; 1 by default."),
    ] = None
    cutoff: Annotated[
        float | None,
        typer.Option(help="Share of half-samples that a feature needs; 0.75 by default."),
    ] = None
    q: Annotated[
        int | None,
        typer.Option(
            "--q",
            help="Features chosen on each half-sample. Two of --pfer, --cutoff and --q decide the "
            "third.",
        ),
    ] = None
    assumption: Annotated[
        str,
        typer.Option(
            help="Of the bound: unimodal, r-concave, or none (Meinshausen and Buehlmann)."
        ),
    ] = "unimodal"
    pairs: Annotated[int, typer.Option(help="Pairs of half-samples.")] = 50
    intercept: Annotated[bool, typer.Option(help="Whether models have an intercept.")] = True
    standardize: Annotated[
        bool, typer.Option(help="Divide columns by their standard deviations.")
    ] = True
    positive: Annotated[bool, typer.Option("--positive", help="Choose positive effects only.")] = (
        False
    )
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
        output_option(
            "Table to write: every feature, how often it was chosen, whether it is selected."
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        plot_option("Picture of the stability paths"),
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
    given.note_on_gaps("gaps were filled from all rows before the rows were split in half")
    written = _write(selector, given, output, plot)
    selected = f"{len(selector.get_support(indices=True))} of {given.X.shape[1]} features"
    bound = f"{selector.pfer_:.3g} false selections expected at most ({rule.assumption})"
    return Report(
        data={
            "command": "stability",
            "output": output,
            "plot": plot,
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
            *written,
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
            {"feature": feature_name(given.names, int(j)), "frequency": selector.frequencies_[j]}
            for j in selector.get_support(indices=True)
        ],
        "frequencies": selector.frequencies_,
    }


def _write(
    selector: sl.inference.StabilitySelection, given: Given, output: Path | None, plot: Path | None
) -> tuple[tuple[str, str], ...]:
    """Write the table and the picture that were asked for; facts that say so."""
    if output is not None:
        columns = [selector.frequencies_, selector.get_support().astype(np.float64)]
        names = np.array([feature_name(given.names, j) for j in range(given.X.shape[1])])
        table = sl.io.Table(np.column_stack(columns), names, ("frequency", "selected"), "feature")
        sl.io.write_table(output, table)
    if plot is not None:
        save_picture(sl.plots.plot_stability(selector, feature_names=given.names).ax_, plot)
    return wrote(output, plot)


def _sheet(selector: sl.inference.StabilitySelection, given: Given, top: int) -> tuple[Sheet, ...]:
    """The features chosen most often, down to half of the cutoff."""
    often = selector.frequencies_
    order = np.argsort(-often, kind="stable")[:top]
    order = order[often[order] >= 0.5 * selector.cutoff_]
    if len(order) == 0:
        return ()
    support = selector.get_support()
    rows = tuple(
        (
            feature_name(given.names, int(j)),
            float(often[j]),
            "selected" if support[j] else "",
            Bar(float(often[j])),
        )
        for j in order
    )
    return (Sheet("share of half-samples", ("feature", "share", "", ""), rows),)
