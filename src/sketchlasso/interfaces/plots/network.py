"""A graph as a map: linked nodes near each other, groups in colour, negative links dashed."""

from __future__ import annotations

from typing import Any

import numpy as np

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces import colour_of, marker_of
from sketchlasso.interfaces.plots import canvas
from sketchlasso.interfaces.plots.canvas import Axes, ink

WIDEST, THINNEST = 3.0, 0.4  # links, in points
LARGEST, SMALLEST = 160.0, 14.0  # nodes, in square points


def plot_network(
    graph: Any,
    *,
    top: int = 15,
    isolated: bool = False,
    random_state: Any = 0,
    ax: Axes | None = None,
    **scatter_kw: Any,
) -> Axes:
    """Draw a graph as a map; colours and markers are its communities, dashed links are negative.

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
        Seed of the map and of the communities.
    ax : matplotlib Axes, optional
    **scatter_kw
        For the nodes.

    Returns
    -------
    matplotlib Axes
    """
    if not hasattr(graph, "edges") or not hasattr(graph, "degree"):
        raise InvalidInputError(
            "graph must be a networkx graph, such as SparsePrecision.graph returns, not a "
            f"{type(graph).__name__}."
        )
    top = canvas.check_top(top)
    linked = [name for name, links in graph.degree if links or isolated]
    if not linked:
        raise InvalidInputError(
            "the graph has no links, so there is nothing to draw; use a smaller penalty, or pass "
            "isolated=True."
        )
    shown = graph.copy()
    shown.remove_nodes_from(set(graph) - set(linked))
    places = np.array(list(sl.graphs.force_layout(shown, random_state=random_state).values()))
    links = sl.graphs.links_of(shown)
    groups = np.array(list(sl.graphs.communities(shown, random_state=random_state).values()))
    ax = canvas.start(ax, (7.2, 6.0))
    ax.set_aspect("equal")
    ax.set_axis_off()
    _draw_links(ax, places[links.edges], links.weights)
    degrees = links.degrees
    sizes = SMALLEST + (LARGEST - SMALLEST) * degrees / max(1, int(degrees.max(initial=1)))
    for group in np.unique(groups).tolist():
        own = groups == group
        kind: dict[str, Any] = {"s": sizes[own], "linewidths": 0.5, "edgecolors": ink(ax)}
        kind |= {"color": colour_of(group), "marker": marker_of(group), "zorder": 3}
        ax.scatter(*places[own].T, **{**kind, **scatter_kw})
    ax.margins(0.08)
    ax.autoscale_view()
    most = np.argsort(-degrees, kind="stable")[:top]
    canvas.name_points(ax, places[most], [links.names[place] for place in most])
    return ax


def _draw_links(ax: Axes, ends: Any, weights: Any) -> None:
    """Draw links between ends (l, 2, 2), positive and negative ones in two styles."""
    from matplotlib.collections import LineCollection

    sizes = np.abs(weights)
    widths = THINNEST + (WIDEST - THINNEST) * sizes / max(float(sizes.max(initial=0.0)), 1e-300)
    drawn = []
    for sign, word, style in ((1, "positive", "-"), (-1, "negative", (0, (4, 2)))):
        chosen = np.sign(weights) == sign
        label = f"{word} ({np.count_nonzero(chosen)} links)"
        lines = LineCollection(
            list(ends[chosen]),
            linewidths=widths[chosen],
            linestyles=[style],
            colors=ink(ax),
            alpha=0.45,
            label=label,
            zorder=2,
        )
        ax.add_collection(lines)
        drawn += [lines] if chosen.any() else []
    canvas.legend(ax, drawn)
