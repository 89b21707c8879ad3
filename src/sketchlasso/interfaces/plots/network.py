"""A graph as a map: linked nodes near each other, signs in colour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sketchlasso as sl
from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.interfaces.plots.canvas import Axes, Display, hue, ink, opacity
from sketchlasso.interfaces.plots.inputs import check_top, not_accepted
from sketchlasso.interfaces.plots.labels import label_points

WIDEST, THINNEST = 3.0, 0.4  # links, in points
LARGEST, SMALLEST = 160.0, 14.0  # nodes, in square points


@dataclass(eq=False, kw_only=True)
class NetworkDisplay(Display):
    """Nodes of a graph at their places, their links, and the names of the most linked.

    Parameters
    ----------
    names : tuple of str, of length n_nodes
    places : ndarray of shape (n_nodes, 2)
    edges : ndarray of shape (n_edges, 2)
    weights : ndarray of shape (n_edges,)

    Attributes
    ----------
    links_ : list of matplotlib LineCollection
        Positive links and negative ones.
    points_ : matplotlib PathCollection
    labels_ : list of matplotlib Annotation
    legend_ : matplotlib Legend
    """

    names: tuple[str, ...]
    places: NDArray[np.float64]
    edges: NDArray[np.intp]
    weights: NDArray[np.float64]

    def plot(self, ax: Axes | None = None, *, top: int = 15, **scatter_kw: Any) -> NetworkDisplay:
        """Draw the graph; parameters are those of :func:`plot_network`."""
        degrees = np.bincount(self.edges.ravel(), minlength=len(self.names))
        most = np.argsort(-degrees, kind="stable")[: check_top(top)]
        ax = self._start(ax, (7.2, 6.0))
        ax.set_aspect("equal")
        ax.set_axis_off()
        self._draw_links(ax)
        sizes = SMALLEST + (LARGEST - SMALLEST) * degrees / max(1, int(degrees.max(initial=1)))
        options = {"s": sizes, "color": ink(ax), "linewidths": 0, "zorder": 3, **scatter_kw}
        self.points_ = ax.scatter(self.places[:, 0], self.places[:, 1], **options)
        ax.margins(0.08)
        ax.autoscale_view()
        drawn = [lines for lines in self.links_ if len(lines.get_segments())]
        self.legend_ = self._legend(ax, drawn, inside="upper right")
        names = [self.names[place] for place in most]
        self.labels_ = label_points(ax, self.places[most], names, self.places)
        return self

    def _draw_links(self, ax: Axes) -> None:
        from matplotlib.collections import LineCollection

        sizes = np.abs(self.weights)
        widths = THINNEST + (WIDEST - THINNEST) * sizes / max(float(sizes.max(initial=0.0)), 1e-300)
        ends = self.places[self.edges]
        self.links_: list[Any] = []
        for sign, word, color in ((1, "positive", hue(0)), (-1, "negative", hue(1))):
            chosen = np.sign(self.weights) == sign
            lines = LineCollection(
                list(ends[chosen]),
                linewidths=widths[chosen],
                colors=color,
                alpha=opacity(ax, 0.6),
                label=f"{word} ({np.count_nonzero(chosen)} links)",
                zorder=2,
            )
            self.links_.append(ax.add_collection(lines))


def plot_network(
    graph: Any,
    *,
    top: int = 15,
    isolated: bool = False,
    random_state: Any = 0,
    ax: Axes | None = None,
    **scatter_kw: Any,
) -> NetworkDisplay:
    """Draw a graph as a map, positive and negative links in two colours.

    Parameters
    ----------
    graph : networkx.Graph
        From :meth:`SparsePrecision.graph`, :meth:`Neighbourhoods.graph` or :func:`word_graph`, or
        another with a `weight`, and a `sign` if that is not in the weight, per edge.
    top : int
        How many nodes to name: those with the most links.
    isolated : bool
        Whether nodes without links are shown too.
    random_state : int, Generator, RandomState or None
        Seed of the map.
    ax : matplotlib Axes, optional
    **scatter_kw
        For the nodes.

    Returns
    -------
    NetworkDisplay
        Drawn on its `ax_`.
    """
    if not hasattr(graph, "edges") or not hasattr(graph, "degree"):
        makers = "SparsePrecision.graph, Neighbourhoods.graph or word_graph"
        raise not_accepted(graph, "a networkx graph", f"what {makers} returns")
    linked = [name for name, links in graph.degree if links or isolated]
    if not linked:
        raise InvalidInputError(
            "the graph has no links, so there is nothing to draw; use a smaller penalty, or pass ",
            Argument("isolated", True),
            ".",
        )
    shown = graph.copy()
    shown.remove_nodes_from(set(graph) - set(linked))
    places = sl.graphs.force_layout(shown, random_state=random_state)
    links = sl.graphs.links_of(shown)
    display = NetworkDisplay(
        names=links.names,
        places=np.array(list(places.values())),
        edges=links.edges,
        weights=links.weights,
    )
    return display.plot(ax, top=top, **scatter_kw)
