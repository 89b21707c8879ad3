"""Which features enter first, on many row sets: down the penalties until enough have entered."""

from __future__ import annotations

import numpy as np

from sketchlasso.exact import Descent, exact_alpha_max
from sketchlasso.instances import RowSets
from sketchlasso.linalg.threads import map_items, single_blas_thread
from sketchlasso.problem.terms import alpha_grid
from sketchlasso.results.path import Grid, Problem
from sketchlasso.solvers import Progress
from sketchlasso.solvers.settings import SharedProgress
from sketchlasso.types import FloatArray, IntArray

STAGE = 4  # penalties solved before the entered features are counted again

# Places in the grid at which features have entered, in the order of their entry.
Entered = dict[int, int]


def first_to_enter(
    problem: Problem, grid: Grid, rows: RowSets, count: int
) -> tuple[FloatArray, list[Entered]]:
    """Find the first `count` features to become non-zero as the penalty falls, per row set.

    Features that enter between two penalties are ordered by the size of their coefficients, on
    the scale of the problem's columns. The problem has one response, the grid a number of
    penalties, from the smallest that leaves no feature on any row set down to `alpha_min_ratio`
    times it. Returns the penalties that were needed, and the features of every row set.
    """
    assert grid.count is not None and grid.alpha_min_ratio is not None
    largest = exact_alpha_max(problem.X, problem.Y, rows=rows, terms=problem.terms)
    top = largest if float(largest[0]) > 0 else np.ones(1)
    alphas = alpha_grid(top, grid.count, grid.alpha_min_ratio)[0]
    entered = _on_data(problem, rows, count, alphas)
    last = max((step for own in entered for step in own.values()), default=0)
    return alphas[: last + 1], entered


def _add(entered: Entered, count: int, step: int, support: IntArray, values: FloatArray) -> None:
    """Add features of the next penalty to those that have entered, until there are enough."""
    for place in np.argsort(-np.abs(values), kind="stable"):
        if values[place] != 0 and len(entered) < count:
            entered.setdefault(int(support[place]), step)


def _on_data(problem: Problem, rows: RowSets, count: int, alphas: FloatArray) -> list[Entered]:
    """Walk down the path of every row set on X itself until enough features have entered."""
    settings, n = problem.full_settings, problem.X.shape[1]
    progress = SharedProgress(settings.callback, len(rows))
    everywhere: list[Entered] = []
    # Row sets of up to 1,500 columns have Gram matrices of all of them: 256 MB at a time.
    size = len(rows) if n > 1500 else max(2, 2**28 // (8 * n**2))
    for first in range(0, len(rows), size):
        group = RowSets(rows.n_samples, rows.sets[first : first + size])
        with single_blas_thread():
            descent = Descent(
                problem.X, problem.Y, group, problem.terms, settings.tol, settings.n_threads
            )

            def walk(number: int, descent: Descent = descent) -> Entered:
                entered: Entered = {}
                chain = descent.chain(number, 0)
                for start in range(0, len(alphas), STAGE):
                    solutions = chain.advance(alphas[start : start + STAGE])
                    for step, solved in enumerate(solutions, start):
                        _add(entered, count, step, solved.support, solved.values)
                    if len(entered) == count:
                        break
                descent.forget(number, 0)
                progress.part()(Progress(1, 1, round=0, worst_gap=0.0))
                return entered

            everywhere += map_items(walk, range(len(group)), settings.n_threads)
    return everywhere
