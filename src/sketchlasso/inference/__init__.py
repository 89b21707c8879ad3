"""What many regressions together say: errors of estimates, graphs, stability."""

from sketchlasso.inference.effects import TreatmentEffects, treatment_effect
from sketchlasso.inference.nodewise import Nodewise, nodewise

__all__ = ["Nodewise", "TreatmentEffects", "nodewise", "treatment_effect"]
