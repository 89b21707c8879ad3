"""For experts: row sets, batches of problems, solvers and formulas behind the verbs."""

from sketchlasso.data import fingerprint
from sketchlasso.estimators import automatic_method
from sketchlasso.instances import (
    ProblemSet,
    RowSets,
    bootstrap_rows,
    complementary_pairs,
    leave_one_out_rows,
    weighted_rows,
)
from sketchlasso.problem import (
    Batch,
    primal_value,
    sparsify,
    worst_case_perturbation,
)
from sketchlasso.results import LinearModels, RadiusPolicy, linear_models, score
from sketchlasso.sketches import sketch_from_factors
from sketchlasso.solvers import Iterates, Sized, solve_for_size

__all__ = [
    "Batch",
    "Iterates",
    "LinearModels",
    "ProblemSet",
    "RadiusPolicy",
    "RowSets",
    "Sized",
    "automatic_method",
    "bootstrap_rows",
    "complementary_pairs",
    "fingerprint",
    "leave_one_out_rows",
    "linear_models",
    "primal_value",
    "score",
    "sketch_from_factors",
    "solve_for_size",
    "sparsify",
    "weighted_rows",
    "worst_case_perturbation",
]
