"""What many regressions together say: errors of estimates, graphs, stability."""

from sketchlasso.inference.effects import TreatmentEffects, treatment_effect

__all__ = ["TreatmentEffects", "treatment_effect"]
