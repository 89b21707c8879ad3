"""Graphs that commands write, and what they say of their groups."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces.commands.outputs import output_option
from sketchlasso.interfaces.commands.report import Sheet

__all__ = ["GraphFile", "communities_sheet", "graph_ending", "members_of", "write_graph"]

ENDINGS = (".graphml", ".gexf", ".json", ".csv", ".csv.gz")
COMMUNITIES_SHOWN, MEMBERS_SHOWN = 12, 8

GraphFile = Annotated[
    Path,
    output_option(
        "The graph to write: .graphml, .gexf, .json (nodes and links) or .csv (links only)."
    ),
]


def graph_ending(output: Path, communities: bool) -> str:
    """Return how the file's name ends, which says what to write."""
    ending = next((one for one in ENDINGS if output.name.lower().endswith(one)), None)
    if ending is None:
        raise InvalidInputError(
            f"--output {output} was given, but the ending says what to write; end it in .graphml, "
            ".gexf, .json or .csv."
        )
    if communities and ending.startswith(".csv"):
        raise InvalidInputError(
            f"--communities was given, but {output} is a list of links without a place for them; "
            "write .graphml, .gexf or .json."
        )
    return ending


def write_graph(graph: sl.graphs.Graph, groups: Any, output: Path, ending: str) -> None:
    """Write a graph in the format of an ending, with the groups (n_nodes,) or None."""
    attributes = None if groups is None else {"community": groups}
    if ending == ".graphml":
        graph.to_graphml(output, attributes)
    elif ending == ".gexf":
        graph.to_gexf(output, attributes)
    elif ending == ".json":
        graph.to_json(output, attributes)
    else:
        graph.to_csv(output)


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
