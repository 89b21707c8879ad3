"""The default solver: semismooth Newton on the dual, on a working set per instance."""

from __future__ import annotations

import threading

import numpy as np

from sketchlasso.kernels.instance import NO_ROOT, Rows, Work
from sketchlasso.kernels.newton import scratch_for, solve_instance
from sketchlasso.kernels.working_set import find_rows, gather
from sketchlasso.linalg.rows import stack_rows
from sketchlasso.linalg.threads import map_rows
from sketchlasso.problem.batch import Batch
from sketchlasso.problem.reduction import project_out
from sketchlasso.solvers.algorithms.protocol import Iterates, Round, dual_of_zero
from sketchlasso.solvers.settings import Settings
from sketchlasso.types import FloatArray, IntArray

# Working rows of a cold start: an optimum without a radius has at most as many as the rank.
FIRST_ROWS_PER_RANK = 10
FEWEST_ROWS = 500
# Rows per row in use or past its threshold: those nearest to theirs are likely to follow.
SPARE_ROWS = 1.3
# Ends a solve that does not converge; others take fewer than a hundred.
MAX_STEPS_PER_ROUND = 2000
# Below this gap a round is solved to the tolerance at once.
CLOSE = 1e-5
NO_NORMS = np.empty(0)


class _Scratch(threading.local):
    """Space of each thread for the rows of an instance and copies of them, and its scratch.

    It is kept between instances: page faults of new memory of that size would cost as much as the
    arithmetic on it.
    """

    space: FloatArray = np.empty((2, 0, 0))
    work: Work | None = None

    def of_shape(self, n: int, k: int) -> tuple[FloatArray, Work]:
        """Rows A (n, k) to fill, and the scratch of an instance with so many rows."""
        if self.space.shape[1] < n or self.space.shape[2] != k:
            self.space, self.work = np.empty((2, n + n // 2, k)), None
        if self.work is None or self.work.rows.shape != (n, k):
            self.work = scratch_for(self.space[1, :n])
        return self.space[0, :n], self.work


_scratch = _Scratch()


class Newton:
    """Proposes the solution of every open instance restricted to its working rows.

    The rows are those whose correlation with the dual point of the last round is largest:
    all that violate their threshold there, and some to spare. A cold start takes fewer, for
    its dual point is far from the optimum and nearly every row violates it.
    """

    def start(self, batch: Batch, settings: Settings) -> None:
        """Prepare the state that is kept between rounds. Sets: _limit, _finest, _settings."""
        first = max(FIRST_ROWS_PER_RANK * batch.rank, FEWEST_ROWS)
        self._limit = np.full(batch.n_instances, first, dtype=np.intp)
        self._finest = np.full(batch.n_instances, 0.3 * settings.tol)
        self._settings = settings

    def advance(self, view: Round, rows: IntArray) -> Iterates:
        """Solve each open instance on its working rows, instances in parallel."""
        results = map_rows(
            lambda place: self._improve(view, int(rows[place])),
            len(rows),
            self._settings.n_threads,
        )
        return Iterates(
            coef=stack_rows(
                [(indices, values) for indices, values, _, _ in results], view.batch.n_features
            ),
            dual=np.stack([u for _, _, u, _ in results]),
            steps=np.array([steps for *_, steps in results], dtype=np.intp),
        )

    def _improve(self, view: Round, row: int) -> tuple[IntArray, FloatArray, FloatArray, int]:
        batch = view.batch
        support, _ = _support(view, row)
        factor = batch.factor_row(row)
        chosen = self._choose(view, row, support, factor)
        u = view.iterates.dual[row].copy()
        free = chosen[factor[chosen] * batch.alpha[row] == 0]
        if len(free) and batch.radius[row] == 0 and not batch.positive:
            w, steps = self._solve_without(view, row, chosen, free, u)
        else:
            w, steps = self._solve_on(view, row, chosen, batch.root(row), batch.c[row], u)
        if not np.isfinite(w).all():
            return np.empty(0, dtype=np.intp), np.empty(0), np.full_like(u, np.nan), steps
        active = np.flatnonzero(w)
        return chosen[active], w[active], u, steps

    def _solve_without(
        self, view: Round, row: int, chosen: IntArray, free: IntArray, u: FloatArray
    ) -> tuple[FloatArray, int]:
        """Solve with the unpenalised rows projected out, then fit these; u changes in place."""
        batch = view.batch
        reduced = project_out(batch.root(row), batch.c[row], batch.unpenalised_rows(row, free))
        u[:] = reduced.project(u)
        is_free = np.isin(chosen, free)
        others = chosen[~is_free]
        w = np.zeros(len(chosen))
        w[~is_free], steps = self._solve_on(view, row, others, reduced.root, reduced.c, u)
        remainder = batch.c[row] - w[~is_free] @ batch.rows(row, others)
        w[is_free] = reduced.recover(remainder)
        return w, steps

    def _solve_on(
        self,
        view: Round,
        row: int,
        chosen: IntArray,
        root: FloatArray | None,
        c: FloatArray,
        u: FloatArray,
    ) -> tuple[FloatArray, int]:
        """Coefficients on the chosen rows and the steps spent; u changes in place."""
        batch = view.batch
        if len(chosen) == 0:
            u[:] = dual_of_zero(c, batch.s[row], batch.loss)
            return np.empty(0), 0
        A, work = _scratch.of_shape(len(chosen), batch.rank)
        gather(batch.P, chosen, A)
        rows = Rows(
            A,
            NO_ROOT if root is None else root,
            c,
            batch.s[row],
            batch.alpha[row] * batch.factor_row(row)[chosen],
            batch.radius[row],
            batch.positive,
            batch.loss == "squared",
        )
        w = _start(chosen, *_support(view, row))
        _, steps = solve_instance(rows, work, self._target(view, row), MAX_STEPS_PER_ROUND, u, w)
        return w, steps

    def _choose(self, view: Round, row: int, support: IntArray, factor: FloatArray) -> IntArray:
        batch, number = view.batch, view.instances[row]
        limit = max(self._limit[number], int(SPARE_ROWS * len(support)))
        norms, n = view.norms, batch.n_features
        chosen = np.empty(n, dtype=np.int64)
        count = find_rows(
            view.correlation[row],
            factor,
            batch.alpha[row],
            batch.positive,
            NO_NORMS if norms is None else norms.norms[norms.row_of[row]],
            1.0 if norms is None else norms.scale[row],
            view.reach[row],
            view.margin[row],
            view.certificate.scale[row],
            view.distance[row],
            support,
            limit,
            view.number > 0 or len(support) > 0,
            SPARE_ROWS,
            np.empty((2, n)),
            chosen,
        )
        self._limit[number] = limit + limit // 2
        return chosen[:count]

    def _target(self, view: Round, row: int) -> float:
        """Restricted gap to request: no finer than the full gap of the last round justifies.

        An instance that comes back although it met the finest target so far (its dual point
        loses accuracy on the way to feasibility) is asked for ten times more.
        """
        number = view.instances[row]
        reached = float(view.certificate.relative_gap[row])
        # Close to the end Newton's method gets the last digits for a step or two.
        coarse = min(1e-4, 0.01 * reached) if reached > CLOSE else 0.0
        target = max(self._finest[number], coarse)
        if target == self._finest[number]:
            self._finest[number] *= 0.1
        return target


def _start(chosen: IntArray, support: IntArray, values: FloatArray) -> FloatArray:
    """Coefficients (a,) on the chosen rows, which are sorted, from those on a support."""
    w = np.zeros(len(chosen))
    place = np.minimum(np.searchsorted(chosen, support), len(chosen) - 1)
    kept = chosen[place] == support
    w[place[kept]] = values[kept]
    return w


def _support(view: Round, row: int) -> tuple[IntArray, FloatArray]:
    """Features and values of the non-zero coefficients of one open instance."""
    coef = view.iterates.coef
    part = slice(coef.indptr[row], coef.indptr[row + 1])
    return coef.indices[part].astype(np.int64), coef.data[part]
