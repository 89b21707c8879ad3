"""Builders of problem sets: Sketch -> Batch, each with the way back to the user's terms."""

from sketchlasso.data.validate import check_weights
from sketchlasso.instances.build import build_problems, feature_problems, penalty_grid, problems_of
from sketchlasso.instances.rows import (
    ProblemSet,
    RowSet,
    RowSets,
    all_rows,
    bootstrap_rows,
    complementary_pairs,
    leave_one_out_rows,
    shuffled_folds,
    splitter_rows,
    weighted_rows,
    weights_of,
)

__all__ = [
    "ProblemSet",
    "RowSet",
    "RowSets",
    "all_rows",
    "bootstrap_rows",
    "build_problems",
    "check_weights",
    "complementary_pairs",
    "feature_problems",
    "leave_one_out_rows",
    "penalty_grid",
    "problems_of",
    "shuffled_folds",
    "splitter_rows",
    "weighted_rows",
    "weights_of",
]
