"""The default solver: semismooth Newton on the dual, on a working set per instance."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from sketchlasso.kernels.newton import NO_ROOT, Rows, Work, scratch_for, solve_instance
from sketchlasso.kernels.rows import find_rows, gather
from sketchlasso.linalg.rows import stack_rows
from sketchlasso.linalg.threads import map_rows
from sketchlasso.problem import formulas
from sketchlasso.problem.batch import Batch
from sketchlasso.problem.dual import Certificate
from sketchlasso.problem.reduction import ProjectedOut
from sketchlasso.problem.safe_rules import sparsify
from sketchlasso.solvers.settings import Settings
from sketchlasso.solvers.solution import Iterates
from sketchlasso.types import FloatArray, IntArray, RealArray

# Working rows of a cold start: an optimum without a radius has at most as many as the rank.
FIRST_ROWS_PER_RANK = 4
FEWEST_ROWS = 200
# Rows per row in use or past its threshold: those nearest to theirs are likely to follow.
SPARE_ROWS = 1.3


@dataclass(frozen=True, eq=False)
class Round:
    """State of the instances (b,) that were open before the latest proposal."""

    batch: Batch  # these instances only
    numbers: IntArray  # (b,): their numbers in the chunk
    iterates: Iterates  # the latest proposal
    correlation: RealArray  # (b, n): R u at the latest dual candidate
    certificate: Certificate
    number: int  # 0 for the first round


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
    """Proposes the solution of every open instance of a chunk restricted to its working rows.

    The rows are those whose correlation with the dual point of the last round is largest:
    all that violate their threshold there, and some to spare. A cold start takes fewer, for
    its dual point is far from the optimum and nearly every row violates it.
    """

    def __init__(self, batch: Batch, settings: Settings) -> None:
        self._settings = settings
        # Of every instance: most rows for now, and the restricted gap to ask for next.
        first = max(FIRST_ROWS_PER_RANK * batch.rank, FEWEST_ROWS)
        self._limit = np.full(batch.n_instances, first, dtype=np.intp)
        self._finest = np.full(batch.n_instances, 0.3 * settings.tol)

    def advance(self, view: Round, rows: IntArray) -> Iterates:
        """Propose better iterates for the instances in some rows (c,) of a view."""

        def improve(place: int) -> tuple[IntArray, FloatArray, FloatArray, int]:
            return self._improve(view, int(rows[place]))

        results = map_rows(improve, len(rows), self._settings.n_threads)
        return Iterates(
            coef=stack_rows(
                [(features, w) for features, w, _, _ in results], view.batch.n_features
            ),
            dual=np.stack([u for _, _, u, _ in results]),
            steps=np.array([steps for _, _, _, steps in results], dtype=np.intp),
        )

    def _improve(self, view: Round, row: int) -> tuple[IntArray, FloatArray, FloatArray, int]:
        """Features and values of the coefficients, a dual candidate (k,) and the steps spent."""
        batch = view.batch
        coef = view.iterates.coef
        stored = slice(coef.indptr[row], coef.indptr[row + 1])
        support, values = coef.indices[stored].astype(np.int64), coef.data[stored]
        factor = batch.factor_row(row)
        chosen = self._working_rows(view, row, support, factor)
        target = self._target(view, row)
        u = view.iterates.dual[row].copy()
        start = np.zeros(len(chosen))
        if len(chosen):
            place = np.minimum(np.searchsorted(chosen, support), len(chosen) - 1)
            used = chosen[place] == support
            start[place[used]] = values[used]
        free = batch.alpha[row] * factor[chosen] == 0
        if free.any() and batch.radius[row] == 0 and not batch.positive:
            # Solve with the unpenalised rows projected out, then fit these.
            reduced = ProjectedOut.of(
                batch.root(row), batch.c[row], batch.unpenalised_rows(row, chosen[free])
            )
            u[:] = reduced.project(u)
            w, others = np.zeros(len(chosen)), chosen[~free]
            w[~free], steps = _solve_on(
                batch, row, others, reduced.root, reduced.c, target, u, start[~free]
            )
            w[free] = reduced.recover(batch.c[row] - w[~free] @ batch.rows(row, others))
            u[:] = reduced.project(u)
        else:
            w, steps = _solve_on(
                batch, row, chosen, batch.root(row), batch.c[row], target, u, start
            )
        if not np.isfinite(w).all():
            return np.empty(0, dtype=np.intp), np.empty(0), np.full_like(u, np.nan), steps
        active = np.flatnonzero(w)
        if batch.radius[row] == 0 and len(active) >= batch.rank:
            # No more features than the rank are needed; an exact fit may be spread over more.
            rows = batch.rows(row, chosen[active])
            w[active] = sparsify(rows, w[active], factor[chosen[active]], batch.positive)
            active = np.flatnonzero(w)
        return chosen[active], w[active], u, steps

    def _working_rows(
        self, view: Round, row: int, support: IntArray, factor: FloatArray
    ) -> IntArray:
        """Features (p,) of the working rows, in increasing order."""
        batch, number = view.batch, view.numbers[row]
        limit = max(int(self._limit[number]), int(SPARE_ROWS * len(support)))
        self._limit[number] = limit + limit // 2
        chosen = np.empty(batch.n_features, dtype=np.int64)
        count = find_rows(
            view.correlation[row],
            factor,
            batch.alpha[row],
            batch.positive,
            support,
            limit,
            view.number > 0 or len(support) > 0,
            SPARE_ROWS,
            np.empty((2, batch.n_features)),
            chosen,
        )
        return chosen[:count]

    def _target(self, view: Round, row: int) -> float:
        """Restricted gap to request: no finer than the full gap of the last round justifies.

        An instance that comes back although it met the finest target so far (its dual point
        loses accuracy on the way to feasibility) is asked for ten times more.
        """
        number = view.numbers[row]
        finest = float(self._finest[number])
        reached = float(view.certificate.relative_gap[row])
        # Close to the end Newton's method gets the last digits for a step or two.
        coarse = min(1e-4, 0.01 * reached) if reached > 1e-5 else 0.0
        if finest >= coarse:
            self._finest[number] = 0.1 * finest
        return max(finest, coarse)


def _solve_on(
    batch: Batch,
    row: int,
    chosen: IntArray,
    root: FloatArray | None,
    c: FloatArray,
    target: float,
    u: FloatArray,
    start: FloatArray,
) -> tuple[FloatArray, int]:
    """Coefficients on the chosen rows and the steps spent; u and `start` change in place."""
    if len(chosen) == 0:
        squared = batch.loss == "squared"
        u[:] = c if squared else formulas.null_dual(c[None], float(batch.s[row]))[0]
        return start, 0
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
    # Most solves take fewer than a hundred steps.
    _, steps = solve_instance(rows, work, target, 2000, u, start)
    return start, steps
