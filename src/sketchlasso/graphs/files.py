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
        The ending names the format, also before .gz or .bz2: .graphml, .gexf, .json (as
        ``networkx.node_link_graph(edges="links")`` reads it) or .csv (links alone).
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
        The ending names the format, as of :func:`write_graph`.

    Returns
    -------
    networkx.Graph
        Of named nodes, with a `weight` above zero, a `sign` and other numbers for every edge.
    """
    networkx = require("networkx", "reading a graph", "graph")
    path, ending = Path(path), graph_ending(Path(path))
    try:
        with COMPRESSED.get(path.suffix.lower(), open)(path, "rb") as file:
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
        if not len(graph):
            raise ValueError("it has no nodes")
        links = [_link(i, j, facts) for i, j, facts in graph.edges(data=True)]
        simple = networkx.Graph(rule=graph.graph.get("rule", "or"))
        simple.add_nodes_from((str(name), facts) for name, facts in graph.nodes(data=True))
        # Of the links of a pair the last one stays.
        for i, j, numbers in sorted(links, key=lambda link: link[2]["weight"]):
            if i != j and numbers["weight"]:
                simple.add_edge(i, j, **numbers)
        return simple
    except Exception as problem:  # parsers raise all kinds of errors
        reason = " ".join(str(problem).split())[:200]
        raise StoredFileError(
            f"{path} holds no graph ({reason}); give a file that the command network or "
            "write_graph has written."
        ) from problem


def _link(i: Any, j: Any, facts: dict[str, Any]) -> tuple[str, str, dict[str, float]]:
    """The ends of a link, with its finite numbers, its weight without a sign, and the sign."""
    numbers = {}
    for name, value in facts.items():
        try:
            if name != "id" and math.isfinite(float(value)):
                numbers[name] = float(value)
        except (TypeError, ValueError):
            continue
    weight = float(facts.get("weight", 1.0))
    if not math.isfinite(weight):
        raise ValueError(f"a link has the weight {weight}")
    sign = 1 if (numbers.get("sign") or weight) > 0 else -1
    return str(i), str(j), numbers | {"weight": abs(weight), "sign": sign}
