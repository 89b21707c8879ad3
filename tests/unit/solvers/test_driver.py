"""The loop: stopping, statuses, chunks, interruption, callbacks."""

import numpy as np
import pytest
from scipy import sparse

from sketchlasso.errors import InvalidInputError
from sketchlasso.problem import Batch, alpha_max
from sketchlasso.solvers import Iterates, Progress, Settings, Status, newton, solve


def make_batch(size=6, n=80, k=12, radius=0.3, seed=0, **options):
    rng = np.random.default_rng(seed)
    P, C = rng.normal(size=(n, k)), rng.normal(size=(size, k))
    largest = alpha_max(Batch.build(P, C, 0.5, alpha=1.0, radius=radius, **options))
    return Batch.build(P, C, 0.5, alpha=0.3 * largest, radius=radius, **options)


# Full steps alone take 137 on a CPU and 147 on a device.
@pytest.mark.parametrize(("device", "most"), [("cpu", 115), ("torch", 130)])
def test_a_step_that_is_too_long_is_shortened(device, most):
    """Where a line through two dual points leads off the path, a full step leads far away."""
    if device == "torch":
        pytest.importorskip("torch")
    steps = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        P = rng.standard_normal((1500, 20)) * np.geomspace(1.0, 0.1, 20)
        c = P[:20].sum(axis=0)
        alphas = np.array([0.2, 0.1, 0.05]) * np.abs(P @ c).max() / np.linalg.norm(c)
        batch = Batch.build(P, np.tile(c, (3, 1)), 0.0, alpha=alphas, radius=0.4 * alphas[2])
        settings = Settings(tol=1e-4, device=device)
        known = solve(batch.take(np.array([0, 1])), settings=settings)
        line = 2 * known.dual_point[1:] - known.dual_point[:1]
        line /= max(1.0, np.linalg.norm(line))
        warm = Iterates(known.coef[[1]], line, np.zeros(1, dtype=np.intp))
        steps += int(solve(batch.take(np.array([2])), settings=settings, warm=warm).steps[0])
    assert steps <= most


def test_a_solved_batch_says_so():
    solution = solve(make_batch())
    assert solution.solved.all()
    assert "all 6 instances solved" in solution.message()
    assert (solution.status == Status.SOLVED).all()
    assert solution.coef.shape == (6, 80)
    assert (solution.n_nonzero > 0).all()
    assert (solution.steps > 0).all()
    assert solution.seconds > 0
    assert solution.solver == "newton"


def test_a_gap_that_rounding_keeps_open_is_stalled():
    batch = make_batch()
    single = Batch.build(
        batch.P.astype(np.float32), batch.c, 0.5, alpha=batch.alpha, radius=batch.radius
    )
    solution = solve(single, settings=Settings(tol=1e-14))
    stalled = solution.status == Status.STALLED
    assert stalled.any() and (stalled | solution.solved).all()
    assert (solution.relative_gap <= 1e-5).all()
    assert "Standardise" in solution.message()


def test_numbers_that_overflow_end_in_a_status():
    batch = make_batch()
    huge = Batch.build(1e100 * batch.P, 1e100 * batch.c, 0.5, alpha=batch.alpha, radius=0.3)
    solution = solve(huge)
    assert (solution.status == Status.NON_FINITE).all()
    assert np.isfinite(solution.primal).all()
    assert "rescale" in solution.message()


def test_the_round_limit_is_a_status_with_its_remedy():
    batch = make_batch(n=3000, k=30, radius=0.0)
    solution = solve(batch, settings=Settings(tol=1e-12, max_rounds=1))
    assert set(solution.status) <= {Status.ITERATION_LIMIT, Status.INACCURATE}
    assert "max_rounds" in solution.message() or (solution.status == Status.INACCURATE).all()
    assert np.isfinite(solution.gap).all()


def test_chunks_and_threads_do_not_change_the_answer():
    batch = make_batch(size=9)
    whole = solve(batch, settings=Settings(tol=1e-8))
    per_instance = 3 * batch.n_features * 8
    cut = solve(batch, settings=Settings(tol=1e-8, memory_budget=2 * per_instance, n_threads=1))
    slack = 1e-8 * (whole.primal + cut.primal)
    assert (np.abs(whole.primal - cut.primal) <= slack).all()
    np.testing.assert_allclose(whole.coef.toarray(), cut.coef.toarray(), atol=1e-5)


def test_the_callback_gets_every_round():
    heard: list[Progress] = []
    solution = solve(make_batch(), settings=Settings(callback=heard.append))
    assert heard[-1].solved == heard[-1].total == 6
    assert len(heard) == solution.rounds.max() + 1
    assert heard[-1].worst_gap == 0.0


def test_an_interrupt_returns_what_is_solved_and_marks_the_rest():
    batch = make_batch(size=9)
    per_instance = 3 * batch.n_features * 8

    def stop_in_the_second_chunk(progress: Progress) -> None:
        if progress.solved >= 3:
            raise KeyboardInterrupt

    solution = solve(
        batch,
        settings=Settings(memory_budget=3 * per_instance, callback=stop_in_the_second_chunk),
    )
    assert solution.solved[:3].all()
    assert (solution.status[3:] == Status.INTERRUPTED).all()
    assert np.isfinite(solution.gap).all()
    assert (solution.gap[3:] > 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tol": 0.0}, "tol must be a positive number .*, not 0.0"),
        ({"max_rounds": 0}, "max_rounds must be at least 1, not 0"),
        ({"n_threads": 0}, "n_threads must be a number of threads, or -1 for all cores, not 0"),
    ],
)
def test_settings_refuse_nonsense(options, message):
    with pytest.raises(InvalidInputError, match=message):
        Settings(**options)


def test_an_unknown_solver_and_a_warm_start_of_the_wrong_shape_are_refused():
    batch = make_batch()
    with pytest.raises(InvalidInputError, match="solver must be 'newton' or 'conic', not 'sim"):
        solve(batch, solver="simplex")
    warm = Iterates(sparse.csr_array((2, 3)), np.zeros((2, 3)), np.zeros(2, dtype=np.intp))
    with pytest.raises(InvalidInputError, match=r"warm.coef has shape \(2, 3\); the batch needs"):
        solve(batch, warm=warm)


def test_a_warm_start_works_on_little_more_than_its_support(monkeypatch):
    rng = np.random.default_rng(0)
    batch = Batch.build(
        rng.standard_normal((3000, 4)), rng.standard_normal((1, 4)), 0.1, alpha=0.2, radius=10.0
    )
    first, sizes = solve(batch, settings=Settings(tol=1e-4)), []
    support = first.coef.nnz
    assert 1000 < support < 2000
    original = newton.solve_instance

    def noted(rows, *args):
        sizes.append(len(rows.A))
        return original(rows, *args)

    monkeypatch.setattr(newton, "solve_instance", noted)
    warm = Iterates(first.coef, first.dual_point, np.zeros(1, dtype=np.intp))
    assert (solve(batch, settings=Settings(tol=1e-9), warm=warm).status == Status.SOLVED).all()
    assert sizes[0] <= 1.4 * support
