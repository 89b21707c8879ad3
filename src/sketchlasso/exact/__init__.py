"""The problem without any sketch: exact solutions on the full data, with their certificate."""

from sketchlasso.exact.descent import exact_alpha_max, solve_exact
from sketchlasso.exact.ledger import ExactSolution

__all__ = ["ExactSolution", "exact_alpha_max", "solve_exact"]
