"""Files of a graph: GraphML, GEXF, JSON and lists of links, by networkx."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import json
import math
import os
import re
from pathlib import Path
from typing import Any, BinaryIO

from sketchlasso.errors import InvalidInputError, StoredFileError
from sketchlasso.io.source import require
from sketchlasso.storage import replacing

ENDINGS = (".graphml", ".gexf", ".json", ".csv")
COMPRESSED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
# Characters that XML does not allow, not even escaped.
UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def graph_ending(path: Path) -> str:
    """Return the ending of a graph file, one of ENDINGS, without that of its compression."""
    ending = (path.with_suffix("") if path.suffix.lower() in COMPRESSED else path).suffix.lower()
    if ending not in ENDINGS:
        raise InvalidInputError(
            f"{path} does not end like the name of a graph file; end it in "
            f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}."
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

    Raises
    ------
    InvalidInputError
        The ending names no format, or the format cannot hold a name or an attribute.
    StoredFileError
        The file cannot be written.
    """
    networkx = require("networkx", "writing a graph", "graph")
    place = Path(path)
    ending, content = graph_ending(place), io.BytesIO()
    try:
        if ending == ".json":
            data = networkx.node_link_data(graph, edges="links")
            content.write(json.dumps(data, allow_nan=False).encode())
        elif ending == ".csv":
            _write_links(content, graph)
        else:
            whole = graph.copy()
            for name, facts in whole.nodes(data=True):
                facts.setdefault("label", str(name))
                _check_writable(name, *facts, *facts.values())
            write = networkx.write_graphml_xml if ending == ".graphml" else networkx.write_gexf
            write(whole, content)
    except (networkx.NetworkXException, TypeError, ValueError) as problem:
        if isinstance(problem, InvalidInputError):
            raise
        raise InvalidInputError(
            f"{place} cannot hold the graph ({problem}); give it attributes that are finite "
            "numbers or texts."
        ) from problem
    with replacing(place, compress=True) as file:
        file.write(content.getbuffer())


def _write_links(content: BinaryIO, graph: Any) -> None:
    columns = dict.fromkeys(name for *_, facts in graph.edges(data=True) for name in facts)
    text = codecs.getwriter("utf-8")(content, "replace")
    fields = ("source", "target", *(columns or ("weight", "sign")))
    writer = csv.DictWriter(text, fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows({"source": i, "target": j, **f} for i, j, f in graph.edges(data=True))


def _check_writable(*texts: object) -> None:
    for text in map(str, texts):
        if UNWRITABLE.search(text):
            raise InvalidInputError(
                f"the name {text!r} holds a character that XML cannot hold; rename it, or write "
                "JSON or CSV."
            )


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

    Raises
    ------
    InvalidInputError
        The ending names no format.
    StoredFileError
        The file does not exist, or holds no graph.
    """
    networkx = require("networkx", "reading a graph", "graph")
    place = Path(path)
    ending = graph_ending(place)
    try:
        with COMPRESSED.get(place.suffix.lower(), open)(place, "rb") as file:
            content = file.read()
    except (OSError, EOFError) as problem:
        raise StoredFileError(
            f"{place} could not be read ({getattr(problem, 'strerror', None) or problem}); give a "
            "file of a graph."
        ) from problem
    try:
        if ending == ".json":
            data = json.loads(content)
            edges = "links" if "links" in data else "edges"
            found = networkx.node_link_graph(data, edges=edges)
        elif ending == ".csv":
            rows = csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline=""))
            found = networkx.MultiGraph((row.pop("source"), row.pop("target"), row) for row in rows)
        else:
            read = networkx.read_graphml if ending == ".graphml" else networkx.read_gexf
            found = read(io.BytesIO(content))
        return _normal(found, networkx.Graph(rule=found.graph.get("rule", "or")))
    except MemoryError:
        raise
    # Parsers of files from elsewhere raise all kinds of errors.
    except Exception as problem:
        reason = " ".join(str(problem).split()).rstrip(".")[:200] or type(problem).__name__
        raise StoredFileError(
            f"{place} holds no graph ({reason}); give a file that the command network or "
            "write_graph has written."
        ) from problem


def _normal(found: Any, graph: Any) -> Any:
    """Fill a graph with the nodes of another, and with the strongest link of each pair."""
    nodes = {name: str(name) for name in found}
    for name in nodes.values():
        name.encode()  # no file and no page can hold one half of a surrogate pair
    graph.add_nodes_from((nodes[name], facts) for name, facts in found.nodes(data=True))
    order = {name: number for number, name in enumerate(graph)}
    if not order:
        raise ValueError("it has no nodes")
    links: dict[tuple[int, int], tuple[float, dict[str, Any]]] = {}
    for i, j, facts in found.edges(data=True):
        weight = float(facts.pop("weight", 1.0))
        if not math.isfinite(weight):
            raise ValueError(f"a link has the weight {weight}")
        sign = _number(facts.pop("sign", None))
        weight = weight if sign is None else math.copysign(weight, sign)
        a, b = sorted((order[nodes[i]], order[nodes[j]]))
        if a != b and abs(weight) > abs(links.get((a, b), (0.0,))[0]):
            links[a, b] = weight, facts
    names = list(graph)
    for (a, b), (weight, facts) in sorted(links.items()):
        graph.add_edge(names[a], names[b], weight=abs(weight), sign=1 if weight > 0 else -1)
        numbers = {str(key): _number(value) for key, value in facts.items() if key != "id"}
        known = {key: value for key, value in numbers.items() if value is not None}
        graph.edges[names[a], names[b]].update(known)
    return graph


def _number(value: Any) -> float | None:
    """A finite number, or None."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) and not isinstance(value, bool) else None
