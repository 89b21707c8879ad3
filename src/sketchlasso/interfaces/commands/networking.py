"""`sketchlasso network`: which columns of a table explain which."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, ClassVar

import numpy as np
import typer

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError, StoredFileError, UnusableColumnsError
from sketchlasso.interfaces.cli import resumable
from sketchlasso.interfaces.commands import options, outputs
from sketchlasso.interfaces.commands.data import Given, at_work, read_given
from sketchlasso.interfaces.commands.describe import feature_name
from sketchlasso.interfaces.commands.report import Report, Sheet, sheet_of
from sketchlasso.interfaces.commands.screen import Screen

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
    rule: Annotated[str, "Link columns if either (or) or each (and) explains the other."] = "and"
    half_samples: Annotated[
        int, "Even number of half-samples to measure the stability of links by."
    ] = 0
    min_stability: Annotated[
        float, "Keep links found in at least this share of the half-samples."
    ] = 0.0
    p_values: Annotated[bool, "Test links whose two columns were both explained."] = False
    tol: Annotated[float, "Relative duality gap, on the full data."] = 1e-6
    device: options.Device = "cpu"

    def __post_init__(self) -> None:
        options.check_choice("--rule", self.rule, ("and", "or"))
        if not 0 <= self.min_stability <= 1 or (self.min_stability > 0 and not self.half_samples):
            raise InvalidInputError(
                "--min-stability must be a share from 0 to 1, with --half-samples if it is above "
                f"0, not {self.min_stability:g}."
            )

    def penalty(self, given: Given, seed: int) -> float | str:
        """Return the penalty of all regressions, chosen on all columns if asked."""
        level: Any = options.penalty_of(self.alpha, *CHOICES)
        if level not in CHOICES:
            return level
        if self.targets is not None or self.predictors is not None:
            raise InvalidInputError(
                f"--alpha {level} cannot be combined with --targets or --predictors, because it "
                "compares graphs of all columns; give a number or pivotal, or leave those out."
            )
        rule: Any = self.rule
        chosen = sl.inference.SparsePrecision(level, rule=rule, random_state=seed, tol=self.tol)
        try:
            return chosen.fit(given.X).alpha_
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
    screen: Screen,
    output: outputs.GraphFile,
    communities: Annotated[bool, "Find groups of columns, and write them too."] = False,
    drop_isolated: Annotated[bool, "Leave out columns without links."] = False,
    plot: Annotated[Path | None, "Picture of the graph (.png, .svg, .pdf)."] = None,
    top: Annotated[int, typer.Option(help="How many links to show, strongest first.", min=0)] = 10,
    verbose: options.Verbose = False,
    seed: options.Seed = 0,
) -> Report:
    """Find which columns explain which, and write the graph.

    One regression per column, on the full data. After an interruption, run the same command again
    to resume.
    """
    outputs.check_graph_file(output, communities)
    given = read_given(file, data)
    start = perf_counter()
    counting = screen.counting("regressing columns", "regressions")
    with resumable(output), counting as count, at_work(given, data, None):
        found = sl.inference.neighbourhoods(
            given.X,
            _listed("--targets", asked.targets, given.names),
            _listed("--predictors", asked.predictors, given.names),
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
    rule: Any = asked.rule
    graph = found.graph(rule, min_stability=asked.min_stability)
    if drop_isolated:
        graph.remove_nodes_from([name for name, links in graph.degree if links == 0])
    if not graph.edges:
        warnings.warn(
            "there are no links at this penalty; give a smaller --alpha, or --rule or", stacklevel=2
        )
    if plot is not None:
        axes = outputs.panels([["network"]], height=5.2)["network"]
        outputs.save_picture(sl.plots.plot_network(graph, ax=axes), plot)
    written = outputs.write_graph(graph, output, communities, seed, noun="column", verb="explains")
    details = (
        ("regressions", f"{len(found.targets) * (1 + found.n_half_samples)} in {seconds:.2f} s"),
        ("gap", f"{found.regressions.worst_gap:.1e} relative, at worst"),
    )
    alpha = float(found.regressions.alpha.max())
    first = (("data", given.words()), ("alpha", f"{alpha:.4g}"))
    return Report(
        {
            **written.data,
            "alpha": alpha,
            "n_targets": len(found.targets),
            "n_predictors": len(found.predictors),
            "n_half_samples": found.n_half_samples,
            "worst_gap": found.regressions.worst_gap,
            "seconds": seconds,
        },
        facts=(*first, *written.facts, *(details if verbose else ())),
        sheets=(*_links_sheet(graph, top), *written.sheets),
        fell_short=not graph.edges,
        closing=f"explore it in the browser: sketchlasso explore {output} --open",
    )


def _listed(option: str, text: str | None, columns: Sequence[str] | None) -> list[str] | None:
    """Read names, one per line of a file or separated by commas."""
    if text is None:
        return None
    path = Path(text)
    if path.is_file():
        return [name for name in options.read_lines(path, "name", f"{option} ") if name]
    if (path.suffix or path.name != text) and "," not in text and text not in (columns or ()):
        raise StoredFileError(
            f"{option} {text} was given, but there is neither such a file nor such a column; give "
            "the path of a file with one name per line, or names separated by commas."
        )
    return [name.strip() for name in text.split(",") if name.strip()]


def _links_sheet(graph: Any, top: int) -> tuple[Sheet, ...]:
    links = sl.graphs.links_of(graph)
    order = np.argsort(-np.abs(links.weights), kind="stable")[:top]
    first, second = np.array(links.names)[links.edges].T
    facts = [facts for *_, facts in graph.edges(data=True)]
    columns = [("column", first), ("column", second), ("weight", links.weights)]
    for name in ("stability", "p_value"):
        if any(name in one for one in facts):
            values = np.array([one.get(name, np.nan) for one in facts])
            columns.append((name.replace("_", "-"), values))
    return sheet_of(f"{len(order)} of {len(links.edges)} links, the strongest", columns, order)
