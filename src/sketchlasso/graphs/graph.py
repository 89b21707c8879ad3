"""A graph of named nodes with signed weights: its groups, its map and its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.files.options import nearest
from sketchlasso.files.source import require
from sketchlasso.graphs.layout import force_layout, ring
from sketchlasso.linalg.seeds import RandomState, seed_of
from sketchlasso.types import FloatArray, IntArray

Rule: TypeAlias = Literal["or", "and"]
Attributes: TypeAlias = Mapping[str, ArrayLike]
LINK_COLUMNS = ("source", "target", "weight", "sign")


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """Named nodes, and the links between them.

    Attributes
    ----------
    names : tuple of str, of length n_nodes
    edges : ndarray of shape (n_edges, 2)
        Positions of linked nodes, the smaller first, each pair once and in order.
    weights : ndarray of shape (n_edges,)
        Not zero; negative where one node counts against the other.
    rule : {"or", "and"}
        How the two directions became one link.
    edge_attributes : mapping of str to ndarray of shape (n_edges,)
        Attributes of the links, such as their stability.
    """

    names: tuple[str, ...]
    edges: IntArray
    weights: FloatArray
    rule: Rule
    edge_attributes: Mapping[str, FloatArray] = field(default_factory=dict)
    node_word: ClassVar[str] = "node"

    @property
    def signs(self) -> IntArray:
        """1 or -1 for every edge: shape (n_edges,)."""
        return np.sign(self.weights).astype(np.intp)

    @property
    def degrees(self) -> IntArray:
        """How many links each node has: shape (n_nodes,)."""
        return np.bincount(self.edges.ravel(), minlength=len(self.names))

    def __repr__(self) -> str:
        what = f"{type(self).__name__} of {len(self.names)} {self.node_word}s"
        return f"<{what}, {len(self.edges)} edges ({self.rule!r})>"

    def neighbours(self, name: str) -> list[tuple[str, float]]:
        """Return the nodes linked to one, with their signed weights, the strongest first.

        Parameters
        ----------
        name : str
            One of the nodes.

        Returns
        -------
        list of (str, float)
        """
        chosen = self.links_of(name)
        others = self.edges[chosen].sum(axis=1) - self._place(name)
        return [
            (self.names[other], float(weight))
            for other, weight in zip(others, self.weights[chosen], strict=True)
        ]

    def links_of(self, name: str) -> IntArray:
        """Return the links of one node, as positions in `edges`, the strongest first.

        Parameters
        ----------
        name : str
            One of the nodes.

        Returns
        -------
        ndarray of shape (n_links,)
        """
        chosen = np.flatnonzero((self.edges == self._place(name)).any(axis=1))
        return chosen[np.argsort(-np.abs(self.weights[chosen]), kind="stable")]

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise InvalidInputError(
                f"{name!r} is not a {self.node_word} of the graph"
                f"{nearest(str(name), self.names)}; give one of its {len(self.names)} "
                f"{self.node_word}s."
            )
        return self.names.index(name)

    def without_isolated(self) -> Self:
        """Return a graph of the same class with only the nodes that have links."""
        linked = self.degrees > 0
        number = np.cumsum(linked) - 1
        names = tuple(name for name, kept in zip(self.names, linked, strict=True) if kept)
        return replace(self, names=names, edges=number[self.edges])

    def communities(self, *, resolution: float = 1.0, random_state: RandomState = 0) -> IntArray:
        """Find groups of nodes with more links inside than out, by Louvain's method.

        Strengths of links are the absolute weights. Needs networkx (extra `graph`).

        Parameters
        ----------
        resolution : float
            Above 1 for more and smaller groups, below 1 for fewer and larger ones.
        random_state : int, Generator, RandomState or None

        Returns
        -------
        ndarray of shape (n_nodes,)
            0 for nodes of the largest group, 1 for the next; -1 for nodes without links.
        """
        networkx = require("networkx", "finding communities", "graph")
        found = networkx.community.louvain_communities(
            self.without_isolated().to_networkx(),
            resolution=resolution,
            seed=seed_of(random_state),
        )
        place = {name: number for number, name in enumerate(self.names)}
        groups = [sorted(place[name] for name in group) for group in found]
        labels = np.full(len(self.names), -1, dtype=np.intp)
        for label, group in enumerate(sorted(groups, key=lambda group: (-len(group), group[0]))):
            labels[group] = label
        return labels

    def layout(self, *, random_state: RandomState = 0) -> FloatArray:
        """Return places on a map: linked nodes near each other, groups apart.

        Strengths of links are the absolute weights. Nodes without links form a ring around the
        others.

        Parameters
        ----------
        random_state : int, Generator, RandomState or None

        Returns
        -------
        ndarray of shape (n_nodes, 2)
            Inside the unit disc. Some seconds for 10,000 nodes.
        """
        linked = self.degrees > 0
        places = np.zeros((len(self.names), 2))
        if linked.any():
            inner, generator = self.without_isolated(), np.random.default_rng(seed_of(random_state))
            places[linked] = force_layout(
                inner.edges, np.abs(inner.weights), len(inner.names), generator
            )
        places[~linked] = ring(int(np.count_nonzero(~linked)), inner=1.1 if linked.any() else 0.0)
        return places / np.linalg.norm(places, axis=1).max(initial=1.0)

    def to_networkx(self, attributes: Attributes | None = None) -> Any:
        """Return the graph as a networkx graph; needs networkx (extra `graph`).

        Parameters
        ----------
        attributes : mapping of str to sequence, optional
            Attributes of the nodes, one value per node each, such as
            ``{"community": graph.communities()}``.

        Returns
        -------
        networkx.Graph
            Edges have a `weight`, absolute because functions of networkx need that, a `sign`, 1
            or -1, and the edge attributes.
        """
        networkx = require("networkx", "making a networkx graph", "graph")
        graph = networkx.Graph(rule=self.rule)
        graph.add_nodes_from((row.pop("id"), row) for row in records(self.node_table(attributes)))
        graph.add_edges_from(
            (row.pop("source"), row.pop("target"), row) for row in records(self.link_table())
        )
        return graph

    def node_table(self, attributes: Attributes | None = None) -> dict[str, list[Any]]:
        """Return the columns of a table of the nodes: `id`, their names, and the attributes.

        Parameters
        ----------
        attributes : mapping of str to sequence, optional
            As for :meth:`to_networkx`.

        Returns
        -------
        dict of str to list of length n_nodes
        """
        own = _columns(len(self.names), attributes, self.node_word, ("id", "label"))
        return {"id": list(self.names), **own}

    def link_table(self) -> dict[str, list[Any]]:
        """Return the columns of a table of the links.

        Returns
        -------
        dict of str to list of length n_edges
            The names `source` and `target`, the absolute `weight`, the `sign`, and every edge
            attribute.
        """
        ends = ([self.names[place] for place in places] for places in self.edges.T.tolist())
        columns = (*ends, np.abs(self.weights).tolist(), self.signs.tolist())
        own = _columns(len(self.edges), self.edge_attributes, "edge", LINK_COLUMNS)
        return {**dict(zip(LINK_COLUMNS, columns, strict=True)), **own}


def records(table: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    """Return the rows of a table of columns, as dictionaries."""
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def _columns(
    count: int, attributes: Attributes | None, what: str, taken: Sequence[str]
) -> dict[str, list[Any]]:
    """Check attributes of `count` nodes or edges, and return them as plain Python values."""
    columns = {name: np.asarray(values) for name, values in (attributes or {}).items()}
    for name, values in columns.items():
        if values.shape != (count,) or values.dtype.kind not in "biufU" or name in taken:
            raise InvalidInputError(
                f"the attribute {name!r} has shape {values.shape} and type {values.dtype}, but "
                f"one number or text for each of the {count} {what}s, under another name than "
                f"{', '.join(map(repr, taken))}, is needed; convert or rename it."
            )
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise InvalidInputError(
                f"the attribute {name!r} holds numbers that are not finite, which files of graphs "
                "cannot hold; fill them in or leave it out."
            )
    return {name: values.tolist() for name, values in columns.items()}


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
