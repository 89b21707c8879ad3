"""networkx graphs with signed links: how two directions become one, groups, maps and files."""

from sketchlasso.graphs.files import graph_ending, read_graph, write_graph
from sketchlasso.graphs.graph import Links, Rule, communities, graph_of, join_directions, links_of
from sketchlasso.graphs.layout import force_layout

__all__ = [
    "Links",
    "Rule",
    "communities",
    "force_layout",
    "graph_ending",
    "graph_of",
    "join_directions",
    "links_of",
    "read_graph",
    "write_graph",
]
