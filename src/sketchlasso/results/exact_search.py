"""The search for a penalty without a sketch: all folds walk down their paths together.

Penalties follow lambda = alpha ||r|| on all rows, evenly spaced in log scale from the largest:
the grid of other LASSO software, whose end means the same for data with little noise and with
much. In stages of a few penalties, the path on all rows gives the alphas of these lambdas, the
folds are solved for them and judged on their held-out rows, and responses whose scores are well
past their best are done. Where the best is still at the end of the grid, the grid goes on.

With little noise the residual shrinks with lambda, and alpha = lambda / ||r|| hardly falls. Folds
have fewer rows, and smaller penalties at which features enter: each alpha is therefore a little
smaller than the one before. Where all rows are fitted exactly, lambda is zero for all smaller ones.
From there on the penalties themselves are evenly spaced, until every fold is fitted exactly, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from sketchlasso.exact import SLOWEST, Descended, Descent, ExactLedger, Solved, stack_solved
from sketchlasso.instances import RowSets
from sketchlasso.linalg.threads import single_blas_thread
from sketchlasso.problem.terms import alpha_grid, default_ratio
from sketchlasso.results.choices import IN_A_ROW, CrossValidation, decided, judged, mean_of
from sketchlasso.results.fitting import Task, exact_path
from sketchlasso.results.scores import Metric, greater_is_better, score
from sketchlasso.solvers.settings import StopSolve
from sketchlasso.solvers.solution import Stopwatch
from sketchlasso.types import FloatArray, SparseRows

# Penalties between two decisions. Larger stages cost less than they save with many responses, and
# at first where all row sets share a Gram matrix: there such penalties cost next to nothing.
STAGE = 6
LONG_STAGE = 25
MANY_RESPONSES = 20
# An automatic grid may grow to so many times its length.
MOST_GROWTH = 2
# Chains that have Gram matrices of their own, and are held at a time.
CHAINS_AT_ONCE = 24
# Up to this many entries of X, most of the time is spent in Python, which runs on one thread.
FEW_ENTRIES = 100_000


def search_exact(task: Task, rows: RowSets, metrics: Sequence[Metric]) -> CrossValidation:
    """Walk down automatic penalties until the first metric has decided for every response.

    The task has a number of penalties, and every fold has rows to be judged on.
    """
    with Stopwatch() as watch, single_blas_thread():
        search = _Search(task, rows, metrics)
        while search.open_next():
            while search.open:
                search.stage()
    return search.result(watch)


class _Search:
    """State of the search; every stage extends all arrays by a few penalties."""

    def __init__(self, task: Task, rows: RowSets, metrics: Sequence[Metric]) -> None:
        self._task, self._rows, self._metrics = task, rows, tuple(metrics)
        assert task.count is not None
        m, n = task.X.shape
        t, self._count, settings = task.Y.shape[1], task.count, task.full_settings
        ratio = task.alpha_min_ratio or default_ratio((m, n))
        steps = alpha_grid(np.ones(1), self._count, ratio)[0]
        growth = MOST_GROWTH if task.alpha_min_ratio is None and self._count > 1 else 1
        self._spacing = float(steps[1] / steps[0]) if self._count > 1 else 1.0
        self._steps: FloatArray = self._spacing ** np.arange(float(growth * self._count))
        everyone = RowSets(m, (*rows.sets, *task.all_rows.sets))
        threads = settings.n_threads if m * n > FEW_ENTRIES else 1
        self._descent = Descent(task.X, task.Y, everyone, task.terms, settings.tol, threads)
        self._all = len(rows)
        shape = (len(rows), t, len(self._steps))
        expected = shape[0] * t * self._count
        self._ledger = ExactLedger(shape, n, settings.tol, settings.callback, expected)
        self._own: list[list[Solved]] = [[] for _ in range(t)]
        self._alphas: list[FloatArray] = [np.empty(0)] * t
        # The squared error decides when to stop, also beside other metrics.
        scored = dict.fromkeys((*metrics, "mse"))
        self._scores: dict[Any, FloatArray] = {name: np.full(shape, np.nan) for name in scored}
        self._held_out = [task.X[row_set.test] for row_set in rows]
        self._number, self._stopped = 0, False
        self._largest = np.zeros(t)
        # Responses that are fitted exactly at their last penalty on all rows.
        self._exact: set[int] = set()
        # Steps of the next stage and its solutions on all rows, if they were found with the last.
        self._ahead: tuple[FloatArray, dict[tuple[int, int], Descended]] | None = None
        self._looks_ahead = threads > 1
        self.open: list[int] = []
        self._waiting = list(range(t))

    def open_next(self) -> bool:
        """Open the next responses, as many as chains are held at a time; False if none is left."""
        size = len(self._waiting)
        if not self._descent.shares_gram:
            size = max(1, CHAINS_AT_ONCE // (len(self._rows) + 1))
        self.open, self._waiting = self._waiting[:size], self._waiting[size:]
        self._number, self._ahead = 0, None
        for response in self.open:
            self._largest[response] = self._descent.chain(self._all, response).largest_lambda()
        return len(self.open) > 0

    def stage(self) -> None:
        """Solve and judge the next penalties of the responses that are open."""
        if self._ahead is None:
            steps = self._stage_from(self._number)
            found = self._descent.descend(self._lambdas(steps))
        else:
            steps, found = self._ahead
        fresh = self._next_penalties(steps, found)
        numbers = [self._number + np.arange(len(part)) for part in fresh]
        keys = [
            (fold, response)
            for response in self.open
            if len(fresh[response])
            for fold in range(len(self._rows))
        ]
        then = self._number + len(steps)
        # The folds leave a thread idle now and then. It computes the penalties of the next stage,
        # if there will probably be one.
        following = self._stage_from(then)
        others = self._lambdas(following) if self._looks_ahead and then < self._count else {}
        try:
            further = self._descent.solve(keys, fresh, numbers, self._ledger, others=others)
            self._ahead = (following, further) if others else None
        except StopSolve:
            self._stop()
        for fold in range(len(self._rows)):
            self._judge(fold, [key[1] for key in keys if key[0] == fold], fresh)
        self._number += len(steps)
        if self._stopped:
            self.open.clear()
            self._waiting.clear()
        self._close([response for response in self.open if self._finished(response)])

    def _stage_from(self, number: int) -> FloatArray:
        """Steps of the stage that begins with a penalty."""
        size = STAGE
        if len(self.open) > MANY_RESPONSES or (self._descent.shares_gram and number == 0):
            size = LONG_STAGE
        elif self._descent.shares_gram:
            active = [len(self._own[r][-1].support) for r in self.open if self._own[r]]
            if 2 * max(active, default=0) < number:
                # A penalty with so few features costs less than the round that judges it.
                size = max(size, number // 2)
        if number < self._count:
            size = min(size, self._count - number)
        return self._steps[number : number + size]

    def _lambdas(self, steps: FloatArray) -> dict[tuple[int, int], FloatArray]:
        """Lambdas of the responses that are open, on all rows."""
        return {
            (self._all, response): self._largest[response] * steps
            for response in self.open
            if self._largest[response] > 0 and response not in self._exact
        }

    def _stop(self) -> None:
        """End the search because the callback stopped it; unsolved problems hold w = 0."""
        self._stopped = True
        for key in product(range(len(self._rows)), range(len(self._alphas))):
            if not self._ledger.begun(*key):
                self._ledger.begin(*key, self._descent.chain(*key).target)

    def _next_penalties(
        self, steps: FloatArray, found: dict[tuple[int, int], Descended]
    ) -> list[FloatArray]:
        """Penalties of every response at the next lambdas; none of those that are not open."""
        fresh: list[FloatArray] = [np.empty(0)] * len(self._alphas)
        for response in self.open:
            before, own = self._alphas[response], self._own[response]
            penalties, solved = found.get((self._all, response), (np.empty(0), []))
            own += solved
            known = _falling(np.concatenate([before, penalties]), len(before))
            missing = len(steps) - len(penalties)
            if missing:
                # No feature ever enters, so any penalty will do; or smaller ones change nothing.
                self._exact.add(response)
                known = _extended(known, len(known) + missing, self._spacing)
                if not own:
                    own.append(self._descent.chain(self._all, response).solve(float(known[0])))
                own += own[-1:] * (len(known) - len(own))
            self._alphas[response], fresh[response] = known, known[len(before) :]
        return fresh

    def _judge(self, fold: int, responses: Sequence[int], fresh: Sequence[FloatArray]) -> None:
        """Score one fold's new models of some responses."""
        if not responses:
            return
        models = {r: range(self._number, self._number + len(fresh[r])) for r in responses}
        predicted = self._ledger.fitted(fold, models, self._held_out[fold])
        test, first = self._rows[fold].test, 0
        weights = None if self._task.weights is None else self._task.weights[test]
        for response, numbers in models.items():
            own = predicted[:, first : first + len(numbers)]
            first += len(numbers)
            here = slice(numbers.start, numbers.stop)
            y = self._task.Y[test, response]
            for metric, values in self._scores.items():
                values[fold, response, here] = score(metric, y, own, weights)

    def _finished(self, response: int) -> bool:
        """Whether no smaller penalty of a response has to be tried."""
        if self._largest[response] == 0 or self._number >= len(self._steps):
            return True
        metric = self._metrics[0]
        cost = self._scores[metric][:, response, : self._number]
        cost = -cost if greater_is_better(metric) else cost
        means = np.nan_to_num(mean_of(cost), nan=np.inf)
        # Shares of correct labels vary in jumps and seldom get clearly worse; squared errors do.
        past = self._number - 1 - int(np.argmin(means))
        if past >= IN_A_ROW and decided(self._scores["mse"][:, response, : self._number]):
            return True
        if response in self._exact and all(
            self._descent.chain(fold, response).fits_exactly for fold in range(len(self._rows))
        ):
            return True
        if self._number < self._count:
            return False
        return past > 0

    def _close(self, responses: Sequence[int]) -> None:
        """End the search of some responses and free what their chains hold."""
        for response in responses:
            self.open.remove(response)
            self._ledger.leave_out(response, len(self._alphas[response]))
            for row_set in range(self._all + 1):
                self._descent.forget(row_set, response)

    def result(self, watch: Stopwatch) -> CrossValidation:
        """Everything, cut to the longest grid."""
        longest = max(self._count, *(len(part) for part in self._alphas))
        alphas = np.array([_extended(part, longest, self._spacing) for part in self._alphas])
        solution = self._ledger.solution(watch, longest)
        path = exact_path(solution, alphas, self._task)
        return judged(
            self._task.X,
            path,
            {name: self._scores[name][:, :, None, :longest] for name in self._metrics},
            self._rows,
            self._on_all_rows(longest),
        )

    def _on_all_rows(self, longest: int) -> SparseRows:
        """Coefficients (responses * alphas, n) of the paths on all rows."""
        found = [one for own in self._own for one in (*own, *[None] * (longest - len(own)))]
        return stack_solved(found, self._task.X.shape[1])


def _falling(alphas: FloatArray, first: int) -> FloatArray:
    """Penalties, from number `first` on at most SLOWEST times the one before."""
    fallen = alphas.copy()
    for number in range(max(first, 1), len(fallen)):
        fallen[number] = min(fallen[number], SLOWEST * fallen[number - 1])
    return fallen


def _extended(alphas: FloatArray, count: int, spacing: float) -> FloatArray:
    """Penalties (count,) that go on below the last as they are spaced."""
    rest = spacing ** np.arange(1, count - len(alphas) + 1)
    last = alphas[-1] if len(alphas) else 1.0 / spacing
    return np.concatenate([alphas, last * rest])
