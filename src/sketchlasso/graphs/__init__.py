"""Graphs of named nodes: how two directions become one link, groups, maps and files."""

from sketchlasso.graphs.files import graph_ending, read_graph, write_graph
from sketchlasso.graphs.graph import Graph, Rule, join_directions

__all__ = ["Graph", "Rule", "graph_ending", "join_directions", "read_graph", "write_graph"]
