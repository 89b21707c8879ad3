"""Graphs from files: what `Graph` writes, and what other programs write in the same formats."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from sketchlasso.errors import StoredFileError
from sketchlasso.files.source import COMPRESSIONS, Source
from sketchlasso.graphs.graph import Graph, Rule, import_networkx

__all__ = ["read_graph"]

# Names of nodes, links with their attributes, and attributes of the graph.
Parts: TypeAlias = tuple[Iterable[Any], Iterable[tuple[Any, Any, Mapping[str, Any]]], Any]


def read_graph(path: str | os.PathLike[str]) -> Graph:
    """Read a graph from GraphML, GEXF, JSON (nodes and links) or a CSV list of links.

    Links that point both ways become one, the stronger; links of a node with itself and links of
    weight zero are left out. A link without a weight has weight 1.

    Parameters
    ----------
    path : path-like
        The ending names the format: .graphml, .gexf, .json or .csv, each also compressed (.gz,
        .bz2, .xz). GraphML and GEXF need networkx (extra `graph`).

    Returns
    -------
    Graph
        With the numbers that all links have as `edge_attributes`. A list of links knows no nodes
        without links. Where the file does not name the rule, it is "or".

    Raises
    ------
    StoredFileError
        The file is not there, or holds no graph.
    """
    place = Path(path)
    endings = [ending.lower() for ending in place.suffixes]
    compression = COMPRESSIONS.get(endings[-1]) if endings else None
    ending = next(iter(endings[-2:-1] if compression else endings[-1:]), "")
    if ending not in READERS:
        raise StoredFileError(
            f"{place} does not say what it holds, but a graph in a file that ends in "
            f"{', '.join(READERS)} is read; rename it by what it holds."
        )
    source = Source(place, "graph", compression)
    try:
        return _graph(*READERS[ending](source))
    except (ValueError, KeyError, TypeError, AttributeError, SyntaxError) as problem:
        if isinstance(problem, StoredFileError):
            raise
        reason = " ".join(str(problem).split()).rstrip(".") or type(problem).__name__
        raise StoredFileError(
            f"{place} holds no graph ({reason}); give a file that the command network or "
            "Graph.to_graphml has written."
        ) from problem


def _from_json(source: Source) -> Parts:
    with source.open_text() as file:
        content = json.load(file)
    links = content["links"] if "links" in content else content["edges"]
    return (
        [node["id"] for node in content["nodes"]],
        [(link["source"], link["target"], link) for link in links],
        content.get("graph", {}),
    )


def _from_csv(source: Source) -> Parts:
    with source.open_text() as file:
        rows = list(csv.DictReader(file))
    links = [(row["source"], row["target"], row) for row in rows]
    return dict.fromkeys(end for *ends, _ in links for end in ends), links, {}


def _from_xml(reader: str) -> Callable[[Source], Parts]:
    def read(source: Source) -> Parts:
        networkx = import_networkx("reading GraphML and GEXF")
        try:
            with source.open() as file:
                found = getattr(networkx, reader)(file)
        except networkx.NetworkXException as problem:
            raise ValueError(str(problem)) from problem
        return found.nodes, found.edges(data=True), found.graph

    return read


READERS: dict[str, Callable[[Source], Parts]] = {
    ".graphml": _from_xml("read_graphml"),
    ".gexf": _from_xml("read_gexf"),
    ".json": _from_json,
    ".csv": _from_csv,
}


def _graph(nodes: Iterable[Any], links: Iterable[tuple[Any, Any, Any]], about: Any) -> Graph:
    """A graph of parts that nobody has checked."""
    place = {str(name): number for number, name in enumerate(nodes)}
    found: dict[tuple[int, int], tuple[float, Mapping[str, Any]]] = {}
    for source, target, facts in links:
        ends = sorted((_known(place, source), _known(place, target)))
        pair, weight = (ends[0], ends[1]), _weight(facts)
        if ends[0] != ends[1] and abs(weight) > abs(found.get(pair, (0.0,))[0]):
            found[pair] = (weight, facts)
    if not place:
        raise ValueError("it has no nodes")
    pairs = sorted(found)
    rule: Rule = "and" if about.get("rule") == "and" else "or"
    return Graph(
        tuple(place),
        np.array(pairs, dtype=np.intp).reshape(-1, 2),
        np.array([found[pair][0] for pair in pairs], dtype=np.float64),
        rule,
        _attributes([found[pair][1] for pair in pairs]),
    )


def _known(place: Mapping[str, int], name: Any) -> int:
    if str(name) not in place:
        raise ValueError(f"a link ends at {str(name)!r}, which is no node")
    return place[str(name)]


def _weight(facts: Mapping[str, Any]) -> float:
    """The signed weight of a link."""
    weight = _number(facts.get("weight", 1.0))
    if weight is None:
        raise ValueError(f"a link has the weight {facts['weight']!r}")
    sign = _number(facts.get("sign"))
    return weight if sign is None else math.copysign(weight, sign)


def _attributes(facts: list[Mapping[str, Any]]) -> dict[str, Any]:
    """What all links have, where it is numbers."""
    taken = {"source", "target", "weight", "sign", "id", "key"}
    found = {}
    for name in facts[0] if facts else ():
        values = [_number(one.get(name)) for one in facts]
        if name not in taken and None not in values:
            found[str(name)] = np.array(values, dtype=np.float64)
    return found


def _number(value: Any) -> float | None:
    """A finite number, or None."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) and not isinstance(value, bool) else None
