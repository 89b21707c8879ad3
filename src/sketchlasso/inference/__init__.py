"""Inference from many regressions: errors of estimates, graphs, stability."""

from sketchlasso.inference.desparsify import desparsified
from sketchlasso.inference.effects import TreatmentEffects, treatment_effect
from sketchlasso.inference.error_control import ErrorControl, error_control
from sketchlasso.inference.estimates import Desparsified
from sketchlasso.inference.neighbourhoods import Neighbourhoods, neighbourhoods
from sketchlasso.inference.nodewise import nodewise
from sketchlasso.inference.precision import SparsePrecision
from sketchlasso.inference.regressions import Nodewise
from sketchlasso.inference.stability import StabilitySelection

__all__ = [
    "Desparsified",
    "ErrorControl",
    "Neighbourhoods",
    "Nodewise",
    "SparsePrecision",
    "StabilitySelection",
    "TreatmentEffects",
    "desparsified",
    "error_control",
    "neighbourhoods",
    "nodewise",
    "treatment_effect",
]
