"""Solvers of batches: one driver, several algorithms, one certificate."""

from sketchlasso.solve.algorithms import Solver
from sketchlasso.solve.algorithms.protocol import Iterates
from sketchlasso.solve.driver import solve, solve_or_raise
from sketchlasso.solve.settings import Progress, Screening, Settings, StopSolve
from sketchlasso.solve.sizes import Sized, solve_for_size
from sketchlasso.solve.solution import Screened, Solution
from sketchlasso.solve.status import Status
from sketchlasso.solve.strongest import strongest_levels

__all__ = [
    "Iterates",
    "Progress",
    "Screened",
    "Screening",
    "Settings",
    "Sized",
    "Solution",
    "Solver",
    "Status",
    "StopSolve",
    "solve",
    "solve_for_size",
    "solve_or_raise",
    "strongest_levels",
]
