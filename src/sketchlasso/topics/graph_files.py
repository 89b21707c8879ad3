"""Files of a graph of words: JSON, GraphML and a list of edges, each whole or not there."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from sketchlasso.errors import InvalidInputError
from sketchlasso.storage import replacing

if TYPE_CHECKING:
    from sketchlasso.topics.graph import WordGraph

__all__ = ["links", "nodes", "write_csv", "write_graphml", "write_json"]

Attributes = Mapping[str, Sequence[Any]]
NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
# What no XML document may hold, not even escaped.
UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
TYPES = {"b": "boolean", "i": "long", "u": "long", "f": "double", "U": "string"}


def nodes(
    words: Sequence[str], attributes: Attributes | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every word with its attributes, as plain Python values."""
    columns = {name: values.tolist() for name, values in _columns(words, attributes).items()}
    for place, word in enumerate(words):
        yield word, {name: values[place] for name, values in columns.items()}


def links(graph: WordGraph) -> Iterator[tuple[str, str, float, int]]:
    """Yield both words, the absolute weight and the sign of every edge."""
    for (source, target), weight in zip(graph.edges.tolist(), graph.weights.tolist(), strict=True):
        yield graph.words[source], graph.words[target], abs(weight), 1 if weight > 0 else -1


def write_json(path: Path, graph: WordGraph, attributes: Attributes | None = None) -> None:
    """Write nodes and links, the form that d3 and networkx read.

    Parameters
    ----------
    path : Path
    graph : WordGraph
    attributes : mapping of str to sequence, or None
        One value a word.
    """
    keys = ("source", "target", "weight", "sign")
    content = {
        "directed": False,
        "multigraph": False,
        "graph": {"rule": graph.rule},
        "nodes": [{**more, "id": word} for word, more in nodes(graph.words, attributes)],
        "links": [dict(zip(keys, link, strict=True)) for link in links(graph)],
    }
    with replacing(path) as file:
        file.write(json.dumps(content, allow_nan=False).encode())


def write_csv(path: Path, graph: WordGraph) -> None:
    """Write one edge a line, below the names of the columns."""
    with replacing(path, compress=True) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", errors="replace")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["source", "target", "weight", "sign"])
        writer.writerows(links(graph))
        text.flush()
        text.detach()


def write_graphml(path: Path, graph: WordGraph, attributes: Attributes | None = None) -> None:
    """Write GraphML with the words as identifiers and, once more, as labels.

    Parameters
    ----------
    path : Path
    graph : WordGraph
    attributes : mapping of str to sequence, or None
        One value a word: numbers or text.
    """
    columns = _columns(graph.words, attributes)
    kinds = {name: TYPES[values.dtype.kind] for name, values in columns.items()}
    with replacing(path) as file:
        for line in _graphml(graph, attributes, kinds):
            file.write(f"{line}\n".encode())


def _graphml(
    graph: WordGraph, attributes: Attributes | None, kinds: Mapping[str, str]
) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<graphml xmlns="{NAMESPACE}">'
    yield '<key id="label" for="node" attr.name="label" attr.type="string"/>'
    for number, (name, kind) in enumerate(kinds.items()):
        yield f'<key id="a{number}" for="node" attr.name={_quoted(name)} attr.type="{kind}"/>'
    yield '<key id="weight" for="edge" attr.name="weight" attr.type="double"/>'
    yield '<key id="sign" for="edge" attr.name="sign" attr.type="long"/>'
    yield '<graph edgedefault="undirected">'
    for word, more in nodes(graph.words, attributes):
        values = "".join(
            f'<data key="a{number}">{_escaped(_plain(value))}</data>'
            for number, value in enumerate(more.values())
        )
        label = f'<data key="label">{_escaped(word)}</data>'
        yield f"<node id={_quoted(word)}>{label}{values}</node>"
    for source, target, weight, sign in links(graph):
        values = f'<data key="weight">{weight!r}</data><data key="sign">{sign}</data>'
        yield f"<edge source={_quoted(source)} target={_quoted(target)}>{values}</edge>"
    yield "</graph>"
    yield "</graphml>"


def _columns(
    words: Sequence[str], attributes: Attributes | None
) -> dict[str, np.ndarray[Any, Any]]:
    columns = {name: np.asarray(values) for name, values in (attributes or {}).items()}
    for name, values in columns.items():
        if (
            values.shape != (len(words),)
            or values.dtype.kind not in TYPES
            or name in ("id", "label")
        ):
            raise InvalidInputError(
                f"the attribute {name!r} has shape {values.shape} and type {values.dtype}, but "
                f"one number or text for each of the {len(words)} words, under another name than "
                "'id' and 'label', is needed; convert or rename it."
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
            f"the word {text!r} holds a character that GraphML cannot; rename it, or write JSON "
            "or CSV."
        )
    return text
