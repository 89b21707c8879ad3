"""The solvers, one file each, behind one protocol."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.solvers.algorithms.protocol import Algorithm, PerInstance

__all__ = ["Solver", "make_algorithm"]

Solver: TypeAlias = Literal["newton", "barrier", "first_order", "conic"]


def make_algorithm(solver: Solver) -> Algorithm:
    """The algorithm of a name, imported on first use so that a plain import stays light."""
    if solver == "newton":
        from sketchlasso.solvers.algorithms.newton import Newton

        return Newton()
    if solver == "barrier":
        from sketchlasso.solvers.algorithms.barrier import Barrier

        return PerInstance(Barrier)
    if solver == "first_order":
        from sketchlasso.solvers.algorithms.first_order import FirstOrder

        return PerInstance(FirstOrder)
    if solver == "conic":
        from sketchlasso.solvers.algorithms.conic import Conic, import_clarabel

        import_clarabel()  # a missing package is reported before anything is solved
        return PerInstance(Conic)
    names = ", ".join(repr(name) for name in get_args(Solver))
    raise InvalidInputError(Argument("solver", solver), f" is unknown; choose one of {names}")
