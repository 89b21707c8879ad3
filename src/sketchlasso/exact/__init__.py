"""The problem without any sketch: exact solutions on the full data, with their certificate."""

from sketchlasso.exact.chain import SLOWEST, Solved
from sketchlasso.exact.descent import (
    WHOLE_COLUMNS,
    Descended,
    Descent,
    exact_alpha_max,
    solve_exact,
)
from sketchlasso.exact.ledger import ExactLedger, ExactSolution, stack_solved
from sketchlasso.exact.many_targets import solve_many

__all__ = [
    "SLOWEST",
    "WHOLE_COLUMNS",
    "Descended",
    "Descent",
    "ExactLedger",
    "ExactSolution",
    "Solved",
    "exact_alpha_max",
    "solve_exact",
    "solve_many",
    "stack_solved",
]
