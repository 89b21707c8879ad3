"""Files of a graph: GraphML, GEXF, JSON and lists of links, written and read."""

from __future__ import annotations

import codecs
import csv
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from sketchlasso.errors import InvalidInputError, StoredFileError
from sketchlasso.files.source import COMPRESSIONS, Source, plain_ending, require
from sketchlasso.graphs.graph import Attributes, Graph, Rule, records
from sketchlasso.storage import replacing

# Names of nodes, links with their attributes, and attributes of the graph.
Parts: TypeAlias = tuple[Iterable[Any], Iterable[tuple[Any, Any, Mapping[str, Any]]], Any]

ENDINGS = (".graphml", ".gexf", ".json", ".csv")
NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
# Characters that XML does not allow, not even escaped.
UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
XML_TYPES = {"b": "boolean", "i": "long", "u": "long", "f": "double", "U": "string"}


def write_graph(
    path: str | os.PathLike[str], graph: Graph, attributes: Attributes | None = None
) -> None:
    """Write a graph to a file, completely or not at all.

    Parameters
    ----------
    path : path-like
        The ending names the format, also before .gz, .bz2 or .xz: .graphml (Gephi, yEd, igraph,
        Cytoscape), .gexf (Gephi; needs networkx, extra `graph`), .json (nodes and links, as d3
        and ``networkx.node_link_graph(edges="links")`` read them) or .csv (a list of links).
    graph : Graph
    attributes : mapping of str to sequence, optional
        As for :meth:`Graph.to_networkx`; not for .csv.

    Raises
    ------
    InvalidInputError
        The ending names no format, or the format cannot hold the attributes or a name.
    StoredFileError
        The file cannot be written.
    """
    place = Path(path)
    ending = graph_ending(place)
    if attributes and ending == ".csv":
        raise InvalidInputError(
            f"attributes of the {graph.node_word}s were given, but {place} holds links only; write "
            ".graphml, .gexf or .json."
        )
    with replacing(place, compress=True) as file:
        WRITERS[ending](file, graph, attributes)


def graph_ending(path: Path) -> str:
    """Return the ending of a file to write, one of ENDINGS; refuse a path without one."""
    ending = plain_ending(path)
    if ending not in ENDINGS:
        raise InvalidInputError(
            f"{path} does not end like the name of a graph file; end it in "
            f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}."
        )
    return ending


def _write_json(file: BinaryIO, graph: Graph, attributes: Attributes | None) -> None:
    content = {
        "directed": False,
        "multigraph": False,
        "graph": {"rule": graph.rule},
        "nodes": records(graph.node_table(attributes)),
        "links": records(graph.link_table()),
    }
    file.write(json.dumps(content, allow_nan=False).encode())


def _write_csv(file: BinaryIO, graph: Graph, attributes: Attributes | None) -> None:
    links = graph.link_table()
    text = codecs.getwriter("utf-8")(file, "replace")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(links)
    writer.writerows(zip(*links.values(), strict=True))


def _write_gexf(file: BinaryIO, graph: Graph, attributes: Attributes | None) -> None:
    made = graph.to_networkx(attributes)
    for name, more in made.nodes(data=True):
        for text in (name, *more, *more.values()):
            _writable(str(text))
    require("networkx", "writing GEXF", "graph").write_gexf(made, file)


def _write_graphml(file: BinaryIO, graph: Graph, attributes: Attributes | None) -> None:
    file.writelines(f"{line}\n".encode() for line in _graphml(graph, attributes))


def _graphml(graph: Graph, attributes: Attributes | None) -> Iterator[str]:
    """Yield the lines of a document; names of nodes are their identifiers and labels."""
    nodes, links = graph.node_table(attributes), graph.link_table()
    names, sources, targets = nodes.pop("id"), links.pop("source"), links.pop("target")
    nodes = {"label": names, **nodes}
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<graphml xmlns="{NAMESPACE}">'
    yield '<key id="rule" for="graph" attr.name="rule" attr.type="string"/>'
    for kind, table in (("node", nodes), ("edge", links)):
        for number, (name, column) in enumerate(table.items()):
            what = f'attr.name={_quoted(name)} attr.type="{XML_TYPES[np.array(column).dtype.kind]}"'
            yield f'<key id="{kind}{number}" for="{kind}" {what}/>'
    yield f'<graph edgedefault="undirected"><data key="rule">{graph.rule}</data>'
    for name, *row in zip(names, *nodes.values(), strict=True):
        yield f"<node id={_quoted(name)}>{_data('node', row)}</node>"
    for source, target, *row in zip(sources, targets, *links.values(), strict=True):
        yield f"<edge source={_quoted(source)} target={_quoted(target)}>{_data('edge', row)}</edge>"
    yield "</graph>"
    yield "</graphml>"


