"""Solvers of batches: one driver, several algorithms, one certificate."""

from sketchlasso.solve.algorithms import Solver
from sketchlasso.solve.algorithms.protocol import Iterates
from sketchlasso.solve.driver import solve
from sketchlasso.solve.settings import Progress, Screening, Settings
from sketchlasso.solve.solution import Screened, Solution
from sketchlasso.solve.status import Status

__all__ = [
    "Iterates",
    "Progress",
    "Screened",
    "Screening",
    "Settings",
    "Solution",
    "Solver",
    "Status",
    "solve",
]
