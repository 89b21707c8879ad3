"""What many regressions together say: errors of estimates, graphs, stability."""

from sketchlasso.inference.desparsified import Desparsified
from sketchlasso.inference.desparsify import desparsified
from sketchlasso.inference.effects import TreatmentEffects, treatment_effect
from sketchlasso.inference.neighbourhoods import Neighbourhoods, neighbourhoods
from sketchlasso.inference.nodewise import Nodewise, nodewise
from sketchlasso.inference.precision import SparsePrecision
from sketchlasso.inference.subspace_clustering import SparseSubspaceClustering

__all__ = [
    "Desparsified",
    "Neighbourhoods",
    "Nodewise",
    "SparsePrecision",
    "SparseSubspaceClustering",
    "TreatmentEffects",
    "desparsified",
    "neighbourhoods",
    "nodewise",
    "treatment_effect",
]
