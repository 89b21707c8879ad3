"""Signed networkx graphs: an edge has a `weight` above zero and a `sign`, 1 or -1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from sketchlasso.errors import unaccepted
from sketchlasso.io.source import require
from sketchlasso.linalg.seeds import RandomState, seed_of
from sketchlasso.types import FloatArray, IntArray

Rule: TypeAlias = Literal["or", "and"]


def graph_of(
    names: Sequence[str],
    edges: IntArray,
    weights: FloatArray,
    rule: Rule,
    attributes: Mapping[str, FloatArray] | None = None,
) -> Any:
    """Return the networkx graph of links (n_edges, 2) between names, with signed weights.

    The `attributes` (n_edges,) are left out where they are NaN.
    """
    graph = require("networkx", "making a graph", "graph").Graph(rule=rule)
    graph.add_nodes_from(names)
    pairs = [(names[i], names[j]) for i, j in edges.tolist()]
    for pair, weight in zip(pairs, weights.tolist(), strict=True):
        graph.add_edge(*pair, weight=abs(weight), sign=1 if weight > 0 else -1)
    for name, values in (attributes or {}).items():
        for pair, value in zip(pairs, values.tolist(), strict=True):
            if not math.isnan(value):
                graph.edges[pair][name] = value
    return graph


@dataclass(frozen=True, eq=False)
class Links:
    """The links of a graph as arrays: positions of linked nodes and signed weights."""

    names: tuple[str, ...]  # (n_nodes,)
    edges: IntArray  # (n_edges, 2)
    weights: FloatArray  # (n_edges,)

    @property
    def degrees(self) -> IntArray:
        """How many links each node has: shape (n_nodes,)."""
        return np.bincount(self.edges.ravel(), minlength=len(self.names))


def links_of(graph: Any) -> Links:
    """Return the links of a networkx graph; an edge without weight has weight 1."""
    place = {name: number for number, name in enumerate(graph)}
    edges = [(place[i], place[j]) for i, j in graph.edges()]
    weights = [
        np.copysign(facts.get("weight", 1.0), facts.get("sign", facts.get("weight", 1.0)))
        for _, _, facts in graph.edges(data=True)
    ]
    return Links(
        tuple(map(str, graph)), np.array(edges, dtype=np.intp).reshape(-1, 2), np.array(weights)
    )


def communities(
    graph: Any, *, resolution: float = 1.0, random_state: RandomState = 0
) -> dict[str, int]:
    """Find groups of nodes with more links inside than out, by Louvain's method.

    Parameters
    ----------
    graph : networkx.Graph
    resolution : float
        Above 1 for more and smaller groups, below 1 for fewer and larger ones.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    dict of str to int
        0 for nodes of the largest group, 1 for the next; -1 for nodes without links.
        ``networkx.set_node_attributes(graph, groups, "community")`` keeps them in the graph.
    """
    networkx = require("networkx", "finding communities", "graph")
    place = {name: number for number, name in enumerate(graph)}
    linked = graph.subgraph([name for name, degree in graph.degree if degree])
    groups = networkx.community.louvain_communities(
        linked, resolution=resolution, seed=seed_of(random_state)
    )
    groups.sort(key=lambda group: (-len(group), min(map(place.__getitem__, group))))
    labels = dict.fromkeys(graph, -1)
    for label, group in enumerate(groups):
        labels.update(dict.fromkeys(group, label))
    return labels


def join_directions(
    row: NDArray[np.integer[Any]],
    column: NDArray[np.integer[Any]],
    values: FloatArray,
    n: int,
    rule: Rule,
) -> tuple[IntArray, FloatArray]:
    """Make one link of the weights of both directions.

    With a the weight of j in row i and b that of i in row j:

    - "or" links them if either is not zero, with the one of larger absolute value;
    - "and" links them if neither is zero and both have the same sign, with the one of smaller
      absolute value. Where the signs differ the two directions contradict each other.

    The weights `values` (e,) of `n` nodes stand at `row` and `column` (e,), no position twice; the
    diagonal is ignored. Returns the edges (n_edges, 2), the smaller node first, each pair once and
    in order, and their weights (n_edges,), which are not zero.
    """
    if rule not in get_args(Rule):
        raise unaccepted("rule", rule, "'or' or 'and'")
    inside = row != column
    row, column, values = row[inside], column[inside], values[inside]
    pairs = np.minimum(row, column).astype(np.int64) * n + np.maximum(row, column)
    keys, place = np.unique(pairs, return_inverse=True)
    forward, backward = np.zeros(len(keys)), np.zeros(len(keys))
    forward[place[row < column]] = values[row < column]
    backward[place[row > column]] = values[row > column]
    high, low = np.maximum(forward, backward), np.minimum(forward, backward)
    if rule == "or":
        joined = np.where(high >= -low, high, low)
    else:
        joined = np.where(low > 0, low, np.where(high < 0, high, 0.0))
    kept = joined != 0
    edges = np.column_stack(np.divmod(keys[kept], max(1, n))).astype(np.intp)
    return edges, joined[kept]
