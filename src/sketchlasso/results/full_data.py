"""Paths on X itself for all row sets, a stage of penalties at a time.

Penalties follow lambda = alpha ||r|| on all rows, evenly spaced in log scale from the largest: the
grid of other LASSO software, whose end means the same for data with little noise and with much. In
every stage the path on all rows gives the alphas of the next lambdas, and the folds are solved for
them. With little noise the residual shrinks with lambda, and alpha hardly falls. Folds have fewer
rows, and smaller penalties at which features enter: each alpha is therefore a little smaller than
the one before. Where all rows are fitted exactly, lambda is zero for all smaller ones. From there
on the penalties themselves are evenly spaced, until every fold is fitted exactly, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from time import perf_counter

import numpy as np

from sketchlasso.exact import SLOWEST, Descent, ExactLedger
from sketchlasso.instances import RowSets
from sketchlasso.problem.terms import alpha_grid, default_ratio
from sketchlasso.results.path import Grid, Path, Points, Problem, exact_path
from sketchlasso.results.scores import Metric, score
from sketchlasso.solvers.settings import StopSolve
from sketchlasso.types import FloatArray, IntArray

# Penalties of a stage. Larger stages cost less than they save with many responses, and at first
# where all row sets share a Gram matrix.
STAGE = 6
LONG_STAGE = 25
MANY_RESPONSES = 20
# Chains that have Gram matrices of their own, and are held at a time.
CHAINS_AT_ONCE = 24
# Up to this many entries of X, most of the time is spent in Python, which runs on one thread.
FEW_ENTRIES = 100_000


class FullPaths:
    """The paths of all responses and row sets on X itself, each at its own place."""

    def __init__(self, problem: Problem, grid: Grid, rows: RowSets, growth: int) -> None:
        assert grid.count is not None
        self._problem, self._rows, self._count = problem, rows, grid.count
        (m, n), t, settings = problem.X.shape, problem.Y.shape[1], problem.full_settings
        ratio = grid.alpha_min_ratio or default_ratio((m, n))
        steps = alpha_grid(np.ones(1), self._count, ratio)[0]
        self._spacing = float(steps[1] / steps[0]) if self._count > 1 else 1.0
        self._steps: FloatArray = self._spacing ** np.arange(float(growth * self._count))
        self.shape = (len(rows), t, 1, len(self._steps))
        # The path on all rows comes last.
        self._all, everyone = len(rows), RowSets(m, (*rows.sets, *problem.all_rows.sets))
        threads = settings.n_threads if m * n > FEW_ENTRIES else 1
        self._descent = Descent(
            problem.X, problem.Y, everyone, problem.terms, settings.tol, threads
        )
        self._ledger = ExactLedger(
            (len(rows), t, len(self._steps)),
            n,
            settings.tol,
            settings.callback,
            len(rows) * t * self._count,
        )
        # Solutions on all rows at the penalties of the folds, for the fit at the one that is best.
        self._everywhere = ExactLedger((1, t, len(self._steps)), n, settings.tol, None)
        self._alphas: list[FloatArray] = [np.empty(0)] * t
        self._largest, self._active = np.zeros(t), np.zeros(t, dtype=np.intp)
        # Whether responses are fitted exactly at their last penalty on all rows.
        self._exact = np.zeros(t, dtype=bool)
        self._begun = perf_counter()
        self.interrupted = False

    def groups(self) -> Iterator[list[int]]:
        """Responses, as many as chains are held at a time."""
        t, size = len(self._alphas), len(self._alphas)
        if not self._descent.shares_gram:
            size = max(1, CHAINS_AT_ONCE // (len(self._rows) + 1))
        for first in range(0, t, size):
            responses = list(range(first, min(first + size, t)))
            for response in responses:
                self._largest[response] = self._descent.chain(self._all, response).largest_lambda()
            yield responses

    def stage(self, place: int, responses: list[int]) -> IntArray:
        """The next penalties of some responses, more of them where each costs little."""
        size, shares = STAGE, self._descent.shares_gram
        if len(responses) > MANY_RESPONSES or (shares and place == 0):
            size = LONG_STAGE
        elif shares and 2 * self._active[responses].max() < place:
            # A penalty with so few features costs less than the round that judges it.
            size = max(size, place // 2)
        end = self._count if place < self._count else len(self._steps)
        return np.arange(place, min(place + size, end))

    def scored(self, at: Points, metrics: tuple[Metric, ...]) -> dict[Metric, FloatArray]:
        """Scores (folds, p) of the next penalties of some responses, each with the same places."""
        responses, places = list(dict.fromkeys(at[0].tolist())), np.unique(at[2])
        fresh: list[FloatArray] = [np.empty(0)] * len(self._alphas)
        for response, alphas in zip(responses, self._next(responses, places), strict=True):
            fresh[response] = alphas
        keys = list(product(range(len(self._rows)), responses))
        try:
            self._descent.solve(keys, fresh, [places] * len(self._alphas), self._ledger)
        except StopSolve:
            # Problems that were never begun hold w = 0.
            self.interrupted = True
            for key in product(range(len(self._rows)), range(len(self._alphas))):
                if not self._ledger.begun(*key):
                    self._ledger.begin(*key, self._descent.chain(*key).target)
        models = {response: range(places[0], places[-1] + 1) for response in responses}
        scores = {name: np.empty((len(self._rows), len(at[0]))) for name in metrics}
        for fold, row_set in enumerate(self._rows):
            predicted = self._ledger.fitted(fold, models, self._problem.X, row_set.test)
            weights = self._problem.weights
            share = None if weights is None else weights[row_set.test]
            for response in responses:
                own, y = at[0] == response, self._problem.Y[row_set.test, response]
                for metric, values in scores.items():
                    values[fold, own] = score(metric, y, predicted[:, own], share)
        return scores

    def _next(self, responses: list[int], places: IntArray) -> Iterator[FloatArray]:
        """Penalties at the next lambdas of some responses."""
        walked = self._descent.descend(
            {
                (self._all, response): self._largest[response] * self._steps[places]
                for response in responses
                if self._largest[response] > 0 and not self._exact[response]
            }
        )
        for response in responses:
            before = self._alphas[response]
            penalties, solved = walked.get((self._all, response), (np.empty(0), []))
            if solved:
                self._active[response] = len(solved[-1].support)
            known = np.concatenate([before, penalties])
            self._everywhere.begin(0, response, self._descent.chain(self._all, response).target)
            for number, one in enumerate(solved, len(before)):
                if number > 0 and known[number] > SLOWEST * known[number - 1]:
                    known[number] = SLOWEST * known[number - 1]
                else:
                    self._everywhere.record(0, response, number, one)
            # Where no feature ever enters any penalty will do, and after an exact fit smaller ones.
            self._exact[response] |= len(penalties) < len(places)
            self._alphas[response] = _extended(known, len(before) + len(places), self._spacing)
            yield self._alphas[response][len(before) :]

    def ended(self, response: int) -> bool:
        """Whether smaller penalties change nothing: no feature enters, or all fits are exact."""
        folds = range(len(self._rows))
        return bool(self._largest[response] == 0) or (
            bool(self._exact[response])
            and all(self._descent.chain(fold, response).fits_exactly for fold in folds)
        )

    def close(self, response: int, place: int) -> None:
        """Free what the chains of a response hold, which ends before a place."""
        self._ledger.leave_out(response, place)
        for row_set in range(self._all + 1):
            self._descent.forget(row_set, response)

    def path(self, count: int) -> Path:
        """The models of `count` penalties."""
        return self._path(self._ledger, count)

    def on_all_rows(self, count: int) -> Path:
        """The models of all rows at `count` penalties; INTERRUPTED where none is known."""
        return self._path(self._everywhere, count)

    def _path(self, ledger: ExactLedger, count: int) -> Path:
        alphas = np.array([_extended(part, count, self._spacing) for part in self._alphas])
        return exact_path(ledger.solution(self._begun, count), alphas, self._problem.terms)


def _extended(alphas: FloatArray, count: int, spacing: float) -> FloatArray:
    """Penalties (count,) that go on below the last as they are spaced."""
    rest = spacing ** np.arange(1, count - len(alphas) + 1)
    last = alphas[-1] if len(alphas) else 1.0 / spacing
    return np.concatenate([alphas, last * rest])
