"""Solved problems as a tidy table: one row per instance, one column per fact."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchlasso.instances import ProblemSet
from sketchlasso.solvers import Solution, Status

__all__ = ["tidy_table"]


def tidy_table(problems: ProblemSet, solution: Solution) -> dict[str, NDArray[Any]]:
    """Columns of equal length, ready for ``pandas.DataFrame`` or ``polars.DataFrame``.

    Parameters
    ----------
    problems : ProblemSet
    solution : Solution
        Of ``problems.batch``.

    Returns
    -------
    dict of ndarray of shape (B,)
        row_set, response, left_out, radius, alpha, objective, relative_gap, status, n_nonzero,
        rounds, steps.
    """
    names = np.array([status.name.lower() for status in Status])
    return {
        "row_set": problems.row_set,
        "response": problems.response,
        "left_out": problems.left_out,
        "radius": problems.batch.radius,
        "alpha": problems.batch.alpha,
        "objective": solution.primal,
        "relative_gap": solution.relative_gap,
        "status": names[solution.status],
        "n_nonzero": solution.n_nonzero,
        "rounds": solution.rounds,
        "steps": solution.steps,
    }
