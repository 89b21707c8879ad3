"""`sketchlasso explore`: a network in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import sketchlasso as sl
from sketchlasso.interfaces.commands.report import Report
from sketchlasso.interfaces.commands.screen import Screen
from sketchlasso.interfaces.commands.topics.options import ViewOptions

__all__ = ["explore"]


def explore(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="GRAPH",
            show_default=False,
            help="A file written by network or topics graph: .graphml, .gexf, .json or .csv.",
        ),
    ],
    view: ViewOptions,
    screen: Screen,
) -> Report:
    """Explore a network in the browser.

    Serves a page and a JSON API, by default to this machine only, until Ctrl-C.
    """
    graph = sl.graphs.read_graph(file)
    view.serve(graph, source=file.name, json=screen.json)
    return Report(
        {"command": "explore", "n_nodes": len(graph.names), "n_links": len(graph.edges)},
        text="the explorer ended",
    )
