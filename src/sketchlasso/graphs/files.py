"""Files of a graph: JSON, GraphML, GEXF and a list of edges, each whole or not there."""

from __future__ import annotations

import csv
import importlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from sketchlasso.errors import InvalidInputError
from sketchlasso.storage import replacing

if TYPE_CHECKING:
    from sketchlasso.graphs.graph import Graph

__all__ = ["links", "nodes", "write_csv", "write_gexf", "write_graphml", "write_json"]

Attributes = Mapping[str, Sequence[Any]]
NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
# What no XML document may hold, not even escaped.
UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
EDGE_COLUMNS = ("source", "target", "weight", "sign")
TYPES = {"b": "boolean", "i": "long", "u": "long", "f": "double", "U": "string"}


def nodes(
    names: Sequence[str], attributes: Attributes | None, node_word: str = "node"
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every node with its attributes, as plain Python values."""
    checked = _columns(len(names), attributes, node_word, ("id", "label"))
    columns = {name: values.tolist() for name, values in checked.items()}
    for place, node in enumerate(names):
        yield node, {name: values[place] for name, values in columns.items()}


def links(graph: Graph) -> Iterator[dict[str, Any]]:
    """Yield source, target, absolute weight, sign and attributes of every edge."""
    columns = {name: values.tolist() for name, values in _edge_columns(graph).items()}
    pairs = zip(graph.edges.tolist(), graph.weights.tolist(), strict=True)
    for place, ((source, target), weight) in enumerate(pairs):
        yield {
            "source": graph.names[source],
            "target": graph.names[target],
            "weight": abs(weight),
            "sign": 1 if weight > 0 else -1,
            **{name: values[place] for name, values in columns.items()},
        }


def write_json(path: Path, graph: Graph, attributes: Attributes | None = None) -> None:
    """Write nodes and links, the form that d3 and networkx read.

    Parameters
    ----------
    path : Path
    graph : Graph
    attributes : mapping of str to sequence, or None
        One value per node.
    """
    content = {
        "directed": False,
        "multigraph": False,
        "graph": {"rule": graph.rule},
        "nodes": [{**more, "id": name} for name, more in _nodes_of(graph, attributes)],
        "links": list(links(graph)),
    }
    with replacing(path) as file:
        file.write(json.dumps(content, allow_nan=False).encode())


def write_csv(path: Path, graph: Graph) -> None:
    """Write one edge per line, below the names of the columns."""
    with replacing(path, compress=True) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", errors="replace")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*EDGE_COLUMNS, *graph.edge_attributes])
        writer.writerows(link.values() for link in links(graph))
        text.flush()
        text.detach()


def write_graphml(path: Path, graph: Graph, attributes: Attributes | None = None) -> None:
    """Write GraphML with the names as identifiers and, once more, as labels.

    Parameters
    ----------
    path : Path
    graph : Graph
    attributes : mapping of str to sequence, or None
        One value per node: numbers or text.
    """
    with replacing(path) as file:
        for line in _graphml(graph, attributes):
            file.write(f"{line}\n".encode())


def write_gexf(path: Path, graph: Graph, attributes: Attributes | None = None) -> None:
    """Write GEXF with the names as identifiers and as labels; needs networkx.

    Parameters
    ----------
    path : Path
    graph : Graph
    attributes : mapping of str to sequence, or None
        One value per node: numbers or text.
    """
    made = graph.to_networkx(attributes)
    for name, more in made.nodes(data=True):
        for text in (name, *more, *more.values()):
            _writable(str(text))
    with replacing(path) as file:
        importlib.import_module("networkx").write_gexf(made, file)


def _graphml(graph: Graph, attributes: Attributes | None) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<graphml xmlns="{NAMESPACE}">'
    yield '<key id="rule" for="graph" attr.name="rule" attr.type="string"/>'
    yield '<key id="label" for="node" attr.name="label" attr.type="string"/>'
    own = _columns(len(graph.names), attributes, graph.node_word, ("id", "label"))
    yield from _keys("node", "a", own)
    yield '<key id="weight" for="edge" attr.name="weight" attr.type="double"/>'
    yield '<key id="sign" for="edge" attr.name="sign" attr.type="long"/>'
    yield from _keys("edge", "e", _edge_columns(graph))
    yield f'<graph edgedefault="undirected"><data key="rule">{graph.rule}</data>'
    for name, more in _nodes_of(graph, attributes):
        label = f'<data key="label">{_escaped(name)}</data>'
        yield f"<node id={_quoted(name)}>{label}{_data('a', more.values())}</node>"
    for link in links(graph):
        source, target, weight, sign, *facts = link.values()
        values = f'<data key="weight">{weight!r}</data><data key="sign">{sign}</data>'
        ends = f"source={_quoted(source)} target={_quoted(target)}"
        yield f"<edge {ends}>{values}{_data('e', facts)}</edge>"
    yield "</graph>"
    yield "</graphml>"


def _keys(kind: str, letter: str, columns: Mapping[str, np.ndarray[Any, Any]]) -> Iterator[str]:
    """Declarations of the attributes of nodes or edges."""
    for number, (name, values) in enumerate(columns.items()):
        what = f'attr.name={_quoted(name)} attr.type="{TYPES[values.dtype.kind]}"'
        yield f'<key id="{letter}{number}" for="{kind}" {what}/>'


def _data(letter: str, values: Iterable[Any]) -> str:
    return "".join(
        f'<data key="{letter}{number}">{_escaped(_plain(value))}</data>'
        for number, value in enumerate(values)
    )


def _nodes_of(graph: Graph, attributes: Attributes | None) -> Iterator[tuple[str, dict[str, Any]]]:
    return nodes(graph.names, attributes, graph.node_word)


def _edge_columns(graph: Graph) -> dict[str, np.ndarray[Any, Any]]:
    return _columns(len(graph.edges), graph.edge_attributes, "edge", EDGE_COLUMNS)


def _columns(
    count: int, attributes: Mapping[str, Any] | None, what: str, taken: Sequence[str]
) -> dict[str, np.ndarray[Any, Any]]:
    """Attributes of `count` nodes or edges as arrays, checked."""
    columns = {name: np.asarray(values) for name, values in (attributes or {}).items()}
    for name, values in columns.items():
        if values.shape != (count,) or values.dtype.kind not in TYPES or name in taken:
            reserved = (
                " and ".join(map(repr, taken)) if len(taken) == 2 else ", ".join(map(repr, taken))
            )
            raise InvalidInputError(
                f"the attribute {name!r} has shape {values.shape} and type {values.dtype}, but "
                f"one number or text for each of the {count} {what}s, under another name than "
                f"{reserved}, is needed; convert or rename it."
            )
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise InvalidInputError(
                f"the attribute {name!r} holds numbers that are not finite, which files of graphs "
                "cannot; fill them in or leave it out."
            )
    return columns


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _escaped(text: str) -> str:
    return escape(_writable(text))


def _quoted(text: str) -> str:
    return quoteattr(_writable(text))


def _writable(text: str) -> str:
    if UNWRITABLE.search(text):
        raise InvalidInputError(
            f"the name {text!r} holds a character that XML cannot; rename it, or write JSON or CSV."
        )
    return text
