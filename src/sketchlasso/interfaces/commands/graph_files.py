"""Graphs that commands write, and what they say of their groups."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces.commands.outputs import output_option
from sketchlasso.interfaces.commands.report import Sheet

__all__ = ["GraphFile", "check_graph_file", "communities_sheet", "members_of", "write_graph"]

COMMUNITIES_SHOWN, MEMBERS_SHOWN = 12, 8

GraphFile = Annotated[
    Path,
    output_option(
        "The graph to write: .graphml, .gexf, .json (nodes and links) or .csv (links only)."
    ),
]


def check_graph_file(output: Path, communities: bool) -> None:
    """Refuse before the work a file that cannot hold its result."""
    if sl.graphs.graph_ending(output) == ".csv" and communities:
        raise InvalidInputError(
            f"--communities was given, but {output} is a list of links without a place for them; "
            "write .graphml, .gexf or .json."
        )


def write_graph(graph: sl.graphs.Graph, groups: Any, output: Path) -> None:
    """Write a graph with the groups (n_nodes,) of its nodes, or None."""
    sl.graphs.write_graph(output, graph, None if groups is None else {"community": groups})


def members_of(graph: sl.graphs.Graph, groups: Any) -> list[dict[str, Any]]:
    """Every community with its size and its most linked nodes."""
    degrees, names = graph.degrees, np.array(graph.names)
    found = []
    for label in range(int(groups.max(initial=-1)) + 1):
        inside = np.flatnonzero(groups == label)
        best = inside[np.argsort(-degrees[inside], kind="stable")[:MEMBERS_SHOWN]]
        found.append({"size": len(inside), f"{graph.node_word}s": names[best].tolist()})
    return found


def communities_sheet(communities: list[dict[str, Any]], nodes: str) -> Sheet:
    """The largest communities, one row each."""
    shown = communities[:COMMUNITIES_SHOWN]
    title = f"{len(shown)} of {len(communities)} communities, the most linked {nodes} of each"
    rows = tuple((one["size"], ", ".join(one[nodes])) for one in shown)
    return Sheet(title, (nodes, "such as"), rows)
