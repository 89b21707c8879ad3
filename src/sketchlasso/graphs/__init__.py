"""Graphs of named nodes: how two directions become one link, groups, maps and files."""

from sketchlasso.graphs.graph import Graph, Rule, join_directions

__all__ = ["Graph", "Rule", "join_directions"]
