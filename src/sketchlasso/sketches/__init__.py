"""Sketches of a data matrix: X ~ Q P' with a radius that bounds the error."""

from sketchlasso.sketches.api import SketchMethod, sketch
from sketchlasso.sketches.response import (
    RowsBase,
    extend_rows,
    extend_sketch,
    rows_base,
    sketch_rows,
)
from sketchlasso.sketches.sketch import Sketch, SketchCost, load_sketch
from sketchlasso.sketches.user import sketch_from_factors

__all__ = [
    "RowsBase",
    "Sketch",
    "SketchCost",
    "SketchMethod",
    "extend_rows",
    "extend_sketch",
    "load_sketch",
    "rows_base",
    "sketch",
    "sketch_from_factors",
    "sketch_rows",
]
