"""Graphs of named nodes: how two directions become one link, groups, maps and files."""

from sketchlasso.graphs.graph import Graph, Rule, join_directions
from sketchlasso.graphs.reading import read_graph

__all__ = ["Graph", "Rule", "join_directions", "read_graph"]
