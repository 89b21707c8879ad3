"""Sketches of a data matrix: X ~ Q P' with a radius that bounds the error."""

from sketchlasso.sketch.api import SketchMethod, sketch
from sketchlasso.sketch.response import extend_sketch, sketch_rows
from sketchlasso.sketch.sketch import Sketch, SketchCost, load_sketch
from sketchlasso.sketch.user import sketch_from_factors

__all__ = [
    "Sketch",
    "SketchCost",
    "SketchMethod",
    "extend_sketch",
    "load_sketch",
    "sketch",
    "sketch_from_factors",
    "sketch_rows",
]
