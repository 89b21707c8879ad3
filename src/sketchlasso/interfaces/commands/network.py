"""`sketchlasso network`: which columns of a table explain which."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import typer

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError, UnusableColumnsError
from sketchlasso.interfaces.cli import resumable
from sketchlasso.interfaces.commands import options, outputs
from sketchlasso.interfaces.commands.data import Given, at_work, read_given
from sketchlasso.interfaces.commands.describe import feature_name
from sketchlasso.interfaces.commands.screen import Report, Screen, Sheet, facts_of, sheet_of

CHOICES = ("stars", "ebic", "cv")


@dataclass(frozen=True)
class NetworkOptions:
    """Which columns are regressed on which, and when they are linked."""

    panel: ClassVar[str] = "Network"
    targets: Annotated[
        str | None,
        "Columns to explain: names separated by commas, or a file with one per line. All by "
        "default.",
    ] = None
    predictors: Annotated[
        str | None, "Columns that may explain them, given in the same way. All by default."
    ] = None
    alpha: Annotated[
        str,
        "Penalty: pivotal, a number, or stars, ebic or cv to choose one by stability, extended "
        "BIC or likelihood.",
    ] = "pivotal"
    rule: Annotated[
        Literal["and", "or"], "Link columns if either (or) or each (and) explains the other."
    ] = "and"
    half_samples: Annotated[
        int, "Even number of half-samples to measure the stability of links by."
    ] = 0
    min_stability: Annotated[
        float,
        typer.Option(
            help="Keep links found in at least this share of the half-samples.", min=0, max=1
        ),
    ] = 0.0
    p_values: Annotated[bool, "Test links whose two columns were both explained."] = False
    tol: Annotated[float, "Relative duality gap, on the full data."] = 1e-6
    device: options.Device = "cpu"
    communities: Annotated[bool, "Find groups of columns, and write them too."] = False
    drop_isolated: Annotated[bool, "Leave out columns without links."] = False

    def __post_init__(self) -> None:
        if self.min_stability > 0 and not self.half_samples:
            raise InvalidInputError("--min-stability needs --half-samples; give an even number.")
        chosen = options.penalty_of(self.alpha, *CHOICES) in CHOICES
        if chosen and (self.targets is not None or self.predictors is not None):
            raise InvalidInputError(
                f"--alpha {self.alpha} cannot be combined with --targets or --predictors, because "
                "it compares graphs of all columns; give a number or pivotal, or leave those out."
            )

    def penalty(self, given: Given, seed: int) -> float | str:
        """Return the penalty of all regressions, chosen on all columns if asked."""
        level: Any = options.penalty_of(self.alpha, *CHOICES)
        if level not in CHOICES:
            return level
        search = sl.inference.SparsePrecision(
            level, rule=self.rule, random_state=seed, tol=self.tol
        )
        try:
            return search.fit(given.X).alpha_
        except UnusableColumnsError as refused:
            name = feature_name(given.names, refused.columns[0])
            raise InvalidInputError(
                f"--alpha {level} cannot choose a penalty, because column {name} is an exact "
                "combination of others; leave it out."
            ) from None


def network(
    file: options.Files,
    data: options.BlockOptions,
    asked: NetworkOptions,
    picture: outputs.PlotOptions,
    screen: Screen,
    output: outputs.GraphFile,
    top: options.Top = 10,
    seed: options.Seed = 0,
    verbose: options.Verbose = False,
) -> Report:
    """Find which columns explain which, and write the graph.

    One regression per column, on the full data. After an interruption, run the same command again
    to resume.
    """
    outputs.check_graph_file(output, asked.communities)
    given = read_given(file, data)
    start = perf_counter()
    counting = screen.counting("regressing columns", "regressions")
    with resumable(output), counting as count, at_work(given, data, None):
        found = sl.inference.neighbourhoods(
            given.X,
            _listed("--targets", asked.targets),
            _listed("--predictors", asked.predictors),
            names=given.names,
            alpha=asked.penalty(given, seed),
            n_half_samples=asked.half_samples,
            p_values=asked.p_values,
            tol=asked.tol,
            device=asked.device,
            random_state=seed,
            checkpoint=output,
            progress=count,
        )
    seconds = perf_counter() - start
    graph = found.graph(asked.rule, min_stability=asked.min_stability)
    if asked.drop_isolated:
        graph.remove_nodes_from([name for name, links in graph.degree if links == 0])
    if not graph.edges:
        warnings.warn(
            "there are no links at this penalty; give a smaller --alpha, or --rule or", stacklevel=2
        )
    if picture.plot is not None:
        axes = outputs.panels([["network"]], height=5.2)["network"]
        picture.save(sl.plots.plot_network(graph, ax=axes))
    written = outputs.write_graph(graph, output, asked.communities, seed)
    document = {
        "n_samples": given.X.shape[0],
        "alpha": float(found.regressions.alpha.max()),
        **written.data,
        "n_targets": len(found.targets),
        "n_predictors": len(found.predictors),
        "n_half_samples": found.n_half_samples,
    }
    details = {"worst_gap": found.regressions.worst_gap, "seconds": seconds}
    return Report(
        {**document, **details},
        facts=facts_of({**document, **details} if verbose else document),
        sheets=(*_links_sheet(graph, top), *written.sheets),
        fell_short=not graph.edges,
        closing=f"explore it in the browser: sketchlasso explore {output} --open",
    )


def _listed(option: str, text: str | None) -> list[str] | None:
    """Read names, one per line of a file or separated by commas."""
    if text is None:
        return None
    lines = text.split(",")
    if Path(text).is_file():
        lines = options.read_lines(Path(text), "name", option)
    return [name.strip() for name in lines if name.strip()]


def _links_sheet(graph: Any, top: int) -> tuple[Sheet, ...]:
    links = sorted(graph.edges(data=True), key=lambda link: -abs(link[2]["weight"]))
    names = [
        name for name in ("weight", "stability", "p_value") if any(name in x[2] for x in links)
    ]
    columns = [("column", [link[0] for link in links]), ("column", [link[1] for link in links])]
    columns += [(name.replace("_", "-"), [x[2].get(name, np.nan) for x in links]) for name in names]
    places = range(min(top, len(links)))
    return sheet_of(f"{len(places)} of {len(links)} links, the strongest", columns, places)
