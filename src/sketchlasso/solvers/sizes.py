"""For every instance the penalty that leaves as many coefficients as asked, and its solution."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from sketchlasso.errors import InvalidInputError
from sketchlasso.kernels.gram_solver import (
    ENTRY,
    SEARCH_ROUNDS,
    SHARE_OF_INTERPOLATION,
    rows_at_a_time,
    search_instance,
    strongest_rows,
)
from sketchlasso.kernels.newton import NO_ROOT
from sketchlasso.linalg.device import CPU
from sketchlasso.linalg.rows import stack_rows
from sketchlasso.linalg.threads import map_rows, single_blas_thread
from sketchlasso.problem.batch import Batch
from sketchlasso.problem.dual import correlate, largest_penalties, null_model
from sketchlasso.problem.formulas import magnitude
from sketchlasso.solvers.driver import chunks_of, solve_or_raise
from sketchlasso.solvers.settings import Settings
from sketchlasso.solvers.solution import Iterates, Solution
from sketchlasso.solvers.workers import join_solutions, map_parts, parts_for_workers
from sketchlasso.types import FloatArray, IntArray, RealArray

NO_ROWS = np.empty(0, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Sized:
    """Penalties found for a size, and their solutions.

    Attributes
    ----------
    alpha : ndarray of shape (B,)
        Zero where the radius leaves no penalty a non-zero coefficient.
    solution : Solution
        Of the instances at these penalties, with its certificates. More coefficients than asked
        are non-zero where several enter at one penalty.
    """

    alpha: FloatArray
    solution: Solution


def solve_for_size(batch: Batch, size: int, settings: Settings | None = None) -> Sized:
    """Search every instance's penalty for `size` non-zeros, and solve it there.

    The search walks down the penalties of a working set of rows, warm from one to the next, and
    is repeated where a row outside would enter. The solution is then certified on all rows.

    Parameters
    ----------
    batch : Batch
        With the square-root loss and no unpenalised feature; its `alpha` plays no role.
    size : int
        Coefficients wanted, at least 1.
    settings : Settings, optional
        The search runs on the CPU, also where `device` names another one.

    Returns
    -------
    Sized
        Ctrl-C raises KeyboardInterrupt.
    """
    settings = settings or Settings()
    if size < 1:
        raise InvalidInputError(f"size={size!r} must be at least 1")
    if batch.loss != "sqrt" or (batch.penalty_factor == 0).any():
        raise InvalidInputError(
            "a search for a size needs the square-root loss and positive penalty factors"
        )
    settings = replace(settings, device=CPU)
    parts = parts_for_workers(batch)
    if parts is None:
        return _size_here(batch, settings, size)
    begun = perf_counter()
    found = map_parts(_size_here, parts, batch, settings, lambda _: (size,))
    back = np.argsort(np.concatenate(parts), kind="stable")
    return Sized(
        np.concatenate([part.alpha for part in found])[back],
        join_solutions([part.solution for part in found], parts, perf_counter() - begun),
    )


def _size_here(batch: Batch, settings: Settings, size: int) -> Sized:
    """Search and solve a batch in this process."""
    search = _SizeSearch(batch, size, settings)
    with single_blas_thread():
        for chunk in chunks_of(batch, settings, batch.n_instances):
            search.run(chunk)
    steps = np.zeros(batch.n_instances, dtype=np.intp)
    start = Iterates(stack_rows(search.pieces, batch.n_features), search.dual, steps)
    # Where nothing can enter, w = 0 is optimal at any penalty.
    penalised = replace(batch, alpha=np.where(search.alpha > 0, search.alpha, 1.0))
    return Sized(search.alpha, solve_or_raise(penalised, "newton", settings, start))


def strongest_features(batch: Batch, count: int, settings: Settings) -> tuple[IntArray, FloatArray]:
    """The features (B, count) with the largest |R u| at the null model's u, and these |R u|.

    Both are in decreasing order. The batch has no penalty factors; its excluded features count as
    zero. Where w >= 0 is asked for, R u counts instead of |R u|.
    """
    features = np.empty((batch.n_instances, count), dtype=np.intp)
    levels = np.empty((batch.n_instances, count))
    for chunk in chunks_of(batch, settings, batch.n_instances):
        part = batch.take(chunk)
        seen = correlate(part, null_model(part).dual, n_threads=settings.n_threads)
        level = magnitude(seen, batch.positive)
        top = np.argpartition(-level, count - 1, axis=1)[:, :count]
        size = np.take_along_axis(level, top, axis=1)
        order = np.argsort(-size, axis=1, kind="stable")
        features[chunk] = np.take_along_axis(top, order, axis=1)
        levels[chunk] = np.take_along_axis(size, order, axis=1)
    return features, levels


class _SizeSearch:
    """The search for a batch; `pieces` are the non-zero coefficients, as indices and values."""

    def __init__(self, batch: Batch, size: int, settings: Settings) -> None:
        count = batch.n_instances
        self.batch, self.size, self.settings = batch, size, settings
        self.alpha = np.zeros(count)
        self.dual = null_model(batch).dual
        self.pieces: list[tuple[IntArray, FloatArray]] = [(NO_ROWS, np.empty(0))] * count
        self._rows = [NO_ROWS] * count
        self._more = rows_at_a_time(size)

    def run(self, numbers: IntArray) -> None:
        """Rounds of search on working rows for some instances, until no row outside would enter."""
        batch, threads = self.batch.take(numbers), self.settings.n_threads
        correlation = correlate(batch, self.dual[numbers], n_threads=threads)
        largest = largest_penalties(batch, correlation, threads)
        left = np.flatnonzero(largest > 0)
        numbers, largest, correlation = numbers[left], largest[left], correlation[left]
        for _ in range(SEARCH_ROUNDS):
            left = np.flatnonzero(self._round(numbers, correlation, largest))
            if len(left) == 0:
                return
            numbers, largest = numbers[left], largest[left]
            correlation = correlate(self.batch.take(numbers), self.dual[numbers], n_threads=threads)

    def _round(self, numbers: IntArray, correlation: RealArray, largest: FloatArray) -> list[bool]:
        def improve(row: int) -> bool:
            return self._improve(int(numbers[row]), correlation[row], float(largest[row]))

        return map_rows(improve, len(numbers), self.settings.n_threads)

    def _improve(self, number: int, correlation: RealArray, largest: float) -> bool:
        """Search again with the rows that would enter; False where there are none, or no more."""
        batch, known = self.batch, self._rows[number]
        factor = batch.factor_row(number)
        floor = self.alpha[number] * (1.0 + ENTRY)
        rows = strongest_rows(correlation, factor, batch.positive, floor, known, self._more)
        if len(rows) == len(known):
            return False
        root, w = batch.root(number), np.empty(len(rows))
        alpha, count = search_instance(
            batch.P,
            NO_ROOT if root is None else root,
            rows,
            batch.c[number],
            batch.s[number],
            factor,
            largest,
            batch.radius[number],
            batch.positive,
            self.size,
            self.dual[number],
            w,
        )
        if not np.isfinite(alpha):
            # No penalty could be solved: the driver's solver can, from the null model.
            self.alpha[number] = SHARE_OF_INTERPOLATION * largest
            self.dual[number] = null_model(batch.take(slice(number, number + 1))).dual[0]
            return False
        active = np.flatnonzero(w)
        self._rows[number], self.alpha[number] = rows, alpha
        self.pieces[number] = rows[active], w[active]
        return bool(count <= self.size)
