"""All chains of an exact solve, walked down the penalties together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from sketchlasso.exact.chain import Chain, Solved
from sketchlasso.exact.columns import Columns, TrainingRows
from sketchlasso.exact.knots import TotalGram, TrainingGram
from sketchlasso.exact.ledger import ExactLedger
from sketchlasso.exact.point import Target
from sketchlasso.instances.rows import RowSet, RowSets
from sketchlasso.linalg.threads import map_items
from sketchlasso.solvers.settings import StopSolve
from sketchlasso.types import FloatArray, IntArray

__all__ = ["Descended", "Descent", "Problems", "Start"]

# Support and values to start from, of a row set, a response and a number in the ledger.
Start: TypeAlias = Callable[[int, int, int], tuple[IntArray, FloatArray]]
# Penalties and solutions at some lambdas.
Descended: TypeAlias = tuple[FloatArray, list[Solved]]
# Up to this many columns one Gram matrix of all of them serves all responses.
WHOLE_COLUMNS = 1500


@dataclass(frozen=True, eq=False)
class Problems:
    """Data, row sets and penalty factors of a solve, checked.

    Attributes
    ----------
    columns : Columns
        X of shape (m, n).
    Y : ndarray of shape (m, t)
    rows : RowSets
    factor : ndarray of shape (n,)
    fit_intercept, positive : bool
    """

    columns: Columns
    Y: FloatArray
    rows: RowSets
    factor: FloatArray
    fit_intercept: bool
    positive: bool

    def target(self, training: TrainingRows, response: int) -> Target:
        """One response on one row set."""
        return Target(training, self.Y[:, response], self.factor, self.positive)


class _RowSet:
    """What the chains of one row set share."""

    def __init__(self, problems: Problems, row_set: RowSet, total: TotalGram | None) -> None:
        columns, m = problems.columns, problems.columns.shape[0]
        self._problems = problems
        self.training = TrainingRows(columns, row_set, problems.fit_intercept)
        downdate = total is not None and row_set.weights is None
        downdate = downdate and 2 * len(row_set.removed) < m
        self._total = total if downdate else None
        held_out = downdate and len(row_set.removed) > 0
        self._held_out = columns.rows(row_set.removed) if held_out else None
        self.whole = columns.shape[1] <= WHOLE_COLUMNS

    @cached_property
    def _whole_gram(self) -> TrainingGram:
        gram = TrainingGram(self.training, self._total, self._held_out)
        gram.include(np.flatnonzero(np.isfinite(self._problems.factor)))
        return gram

    def prepare(self) -> None:
        """Make what is shared before several threads need it."""
        if self.whole:
            _ = self._whole_gram

    def gram(self) -> TrainingGram:
        """The Gram matrix of all columns, or a new one that grows."""
        if self.whole:
            return self._whole_gram
        return TrainingGram(self.training, self._total, self._held_out)


class Descent:
    """The chains of row sets x responses, each at its own place on its path.

    Parameters
    ----------
    problems : Problems
    tol : float
        Relative full-data gap.
    max_rounds : int
    n_threads : int
    knots : bool
        Whether to walk along the knots of the paths while that is possible.
    """

    def __init__(
        self, problems: Problems, tol: float, max_rounds: int, n_threads: int, knots: bool = True
    ) -> None:
        self.problems = problems
        self._tol, self._max_rounds, self._n_threads = tol, max_rounds, n_threads
        self._knots = knots
        chains = len(problems.rows) * problems.Y.shape[1]
        total = TotalGram(problems.columns) if chains > 1 else None
        self._rows = [_RowSet(problems, row_set, total) for row_set in problems.rows]
        self._chains: dict[tuple[int, int], Chain] = {}

    @property
    def shares_gram(self) -> bool:
        """Whether the responses of a row set share one Gram matrix of all columns."""
        return self.problems.columns.shape[1] <= WHOLE_COLUMNS

    def chain(self, row_set: int, response: int) -> Chain:
        """The chain of a row set and a response, made on first use."""
        key = (row_set, response)
        if key not in self._chains:
            shared = self._rows[row_set]
            self._chains[key] = Chain(
                self.problems.target(shared.training, response),
                shared.gram(),
                self._tol,
                self._max_rounds,
                shared.whole,
                self._knots,
            )
        return self._chains[key]

    def forget(self, row_set: int, response: int) -> None:
        """Free what a chain holds; it is not needed again."""
        self._chains.pop((row_set, response), None)

    def solve(
        self,
        keys: Sequence[tuple[int, int]],
        alphas: Sequence[FloatArray],
        numbers: Sequence[IntArray],
        ledger: ExactLedger,
        start: Start | None = None,
        keep: bool = True,
        others: Mapping[tuple[int, int], FloatArray] | None = None,
    ) -> dict[tuple[int, int], Descended]:
        """Solve the next penalties of some chains; the answers go to the ledger.

        Parameters
        ----------
        keys : sequence of (row set, response)
        alphas : sequence of ndarray
            Decreasing penalties of every response, smaller than those before.
        numbers : sequence of ndarray
            Their numbers in the ledger.
        ledger : ExactLedger
        start : callable, optional
            Coefficients to start from; the chains are then solved penalty by penalty.
        keep : bool
            Whether the chains go on later.
        others : mapping, optional
            Next lambdas of other chains, (row set, response) each, to descend to beside these.

        Returns
        -------
        dict
            What :meth:`Chain.descend` found for `others`.
        """
        others = others or {}

        def work(key: tuple[int, int]) -> Descended | None:
            chain = self.chain(*key)
            if key in others:
                return chain.descend(others[key])
            ledger.begin(*key, chain.target)
            places, penalties = numbers[key[1]], alphas[key[1]]
            if start is None:
                for place, solved in zip(places, chain.advance(penalties), strict=True):
                    ledger.record(*key, int(place), solved)
            else:
                for place, alpha in zip(places, penalties, strict=True):
                    solved = chain.solve(float(alpha), start(*key, int(place)))
                    ledger.record(*key, int(place), solved)
            if not keep:
                self.forget(*key)
            return None

        every = [*others, *keys]
        for number in sorted({key[0] for key in every}):
            self._rows[number].prepare()
        try:
            found = map_items(work, every, self._n_threads, ledger.stop)
        except StopSolve:
            # Another thread may report the stop before the one that caused it.
            raise ledger.cause or StopSolve from None
        return {key: one for key, one in zip(every, found, strict=True) if one is not None}

    def descend(
        self, lambdas: Mapping[tuple[int, int], FloatArray]
    ) -> dict[tuple[int, int], Descended]:
        """Descend some chains, (row set, response) each, to their next lambdas."""
        for number in sorted({key[0] for key in lambdas}):
            self._rows[number].prepare()
        found = map_items(
            lambda item: self.chain(*item[0]).descend(item[1]),
            list(lambdas.items()),
            self._n_threads,
        )
        return dict(zip(lambdas, found, strict=True))
