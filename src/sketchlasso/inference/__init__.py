"""What many regressions together say: errors of estimates, graphs, stability."""

from sketchlasso.inference.desparsified import Desparsified
from sketchlasso.inference.desparsify import desparsified
from sketchlasso.inference.effects import TreatmentEffects, treatment_effect
from sketchlasso.inference.nodewise import Nodewise, nodewise

__all__ = [
    "Desparsified",
    "Nodewise",
    "TreatmentEffects",
    "desparsified",
    "nodewise",
    "treatment_effect",
]
