"""Solvers of batches: one driver, several algorithms, one certificate."""

from sketchlasso.solvers.algorithms import Solver
from sketchlasso.solvers.algorithms.protocol import Iterates
from sketchlasso.solvers.driver import solve, solve_or_raise
from sketchlasso.solvers.settings import Progress, Screening, Settings, StopSolve
from sketchlasso.solvers.sizes import Sized, solve_for_size
from sketchlasso.solvers.solution import Screened, Solution, Status
from sketchlasso.solvers.strongest import strongest_features

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
    "strongest_features",
]
