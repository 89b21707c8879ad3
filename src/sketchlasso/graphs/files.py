"""Files of a graph: GraphML, GEXF, JSON and lists of links, by networkx."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import math
import os
from pathlib import Path
from typing import Any

from sketchlasso.errors import InvalidInputError, StoredFileError
from sketchlasso.io.source import require
from sketchlasso.storage import replacing

ENDINGS = (".graphml", ".gexf", ".json", ".csv")
COMPRESSED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}


def graph_ending(path: Path) -> str:
    """Return the ending of a graph file, one of ENDINGS, without that of its compression."""
    ending = (path.with_suffix("") if path.suffix.lower() in COMPRESSED else path).suffix.lower()
    if ending not in ENDINGS:
        raise InvalidInputError(
            f"{path} does not end like the name of a graph file; end it in {', '.join(ENDINGS)}."
        )
    return ending


def write_graph(path: str | os.PathLike[str], graph: Any) -> None:
    """Write a graph to a file, completely or not at all.

    Parameters
    ----------
    path : path-like
        The ending names the format, also before .gz or .bz2: .graphml (Gephi, yEd, igraph,
        Cytoscape), .gexf (Gephi), .json (nodes and links, as d3 and
        ``networkx.node_link_graph(edges="links")`` read them) or .csv (a list of links without
        the attributes of the nodes).
    graph : networkx.Graph
        Its attributes must be numbers and texts.
    """
    networkx = require("networkx", "writing a graph", "graph")
    ending, content = graph_ending(Path(path)), io.BytesIO()
    try:
        if ending == ".json":
            data = networkx.node_link_data(graph, edges="links")
            content.write(json.dumps(data, allow_nan=False).encode())
        elif ending == ".csv":
            names = dict.fromkeys(name for *_, facts in graph.edges(data=True) for name in facts)
            text = io.StringIO()
            fields = ("source", "target", *(names or ("weight", "sign")))
            writer = csv.DictWriter(text, fields, lineterminator="\n")
            writer.writeheader()
            writer.writerows({"source": i, "target": j, **f} for i, j, f in graph.edges(data=True))
            content.write(text.getvalue().encode())
        else:
            labelled = graph.copy()
            for name, facts in labelled.nodes(data=True):
                facts.setdefault("label", str(name))
            write = networkx.write_graphml_xml if ending == ".graphml" else networkx.write_gexf
            write(labelled, content)
    except (networkx.NetworkXException, TypeError, ValueError) as problem:
        raise InvalidInputError(
            f"{path} cannot hold the graph ({problem}); give it attributes that are finite "
            "numbers or texts."
        ) from problem
    with replacing(Path(path), compress=True) as file:
        file.write(content.getbuffer())


def read_graph(path: str | os.PathLike[str]) -> Any:
    """Read a graph from GraphML, GEXF, JSON (nodes and links) or a CSV list of links.

    Links that point both ways become one, the stronger; links of a node with itself and links of
    weight zero are left out. A link without a weight has weight 1.

    Parameters
    ----------
    path : path-like
        The ending names the format: .graphml, .gexf, .json or .csv, each also compressed (.gz,
        .bz2).

    Returns
    -------
    networkx.Graph
        Of named nodes, with a `weight` above zero and a `sign` for every edge beside the numbers
        that the file has. A list of links has no nodes without links.
    """
    networkx = require("networkx", "reading a graph", "graph")
    place, ending = Path(path), graph_ending(Path(path))
    try:
        with COMPRESSED.get(place.suffix.lower(), open)(place, "rb") as file:
            content = file.read()
        if ending == ".json":
            data = json.loads(content)
            graph = networkx.node_link_graph(data, edges="links" if "links" in data else "edges")
        elif ending == ".csv":
            rows = csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline=""))
            graph = networkx.MultiGraph((row.pop("source"), row.pop("target"), row) for row in rows)
        else:
            read = networkx.read_graphml if ending == ".graphml" else networkx.read_gexf
            graph = read(io.BytesIO(content))
        return _undirected(graph, networkx.Graph(rule=graph.graph.get("rule", "or")))
    except Exception as problem:  # parsers raise all kinds of errors
        reason = " ".join(str(problem).split())[:200]
        raise StoredFileError(
            f"{place} holds no graph ({reason}); give a file that the command network or "
            "write_graph has written."
        ) from problem


def _undirected(graph: Any, simple: Any) -> Any:
    """Fill a simple graph with the nodes of another and the strongest link of each pair."""
    links = []
    for i, j, facts in graph.edges(data=True):
        numbers = {name: _number(value) for name, value in facts.items() if name != "id"}
        weight = float(facts.get("weight", 1.0))
        signed = math.copysign(weight, numbers.get("sign") or weight)
        if not math.isfinite(signed):
            raise ValueError(f"a link has the weight {signed}")
        numbers |= {"weight": abs(signed), "sign": 1 if signed > 0 else -1}
        if i != j and signed:
            links.append((str(i), str(j), {k: v for k, v in numbers.items() if v is not None}))
    simple.add_nodes_from((str(name), facts) for name, facts in graph.nodes(data=True))
    if not len(simple):
        raise ValueError("it has no nodes")
    # The last link of a pair stays.
    simple.add_edges_from(sorted(links, key=lambda link: link[2]["weight"]))
    return simple


def _number(value: Any) -> float | None:
    """A finite number, or None."""
    try:
        return float(value) if math.isfinite(float(value)) else None
    except (TypeError, ValueError):
        return None
