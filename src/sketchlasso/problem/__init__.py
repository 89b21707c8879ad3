"""The mathematics of the one problem, written once and batched over instances."""

from sketchlasso.problem.batch import Batch
from sketchlasso.problem.dual import (
    Certificate,
    alpha_max,
    certify_batch,
    dual_value,
    feasible_dual,
)
from sketchlasso.problem.formulas import primal_value, worst_case_perturbation
from sketchlasso.problem.reduction import reduce_statistics
from sketchlasso.problem.safe_rules import gap_safe_rule, safe_rule, sparsify

__all__ = [
    "Batch",
    "Certificate",
    "alpha_max",
    "certify_batch",
    "dual_value",
    "feasible_dual",
    "gap_safe_rule",
    "primal_value",
    "reduce_statistics",
    "safe_rule",
    "sparsify",
    "worst_case_perturbation",
]
