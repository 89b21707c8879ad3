"""Batches solved in parts on workers are the same batches."""

import numpy as np
import pytest
from scipy import sparse
from tests.cut import close
from tests.workers import two_workers

import sketchlasso as sl
from sketchlasso.cluster import cluster
from sketchlasso.engine import Iterates, solve_for_size
from sketchlasso.solvers.workers import parts_for_workers
from sketchlasso.topics import TopicImager, corpus_from_matrix

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    with two_workers() as connected:
        yield connected


@pytest.fixture(scope="module")
def problems():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 30))
    y = X[:, :3].sum(axis=1) + 0.2 * rng.standard_normal(80)
    found = sl.sketch(X, rank=10, random_state=0)
    rows = sl.splitter_rows(6, 80)
    return sl.build_problems(found, y, alphas=5, rows=rows, radii=[0.5])


def test_parts_keep_chains_together(client, problems):
    assert parts_for_workers(problems.batch, problems.chain) is None
    with cluster("sequential"):
        assert parts_for_workers(problems.batch, problems.chain) is None
    with cluster(client):
        parts = parts_for_workers(problems.batch, problems.chain)
        assert len(parts) == 6
        assert sorted(np.concatenate(parts)) == list(range(30))
        for part in parts:
            assert len(set(problems.chain[part])) == 1
        assert parts_for_workers(problems.batch.take(slice(0, 4))) is None
        assert parts_for_workers(problems.batch, np.zeros(30)) is None
        assert len(parts_for_workers(problems.batch)) == 8


@pytest.mark.parametrize("chained", [False, True])
def test_solutions_are_the_same(client, problems, chained):
    settings = sl.Settings(tol=1e-10)
    chain = problems.chain if chained else None
    wanted = sl.solve(problems.batch, settings=settings, chain=chain)
    with cluster(client):
        found = sl.solve(problems.batch, settings=settings, chain=chain)
    assert close(found.coef, wanted.coef)
    assert close(found.primal, wanted.primal)
    np.testing.assert_array_equal(found.status, wanted.status)
    assert found.solver == "newton"
    with cluster(client):
        again = sl.solve(
            problems.batch,
            settings=settings,
            warm=Iterates(found.coef, found.dual_point, np.zeros_like(found.steps)),
        )
    assert close(again.coef, wanted.coef)


def test_factors_and_exclusions_travel(client):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 20))
    found = sl.sketch(X, rank=10, center=True, random_state=0)
    energies = ((X - X.mean(axis=0)) ** 2).sum(axis=0)
    posed = sl.feature_problems(found, energies, penalty_factor=rng.uniform(0.5, 2.0, 20))
    wanted = sl.solve(posed.batch)
    sized = solve_for_size(posed.batch, 3)
    with cluster(client):
        assert close(sl.solve(posed.batch).coef, wanted.coef)
        ours = solve_for_size(posed.batch, 3)
    assert close(ours.alpha, sized.alpha)
    assert close(ours.solution.coef, sized.solution.coef)


def test_a_vocabulary_is_imaged_on_workers(client, tmp_path):
    counts = sparse.csr_array(np.random.default_rng(2).poisson(0.4, (60, 25)))
    words = [f"word{i}" for i in range(25)]
    imager = TopicImager(rank=8, random_state=0).fit(corpus_from_matrix(counts, words))
    wanted = imager.image_all(n_words=4)
    with cluster(client):
        found = imager.image_all(tmp_path / "images", n_words=4)
    assert close(found.weights, wanted.weights)
    assert close(found.alpha, wanted.alpha)


def test_callback_and_interruption(client, problems):
    seen = []
    with cluster(client):
        sl.solve(problems.batch, settings=sl.Settings(callback=seen.append))
    assert [progress.solved for progress in seen][-1] == 30
    assert all(progress.total == 30 for progress in seen)

    def stop(progress):
        raise KeyboardInterrupt

    with cluster(client):
        stopped = sl.solve(problems.batch, settings=sl.Settings(callback=stop))
        assert sl.solve(problems.batch).solved.all()
    interrupted = stopped.status == sl.Status.INTERRUPTED
    assert interrupted.any()
    assert stopped.solved.any()
    assert (interrupted | stopped.solved).all()
