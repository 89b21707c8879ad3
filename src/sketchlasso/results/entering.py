"""Which features enter first, on many row sets: down the penalties until enough have entered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np

from sketchlasso.exact import exact_alpha_max
from sketchlasso.exact.descent import WHOLE_COLUMNS, Descent
from sketchlasso.instances import RowSets
from sketchlasso.linalg.threads import map_items, single_blas_thread
from sketchlasso.problem.terms import alpha_grid
from sketchlasso.results.fitting import FULL_TOL, Task, fit_all
from sketchlasso.results.radius_policy import RadiusLike, radius_policies
from sketchlasso.sketches import Sketch
from sketchlasso.solvers import Progress, Settings
from sketchlasso.types import FloatArray, IntArray

# Penalties solved before the entered features are counted again.
STAGE = 4
# Bytes that the Gram matrices of the row sets at work may take together.
GRAM_BYTES = 2**28


@dataclass(frozen=True, eq=False)
class Entered:
    """The features that enter first on each of s row sets.

    Attributes
    ----------
    features : ndarray of shape (s, q)
        In the order of their entry; -1 where fewer than q enter.
    steps : ndarray of shape (s, q)
        The penalty at which each is first non-zero, as a place in `alphas`; -1 likewise.
    alphas : ndarray of shape (a,)
        Decreasing penalties, as many as were needed.
    """

    features: IntArray
    steps: IntArray
    alphas: FloatArray


def first_to_enter(task: Task, rows: RowSets, count: int, sketch: Sketch | None = None) -> Entered:
    """Find the first `count` features to become non-zero as the penalty falls, per row set.

    Features that enter between two penalties are ordered by the size of their coefficients, on
    the scale of the task's columns.

    Parameters
    ----------
    task : Task
        Of one response; its `alphas` is a number of penalties, from the smallest that leaves no
        feature on any row set down to `alpha_min_ratio` times it.
    rows : RowSets
    count : int
    sketch : Sketch, optional
        Made without the response. By default the problems on X itself are solved.
    """
    terms = task.full_terms(sketch)
    alphas = _grid(task, exact_alpha_max(task.X, task.Y, rows=rows, terms=terms))
    if sketch is None:
        entries = _on_data(task, rows, count, alphas)
    else:
        policy = radius_policies(None, sketch)[0]
        entries = _on_sketch(task, rows, count, alphas, sketch, policy)
    features = np.full((len(rows), count), -1, dtype=np.intp)
    steps = np.full((len(rows), count), -1, dtype=np.intp)
    for number, entry in enumerate(entries):
        features[number, : len(entry.features)] = entry.features
        steps[number, : len(entry.features)] = entry.steps
    return Entered(features, steps, alphas[: int(steps.max(initial=0)) + 1])


def _grid(task: Task, largest: FloatArray) -> FloatArray:
    assert task.alpha_min_ratio is not None
    top = largest if float(largest[0]) > 0 else np.ones(1)
    return alpha_grid(top, int(task.alphas), task.alpha_min_ratio)[0]  # type: ignore[arg-type]


class _Entry:
    """The features that have entered on one row set so far."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.features: list[int] = []
        self.steps: list[int] = []
        self._seen: set[int] = set()

    @property
    def full(self) -> bool:
        return len(self.features) == self._count

    def see(self, step: int, support: IntArray, values: FloatArray) -> None:
        """Take in the coefficients at the next penalty."""
        for place in np.argsort(-np.abs(values), kind="stable"):
            feature = int(support[place])
            if values[place] == 0 or feature in self._seen or self.full:
                continue
            self._seen.add(feature)
            self.features.append(feature)
            self.steps.append(step)


class _Reports:
    """Progress in row sets, from any thread."""

    def __init__(self, callback: Callable[[Progress], None] | None, total: int) -> None:
        self._callback, self._total = callback, total
        self._done, self._lock = 0, Lock()

    def one_done(self) -> None:
        with self._lock:
            self._done += 1
            if self._callback is not None:
                self._callback(Progress(self._done, self._total, round=0, worst_gap=0.0))


def _on_data(task: Task, rows: RowSets, count: int, alphas: FloatArray) -> list[_Entry]:
    """Walk down the path of every row set on X itself until enough features have entered."""
    settings = task.settings or Settings(tol=FULL_TOL)
    reports = _Reports(settings.callback, len(rows))
    entries: list[_Entry] = []
    with single_blas_thread():
        for group in _groups(rows, task.X.shape[1]):
            descent = Descent(task.X, task.Y, group, task.terms, settings.tol, settings.n_threads)

            def walk(number: int, descent: Descent = descent) -> _Entry:
                entry = _Entry(count)
                chain = descent.chain(number, 0)
                for first in range(0, len(alphas), STAGE):
                    found = chain.advance(alphas[first : first + STAGE])
                    for step, solved in enumerate(found, first):
                        entry.see(step, solved.support, solved.values)
                    if entry.full:
                        break
                descent.forget(number, 0)
                reports.one_done()
                return entry

            entries += map_items(walk, range(len(group)), settings.n_threads)
    return entries


def _groups(rows: RowSets, n: int) -> Iterator[RowSets]:
    """Row sets whose Gram matrices, where they hold all n columns, fit into memory together."""
    size = len(rows) if n > WHOLE_COLUMNS else max(2, GRAM_BYTES // (8 * n**2))
    for first in range(0, len(rows), size):
        yield RowSets(rows.n_samples, rows.sets[first : first + size])


def _on_sketch(
    task: Task,
    rows: RowSets,
    count: int,
    alphas: FloatArray,
    sketch: Sketch,
    radius: RadiusLike,
) -> list[_Entry]:
    """Solve a few penalties at a time, as one batch over the row sets that lack features."""
    entries = [_Entry(count) for _ in range(len(rows))]
    for first in range(0, len(alphas), STAGE):
        waiting = [number for number, entry in enumerate(entries) if not entry.full]
        if not waiting:
            break
        part = alphas[first : first + STAGE]
        fitted = fit_all(
            replace(task, alphas=part),
            sketch,
            radius,
            RowSets(rows.n_samples, tuple(rows[number] for number in waiting)),
        )
        coef: Any = fitted.models.coef
        for place, number in enumerate(waiting):
            for step in range(len(part)):
                row = place * len(part) + step
                here = slice(coef.indptr[row], coef.indptr[row + 1])
                entries[number].see(first + step, coef.indices[here], coef.data[here])
    return entries
