"""The ledger keeps the best certificate of every kind of solver, and decides what is solved."""

import numpy as np
from scipy import sparse

from sketchlasso.exact.chain import Solved
from sketchlasso.exact.columns import TrainingRows, as_columns
from sketchlasso.exact.ledger import ExactLedger
from sketchlasso.exact.point import Target
from sketchlasso.instances.rows import all_rows
from sketchlasso.linalg import rows as linalg_rows
from sketchlasso.linalg.rows import KeptRows
from sketchlasso.solvers import Status
from sketchlasso.solvers.ledger import Ledger
from sketchlasso.solvers.solution import Stopwatch

ALL = np.arange(3)


def test_the_best_primal_and_the_best_dual_may_come_from_different_points():
    ledger = Ledger(np.full(3, 2.0), tol=0.1)
    assert np.isinf(ledger.gap(ALL)).all()
    ledger.offer(ALL, np.array([1.0, 1.0, np.nan]), np.array([0.5, 0.995, 1.0]))
    better, tighter = ledger.offer(ALL, np.array([1.5, 0.9, 1.0]), np.array([0.95, 0.0, np.inf]))
    assert better.tolist() == [False, True, False] and tighter.tolist() == [True, False, False]
    np.testing.assert_allclose(ledger.gap(ALL), [0.05, 0.0, np.inf])
    solved = ledger.settle(ALL, Status.NON_FINITE)
    assert solved.tolist() == [True, True, False]
    assert ledger.status.tolist() == [Status.SOLVED, Status.SOLVED, Status.NON_FINITE]


def test_the_status_follows_the_gap_and_not_the_end_of_the_search():
    ledger = Ledger(np.ones(3), tol=1e-4)
    assert (ledger.status == Status.INTERRUPTED).all()
    ledger.offer(ALL, np.ones(3), 1.0 - np.array([0.9e-4, 50e-4, 0.5]))
    ledger.settle(ALL, Status.STALLED)
    assert ledger.status.tolist() == [Status.SOLVED, Status.INACCURATE, Status.STALLED]


def test_an_exact_solution_that_claims_too_much_is_not_solved():
    rows = all_rows(4)
    target = Target(
        TrainingRows(as_columns(np.eye(4), False), rows[0], False), np.ones(4), np.ones(4), False
    )
    ledger = ExactLedger((1, 1, 3), 4, 1e-4, None)
    ledger.begin(0, 0, target)
    none, nothing = np.empty(0, dtype=np.intp), np.empty(0)
    ledger.record(0, 0, 1, Solved(none, nothing, 1.5, 1.5 - 1e-5))
    # A later stage of the same chain leaves what was recorded alone.
    ledger.begin(0, 0, target)
    ledger.record(0, 0, 0, Solved(none, nothing, 1.5, 1.0))
    with Stopwatch() as watch:
        pass
    found = ledger.solution(watch)
    assert found.status.tolist() == [Status.STALLED, Status.SOLVED, Status.INTERRUPTED]
    np.testing.assert_allclose(found.relative_gap, [1 / 3, 1e-5 / 1.5, 1.0])


def test_rows_are_replaced_block_by_block_and_replaced_entries_are_dropped(monkeypatch):
    monkeypatch.setattr(linalg_rows, "SPARE_ENTRIES", 20)
    rng = np.random.default_rng(0)
    kept, wanted = KeptRows(6, 5), np.zeros((6, 5))
    assert (kept.take(np.arange(6)).toarray() == wanted).all()
    for _ in range(30):
        block = rng.standard_normal((4, 5)) * (rng.random((4, 5)) < 0.5)
        rows = np.flatnonzero(rng.random(4) < 0.6)
        numbers = rng.permutation(6)[: len(rows)]
        given = sparse.csr_array(block)
        kept.put(numbers, given, rows)
        # The block stays the caller's.
        given.data[:] = np.nan
        wanted[numbers] = block[rows]
        some = rng.permutation(6)[:3]
        assert (kept.take(some).toarray() == wanted[some]).all()
        assert sum(map(len, kept._values)) <= 2 * np.count_nonzero(wanted) + 20 + 20
