"""A sketch serves the X it was made from, however stored, and swapped arguments are refused."""

import numpy as np
import pytest
from scipy import sparse
from tests.sentences import refusal

import sketchlasso as sl
from sketchlasso.engine import sketch_from_factors
from sketchlasso.errors import InvalidInputError
from sketchlasso.io import BlockMatrix

METHODS = ["randomized", "nystrom", "sampling", "frequent_directions", "exact", "response"]
rng = np.random.default_rng(0)
X = rng.standard_normal((40, 25)) * (rng.random((40, 25)) < 0.5) + 0.1
Y = X[:, 0] - X[:, 1] + 0.1 * rng.standard_normal(40)


def made(method="randomized", X=X, center=True, scale=False):
    y = Y if method == "response" else None
    return sl.sketch(X, y, rank=8, method=method, center=center, scale=scale, random_state=0)


def changed(X):
    """X with one other entry, other rows, other columns, other units, and other means."""
    one = X.copy()
    one[3, 4] += 0.01
    return [one, X[::-1], X[:, ::-1], 1.001 * X, X + 0.5]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("center", "scale"), [(True, False), (True, True), (False, False)])
def test_a_sketch_of_other_data_is_refused(method, center, scale):
    found = made(method, center=center, scale=scale)
    for other in changed(X):
        said = refusal(InvalidInputError, sl.sqrt_lasso_path, other, Y, found, alphas=[1.0])
        assert "made from other data than X" in said


@pytest.mark.parametrize("method", METHODS)
def test_it_does_not_matter_how_the_same_data_are_stored(method):
    found = made(method)
    wanted = sl.sqrt_lasso_path(X, Y, found, alphas=[1.0], radius=0.1).models.coef.toarray()
    blocks = BlockMatrix.from_arrays([X[:15], X[15:]])
    for same in (np.asfortranarray(X), sparse.csr_array(X), sparse.csc_array(X), blocks):
        path = sl.sqrt_lasso_path(same, Y, found, alphas=[1.0], radius=0.1)
        np.testing.assert_allclose(path.models.coef.toarray(), wanted, atol=1e-6)
    sl.sqrt_lasso_path(X, Y, made(method, X=blocks), alphas=[1.0], radius=0.1)


def test_single_precision_and_units_of_any_size_are_recognised():
    small = made(X=X.astype(np.float32))
    sl.sqrt_lasso_path(X.astype(np.float32), Y, small, alphas=[1.0], radius=0.1)
    for unit in (1e-150, 1e150):
        found = made(X=unit * X)
        sl.SqrtLasso(alpha=unit, sketch=found, radius=0.0).fit(unit * X, Y)
        refusal(InvalidInputError, sl.SqrtLasso(alpha=unit, sketch=found).fit, unit * X[::-1], Y)


def test_a_sketch_made_with_another_response_is_refused():
    found = made("response")
    for same in (Y, 3 * Y - 1):
        sl.sqrt_lasso_path(X, same, found, alphas=[1.0], radius=0.1)
    for call in (
        lambda: sl.sqrt_lasso_path(X, X[:, 2], found, alphas=[1.0]),
        lambda: sl.SqrtLassoCV(alphas=3, sketch=found).fit(X, Y**2),
        lambda: sl.leave_one_out(found, X, X[:, 2], alpha=1.0),
    ):
        assert "made with another response than y" in refusal(InvalidInputError, call)


def test_an_intercept_centres_a_sketch_that_was_not():
    far, complete = X + 50.0, {"method": "exact", "radius": 0.0}
    plain, centred = (sl.sketch(far, center=c, **complete) for c in (False, True))
    paths = [sl.sqrt_lasso_path(far, Y, made, alphas=[1.0]).models for made in (plain, centred)]
    assert paths[0].coef.toarray() == pytest.approx(paths[1].coef.toarray(), abs=1e-6)
    assert paths[0].intercept == pytest.approx(paths[1].intercept, rel=1e-6)


def test_everything_that_takes_a_sketch_and_x_refuses_other_data():
    found, other = made(), X[::-1].copy()
    for call in (
        lambda: sl.SqrtLasso(alpha=1.0, sketch=found).fit(other, Y),
        lambda: sl.SqrtLassoCV(alphas=3, sketch=found).fit(other, Y),
        lambda: sl.cross_validate(found, other, Y, alphas=3),
        lambda: sl.leave_one_out(found, other, Y, alpha=1.0),
        lambda: sl.extend_sketch(found, other, Y),
    ):
        assert "made from other data than X" in refusal(InvalidInputError, call)


def test_factors_of_the_user_are_taken_at_their_word_unless_x_came_with_them():
    P, Q = rng.standard_normal((25, 3)), rng.standard_normal((40, 3))
    alone = sketch_from_factors(P, Q, radius=0.5)
    sl.sqrt_lasso_path(X, Y, alone, alphas=[1.0])
    known = sketch_from_factors(P, Q, X=X, radius=0.5)
    sl.sqrt_lasso_path(X, Y, known, alphas=[1.0])
    refusal(InvalidInputError, sl.sqrt_lasso_path, X[::-1], Y, known, alphas=[1.0])


def test_swapped_arguments_are_refused_in_a_sentence():
    found = made()
    for call in (
        lambda: sl.cross_validate(X, found, Y),
        lambda: sl.cross_validate(Y, X, found),
        lambda: sl.cross_validate(X, X, Y),
        lambda: sl.sqrt_lasso_path(Y, X),
        lambda: sl.sqrt_lasso_path(X, found, Y),
        lambda: sl.sqrt_lasso_path(found, X, Y),
        lambda: sl.sqrt_lasso_path(X, Y, X),
        lambda: sl.leave_one_out(X, found, Y, alpha=1.0),
        lambda: sl.leave_one_out(found, Y, X, alpha=1.0),
        lambda: sl.leave_one_out(X, Y, found, alpha=1.0),
        lambda: sl.certify(Y, X, np.zeros(25), 1.0),
        lambda: sl.certify(found, Y, np.zeros(25), 1.0),
        lambda: sl.build_problems(Y, found),
        lambda: sl.feature_problems(X, found),
        lambda: sl.extend_sketch(X, found, Y),
        lambda: sl.extend_sketch(found, Y, X),
        lambda: sl.sketch(found),
        lambda: sl.sketch(Y, X, method="response"),
        lambda: sl.pivotal_alpha(Y),
    ):
        assert "check the order of the arguments" in refusal(InvalidInputError, call)


def test_a_penalty_of_zero_is_accepted_where_it_is_announced():
    found = sl.sketch(X, method="exact", center=True)
    assert (sl.SqrtLasso(alpha=0.0, sketch=found, radius=0.0).fit(X, Y).coef_ != 0).all()
    for call in (
        lambda: sl.SqrtLasso(alpha=0.0, sketch=None).fit(X, Y),
        lambda: sl.sqrt_lasso_path(X, Y, alphas=[1.0, 0.0]),
    ):
        said = refusal(InvalidInputError, call)
        assert "must be finite and > 0, but one is 0" in said
        assert "a sketch, which takes 0" in said
    for call in (
        lambda: sl.SqrtLasso(alpha=-1.0).fit(X, Y),
        lambda: sl.SqrtLasso(alpha="none").fit(X, Y),
        lambda: sl.sqrt_lasso_path(X, Y, alphas=[1.0, -1.0]),
    ):
        assert "> 0 (or 0, on a sketch)" in refusal(InvalidInputError, call)
