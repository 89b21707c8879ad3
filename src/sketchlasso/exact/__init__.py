"""The problem without any sketch: exact solutions on the full data, with their certificate."""

from sketchlasso.exact.ledger import ExactLedger, ExactSolution
from sketchlasso.exact.many import solve_many
from sketchlasso.exact.path import SLOWEST, Solved
from sketchlasso.exact.solve import (
    Descended,
    Descent,
    exact_alpha_max,
    solve_exact,
)

__all__ = [
    "SLOWEST",
    "Descended",
    "Descent",
    "ExactLedger",
    "ExactSolution",
    "Solved",
    "exact_alpha_max",
    "solve_exact",
    "solve_many",
]
