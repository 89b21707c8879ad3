"""Solvers of batches: the Newton method and a generic conic solver, one driver that certifies."""

from sketchlasso.solvers.driver import Solver, solve, solve_or_raise
from sketchlasso.solvers.settings import Progress, Settings, StopSolve
from sketchlasso.solvers.sizes import Sized, solve_for_size, strongest_features
from sketchlasso.solvers.solution import Iterates, Solution, Status

__all__ = [
    "Iterates",
    "Progress",
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