def _data(kind: str, row: Iterable[Any]) -> str:
    texts = (str(value).lower() if isinstance(value, bool) else str(value) for value in row)
    return "".join(
        f'<data key="{kind}{number}">{escape(_writable(text))}</data>'
        for number, text in enumerate(texts)
    )


def _quoted(text: str) -> str:
    return quoteattr(_writable(text))


def _writable(text: str) -> str:
    if UNWRITABLE.search(text):
        raise InvalidInputError(
            f"the name {text!r} holds a character that XML cannot hold; rename it, or write JSON "
            "or CSV."
        )
    return text


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
        With the numbers that all links have as `edge_attributes`. A list of links has no nodes
        without links. Where the file does not name the rule, it is "or".

    Raises
    ------
    StoredFileError
        The file does not exist, or holds no graph.
    """
    place = Path(path)
    ending, compression = plain_ending(place), COMPRESSIONS.get(place.suffix.lower())
    if ending not in ENDINGS:
        raise StoredFileError(
            f"{place} has an ending that names no format of graphs, but {', '.join(ENDINGS[:-1])} "
            f"or {ENDINGS[-1]} is needed; rename it by its format."
        )
    try:
        return _graph(*READERS[ending](Source(place, "graph", compression)))
    except (ValueError, KeyError, TypeError, AttributeError, SyntaxError) as problem:
        if isinstance(problem, StoredFileError):
            raise
        reason = " ".join(str(problem).split()).rstrip(".") or type(problem).__name__
        raise StoredFileError(
            f"{place} holds no graph ({reason}); give a file that the command network or "
            "write_graph has written."
        ) from problem


def _read_json(source: Source) -> Parts:
    with source.open_text() as file:
        content = json.load(file)
    links = content["links"] if "links" in content else content["edges"]
    return (
        [node["id"] for node in content["nodes"]],
        [(link["source"], link["target"], link) for link in links],
        content.get("graph", {}),
    )


def _read_csv(source: Source) -> Parts:
    with source.open_text() as file:
        links = [(row["source"], row["target"], row) for row in csv.DictReader(file)]
    return dict.fromkeys(end for *ends, _ in links for end in ends), links, {}


def _read_xml(reader: str, source: Source) -> Parts:
    networkx = require("networkx", "reading GraphML and GEXF", "graph")
    try:
        with source.open() as file:
            found = getattr(networkx, reader)(file)
    except networkx.NetworkXException as problem:
        raise ValueError(str(problem)) from problem
    return found.nodes, found.edges(data=True), found.graph


def _graph(nodes: Iterable[Any], links: Iterable[tuple[Any, Any, Any]], about: Any) -> Graph:
    """Make a graph of parts that have not been checked."""
    place = {str(name): number for number, name in enumerate(nodes)}
    found: dict[tuple[int, int], tuple[float, Mapping[str, Any]]] = {}
    for source, target, facts in links:
        for end in (str(source), str(target)):
            if end not in place:
                raise ValueError(f"a link ends at {end!r}, which is not a node")
        first, second = sorted((place[str(source)], place[str(target)]))
        weight = _weight(facts)
        if first != second and abs(weight) > abs(found.get((first, second), (0.0,))[0]):
            found[first, second] = (weight, facts)
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


def _weight(facts: Mapping[str, Any]) -> float:
    """The signed weight of a link."""
    weight = _number(facts.get("weight", 1.0))
    if weight is None:
        raise ValueError(f"a link has the weight {facts['weight']!r}")
    sign = _number(facts.get("sign"))
    return weight if sign is None else math.copysign(weight, sign)


def _attributes(facts: list[Mapping[str, Any]]) -> dict[str, Any]:
    """The attributes that all links have as numbers."""
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


WRITERS: dict[str, Callable[[BinaryIO, Graph, Attributes | None], None]] = {
    ".graphml": _write_graphml,
    ".gexf": _write_gexf,
    ".json": _write_json,
    ".csv": _write_csv,
}
READERS: dict[str, Callable[[Source], Parts]] = {
    ".graphml": partial(_read_xml, "read_graphml"),
    ".gexf": partial(_read_xml, "read_gexf"),
    ".json": _read_json,
    ".csv": _read_csv,
}
