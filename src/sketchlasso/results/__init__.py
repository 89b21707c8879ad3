"""From solved batches to results: scores, choices, influence."""

from sketchlasso.results.certificate import FullCertificate, certify
from sketchlasso.results.choices import Choice, CrossValidation
from sketchlasso.results.leave_one_out import LeaveOneOut, leave_one_out
from sketchlasso.results.path import LinearModels, Path
from sketchlasso.results.radius import RadiusPolicy
from sketchlasso.results.scores import Metric, score
from sketchlasso.results.search import cross_validate, sqrt_lasso_path
from sketchlasso.results.sketched import linear_models

__all__ = [
    "Choice",
    "CrossValidation",
    "FullCertificate",
    "LeaveOneOut",
    "LinearModels",
    "Metric",
    "Path",
    "RadiusPolicy",
    "certify",
    "cross_validate",
    "leave_one_out",
    "linear_models",
    "score",
    "sqrt_lasso_path",
]
