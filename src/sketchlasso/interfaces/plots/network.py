"""A graph as a map: linked nodes near each other, groups in colour, negative links dashed."""

from __future__ import annotations

from typing import Any

import numpy as np

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces import colour_of, marker_of
from sketchlasso.interfaces.plots import canvas
from sketchlasso.interfaces.plots.canvas import Axes, ink


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
    from matplotlib.collections import LineCollection

    ax.set_aspect("equal")
    ax.set_axis_off()
    strength = np.abs(links.weights)
    widths = 0.4 + 2.6 * strength / max(float(strength.max(initial=0.0)), 1e-300)  # points
    drawn = []
    for sign, word, style in ((1, "positive", "-"), (-1, "negative", (0, (4, 2)))):
        alike = np.sign(links.weights) == sign
        lines = LineCollection(
            list(places[links.edges[alike]]),
            linewidths=widths[alike],
            linestyles=[style],
            colors=ink(ax),
            alpha=0.45,
            label=f"{word} ({np.count_nonzero(alike)} links)",
            zorder=2,
        )
        ax.add_collection(lines)
        drawn += [lines] if alike.any() else []
    canvas.legend(ax, drawn)
    degrees = links.degrees
    sizes = 14.0 + 146.0 * degrees / max(1, int(degrees.max(initial=1)))  # square points
    for group in np.unique(groups).tolist():
        members = groups == group
        kind: dict[str, Any] = {"s": sizes[members], "linewidths": 0.5, "edgecolors": ink(ax)}
        kind |= {"color": colour_of(group), "marker": marker_of(group), "zorder": 3}
        ax.scatter(*places[members].T, **{**kind, **scatter_kw})
    ax.margins(0.08)
    ax.autoscale_view()
    most = np.argsort(-degrees, kind="stable")[:top]
    canvas.name_points(ax, places[most], [links.names[place] for place in most])
    return ax
