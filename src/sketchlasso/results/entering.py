"""Which features enter first, on many row sets: down the penalties until enough have entered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from sketchlasso.exact import Descent, exact_alpha_max
from sketchlasso.instances import RowSets
from sketchlasso.linalg.threads import map_items, single_blas_thread
from sketchlasso.problem.terms import alpha_grid
from sketchlasso.results.path import Grid, Problem
from sketchlasso.results.progress import SharedProgress
from sketchlasso.results.sketched import fit_sketched
from sketchlasso.sketches import Sketch
from sketchlasso.solvers import Progress
from sketchlasso.types import FloatArray, IntArray

# Penalties solved before the entered features are counted again.
STAGE = 4
# With more columns row sets seldom have Gram matrices of all of them.
MANY_COLUMNS = 1500
# Bytes that the Gram matrices of the row sets at work may take together.
GRAM_BYTES = 2**28


@dataclass(frozen=True, eq=False)
class Entered:
    """The features that enter first on each of s row sets."""

    features: IntArray  # (s, q): in the order of their entry; -1 where fewer than q enter
    # (s, q): the penalty at which each is first non-zero, as a place in `alphas`; -1 likewise
    steps: IntArray
    alphas: FloatArray  # (a,): decreasing, as many as were needed


def first_to_enter(
    problem: Problem, grid: Grid, rows: RowSets, count: int, sketch: Sketch | None = None
) -> Entered:
    """Find the first `count` features to become non-zero as the penalty falls, per row set.

    Features that enter between two penalties are ordered by the size of their coefficients, on
    the scale of the problem's columns. The problem has one response, the grid a number of
    penalties, from the smallest that leaves no feature on any row set down to `alpha_min_ratio`
    times it. The sketch is made without the response; without one the problems on X itself are
    solved.
    """
    assert grid.count is not None and grid.alpha_min_ratio is not None
    terms = problem.terms if sketch is None else problem.terms.scaled(sketch.column_scales)
    largest = exact_alpha_max(problem.X, problem.Y, rows=rows, terms=terms)
    top = largest if float(largest[0]) > 0 else np.ones(1)
    alphas = alpha_grid(top, grid.count, grid.alpha_min_ratio)[0]
    if sketch is None:
        entered = _on_data(problem, rows, count, alphas)
    else:
        entered = _on_sketch(problem, rows, count, alphas, sketch)
    features = np.full((len(rows), count), -1, dtype=np.intp)
    steps = np.full((len(rows), count), -1, dtype=np.intp)
    for number, own in enumerate(entered):
        features[number, : len(own)] = list(own)
        steps[number, : len(own)] = list(own.values())
    return Entered(features, steps, alphas[: int(steps.max(initial=0)) + 1])


def _see(
    entered: dict[int, int], count: int, step: int, support: IntArray, values: FloatArray
) -> None:
    """Add features of the next penalty to those that have entered, until there are enough."""
    for place in np.argsort(-np.abs(values), kind="stable"):
        if values[place] != 0 and len(entered) < count:
            entered.setdefault(int(support[place]), step)


def _on_data(
    problem: Problem, rows: RowSets, count: int, alphas: FloatArray
) -> list[dict[int, int]]:
    """Walk down the path of every row set on X itself until enough features have entered.

    Returns the features of every row set, in the order of their entry, with their penalties.
    """
    settings = problem.full_settings
    progress = SharedProgress(settings.callback, len(rows))
    everywhere: list[dict[int, int]] = []
    with single_blas_thread():
        for group in _groups(rows, problem.X.shape[1]):
            descent = Descent(
                problem.X, problem.Y, group, problem.terms, settings.tol, settings.n_threads
            )

            def walk(number: int, descent: Descent = descent) -> dict[int, int]:
                entered: dict[int, int] = {}
                chain = descent.chain(number, 0)
                for first in range(0, len(alphas), STAGE):
                    found = chain.advance(alphas[first : first + STAGE])
                    for step, solved in enumerate(found, first):
                        _see(entered, count, step, solved.support, solved.values)
                    if len(entered) == count:
                        break
                descent.forget(number, 0)
                progress.part()(Progress(1, 1, round=0, worst_gap=0.0))
                return entered

            everywhere += map_items(walk, range(len(group)), settings.n_threads)
    return everywhere


def _groups(rows: RowSets, n: int) -> Iterator[RowSets]:
    """Row sets whose Gram matrices, where they hold all n columns, fit into memory together."""
    size = len(rows) if n > MANY_COLUMNS else max(2, GRAM_BYTES // (8 * n**2))
    for first in range(0, len(rows), size):
        yield RowSets(rows.n_samples, rows.sets[first : first + size])


def _on_sketch(
    problem: Problem, rows: RowSets, count: int, alphas: FloatArray, sketch: Sketch
) -> list[dict[int, int]]:
    """Solve a few penalties at a time, as one batch over the row sets that lack features."""
    entered: list[dict[int, int]] = [{} for _ in range(len(rows))]
    for first in range(0, len(alphas), STAGE):
        waiting = [number for number, own in enumerate(entered) if len(own) < count]
        if not waiting:
            break
        part = alphas[first : first + STAGE]
        sets = RowSets(rows.n_samples, tuple(rows[number] for number in waiting))
        coef: Any = fit_sketched(problem, Grid(part), sketch, sets).models.coef
        for row, (number, step) in enumerate(product(waiting, range(len(part)))):
            here = slice(coef.indptr[row], coef.indptr[row + 1])
            _see(entered[number], count, first + step, coef.indices[here], coef.data[here])
    return entered
