"""Sketches of a data matrix: X ~ Q P' with a radius that bounds the error."""

from sketchlasso.sketches.api import SketchMethod, sketch, sketch_from_factors
from sketchlasso.sketches.response import extend_sketch
from sketchlasso.sketches.sketch import Sketch, SketchCost, load_sketch

__all__ = [
    "Sketch",
    "SketchCost",
    "SketchMethod",
    "extend_sketch",
    "load_sketch",
    "sketch",
    "sketch_from_factors",
]
