"""Paths, with a sketch and without, certified on the full data."""

import pickle

import numpy as np
import pytest
from tests.sentences import refusal

from sketchlasso import (
    build_problems,
    certify,
    cross_validate,
    leave_one_out,
    sketch,
    sqrt_lasso_path,
)
from sketchlasso.errors import InvalidInputError


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((350, 12)) @ rng.standard_normal((12, 1200))
    X += rng.standard_normal(X.shape)
    return X, X[:, :6] @ rng.standard_normal(6) + rng.standard_normal(350)


@pytest.fixture(scope="module")
def found(data):
    X, y = data
    return sketch(X, y, method="response", rank=20, center=True, scale=True, random_state=0)


def test_the_full_gap_is_that_of_the_scaled_problem(data, found):
    X, y = data
    path = sqrt_lasso_path(X, y, found, alphas=5)
    A = (X - X.mean(axis=0)) / X.std(axis=0)
    w = path.models.coef.toarray() * X.std(axis=0)
    expected = certify(A, y, w, path.alphas.ravel())
    np.testing.assert_allclose(
        path.certificate(X, y).relative_gap, expected.relative_gap, atol=1e-9
    )


def test_several_responses_are_certified_each(data):
    X, y = data
    Y = np.column_stack([y, np.roll(y, 1)])
    path = sqrt_lasso_path(X, Y, None, alphas=4)
    assert path.alphas.shape == (2, 1, 4)
    assert (path.certificate(X, Y).relative_gap <= 1e-4).all()
    first = sqrt_lasso_path(X, y, None, alphas=path.alphas[0, 0])
    np.testing.assert_allclose(path.primal[:4], first.primal, rtol=1e-3)


def test_results_do_not_hold_the_data():
    """A pickle of each result is far smaller than X; what needs X is given it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 300))
    y = X[:, 0] + rng.standard_normal(4000)
    made = sketch(X, rank=10, center=True, random_state=0)
    results = [
        cross_validate(None, X, y, alphas=5),
        cross_validate(made, X, y, alphas=5),
        sqrt_lasso_path(X, y, alphas=5),
        sqrt_lasso_path(X, y, made, alphas=5),
        leave_one_out(made, X, y, alpha=3.0, rows=np.arange(50)),
    ]
    for result in results:
        assert len(pickle.dumps(result)) < 0.05 * X.nbytes
    path = pickle.loads(pickle.dumps(results[3]))
    gaps = certify(X, y, path.models.coef, path.alphas.ravel()).relative_gap
    np.testing.assert_allclose(path.certificate(X, y).relative_gap, gaps)


def test_bad_input_is_one_sentence(data, found):
    X, y = data
    with pytest.raises(InvalidInputError, match="radius must be one number >= 0"):
        sqrt_lasso_path(X, y, None, radius="realised")
    with pytest.raises(InvalidInputError, match=r"X has shape \(9, 1200\), but the sketch given"):
        sqrt_lasso_path(X[:9], y[:9], found)
    with pytest.raises(InvalidInputError, match=r"sample_weight has shape \(3,\)"):
        sqrt_lasso_path(X, y, found, sample_weight=np.ones(3))


@pytest.mark.parametrize("size", [1e255, 1e-255])
def test_responses_whose_squares_are_no_doubles_are_refused(data, size):
    X, y = data[0], size * np.linspace(-1.0, 1.0, len(data[0]))
    made = sketch(X, rank=3, random_state=0)
    for function, arguments in (
        (sqrt_lasso_path, (X, y)),
        (sqrt_lasso_path, (X, y, made)),
        (cross_validate, (made, X, y)),
        (leave_one_out, (made, X, y)),
        (build_problems, (made, y)),
    ):
        options = {"alpha": 1.0} if function is leave_one_out else {"alphas": 5}
        answer = refusal(InvalidInputError, function, *arguments, **options)
        assert "between 1e-100 and 1e+100 are needed" in answer
