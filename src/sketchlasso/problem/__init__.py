"""The mathematics of the one problem, written once and batched over instances."""

from sketchlasso.problem.batch import Batch
from sketchlasso.problem.cardinality import sparsify
from sketchlasso.problem.dual import Certificate, certify_batch, dual_value, feasible_dual
from sketchlasso.problem.objective import primal_value, worst_case_perturbation
from sketchlasso.problem.optimality import alpha_max
from sketchlasso.problem.reduction import reduce_statistics

__all__ = [
    "Batch",
    "Certificate",
    "alpha_max",
    "certify_batch",
    "dual_value",
    "feasible_dual",
    "primal_value",
    "reduce_statistics",
    "sparsify",
    "worst_case_perturbation",
]
