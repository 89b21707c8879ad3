"""Searches for several targets that run side by side, one per thread."""

import threading
import warnings

import numpy as np
import pytest

import sketchlasso as sl
from sketchlasso.errors import GridEdgeWarning, InvalidInputError


@pytest.fixture(scope="module")
def targets():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 40))
    Y = np.column_stack([X[:, j] - X[:, j + 1] for j in range(5)])
    return X, Y + 0.5 * rng.standard_normal(Y.shape)


def search(n_jobs, **options):
    return sl.SqrtLassoCV(sketch="response", rank=20, random_state=0, n_jobs=n_jobs, **options)


def test_targets_get_the_same_models_side_by_side_as_one_after_another(targets):
    alone, together = search(1).fit(*targets), search(3).fit(*targets)
    np.testing.assert_array_equal(together.alpha_, alone.alpha_)
    np.testing.assert_allclose(together.coef_, alone.coef_, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(together.mse_path_, alone.mse_path_, rtol=1e-5)


def test_searches_run_in_threads_and_report_one_count(targets):
    seen, threads = [], set()

    def watch(progress):
        seen.append((progress.solved, progress.total))
        threads.add(threading.current_thread().name)

    search(2, verbose=watch).fit(*targets)
    solved, totals = np.array(seen).T
    assert (np.diff(solved) >= 0).all()
    assert (solved <= totals).all()
    assert solved[-1] == totals[-1] >= 5 * 5 * 100
    assert len(threads - {threading.main_thread().name}) == 2


def test_their_warnings_point_at_the_line_that_fits(targets):
    X, Y = targets
    Y = Y.copy()
    Y[:, 3] = np.random.default_rng(1).standard_normal(len(Y))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        search(2).fit(X, Y)
    [edge] = [warning for warning in found if warning.category is GridEdgeWarning]
    assert edge.filename == __file__
    assert "of 1 of 5 targets is" in str(edge.message)


def test_an_error_in_one_search_ends_the_others(targets):
    X, Y = targets
    calls = []

    def fail(progress):
        calls.append(progress)
        raise InvalidInputError("no more")

    with pytest.raises(InvalidInputError, match="no more"):
        search(2, verbose=fail).fit(X, Y)
    # Searches that ran at the time may report once more each.
    assert len(calls) <= 4
