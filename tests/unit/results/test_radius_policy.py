"""Radius policies: read, settled at their fixed points, and chosen among."""

import numpy as np
import pytest
from scipy import sparse

from sketchlasso import Settings, cross_validate, sketch, sqrt_lasso_path
from sketchlasso.engine import RadiusPolicy
from sketchlasso.errors import InvalidInputError
from sketchlasso.results.radius import radius_policies


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 30)) @ rng.standard_normal((30, 200))
    X += rng.standard_normal((150, 200))
    return X, X[:, :5] @ rng.standard_normal(5) + rng.standard_normal(150)


@pytest.mark.parametrize(
    ("given", "kind", "factor", "text"),
    [
        (0, "given", 0.0, "0"),
        (2.5, "given", 2.5, "2.5"),
        ("2.5", "given", 2.5, "2.5"),
        ("spectral", "spectral", 1.0, "spectral"),
        ("0.3*spectral", "spectral", 0.3, "0.3*spectral"),
        (" 2 * realised", "realised", 2.0, "2*realised"),
        (RadiusPolicy("realised"), "realised", 1.0, "realised"),
    ],
)
def test_policies_are_read_and_written(given, kind, factor, text):
    policy = RadiusPolicy.parse(given)
    assert (policy.kind, policy.factor, str(policy)) == (kind, factor, text)
    assert RadiusPolicy.parse(str(policy)) == policy


@pytest.mark.parametrize("given", ["tight", "x*spectral", -1, "-1*realised", np.nan, "inf", []])
def test_what_is_no_policy_is_refused(given):
    with pytest.raises(InvalidInputError, match=r"radius must be a number >= 0, .*, not |radii is"):
        radius_policies(given, None)


def test_the_default_is_the_number_given_or_realised(data):
    X, _ = data
    assert radius_policies(None, sketch(X, rank=5, radius=0.7))[0].factor == 0.7
    assert radius_policies(None, sketch(X, rank=5))[0].kind == "realised"
    assert len(radius_policies(np.array([1.0, 2.0]), None)) == 2


def realised(found, X, coef, weights=None, intercept=True):
    weights = np.ones(len(X)) if weights is None else weights
    A = X if found.column_means is None else X - found.column_means
    missed = A @ coef - found.Q @ (found.P.T @ coef)
    if intercept:
        missed = missed - weights @ missed / weights.sum()
    return np.sqrt(weights @ missed**2) / np.linalg.norm(coef)


@pytest.mark.parametrize("factor", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("as_sparse", [True, False])
def test_a_realised_radius_is_the_error_at_its_solution(data, factor, intercept, as_sparse):
    X, y = data
    found = sketch(X, y, method="response", rank=12, center=True, random_state=0)
    path = sqrt_lasso_path(
        sparse.csr_array(X) if as_sparse else X, y, found, alphas=[8.0, 2.0, 0.5],
        radius=["realised", f"{factor}*realised"], fit_intercept=intercept,
        settings=Settings(tol=1e-8),
    )  # fmt: skip
    # It is found at the middle penalty, and serves all of them.
    error = realised(found, X, path.models.coef.toarray()[1], intercept=intercept)
    np.testing.assert_allclose(path.radius[:3], error, rtol=0.04)
    np.testing.assert_allclose(path.radius[3:], factor * path.radius[0])


def test_weights_count_in_the_error(data):
    X, y = data
    weights = np.random.default_rng(1).integers(0, 4, len(y)).astype(float)
    found = sketch(X, rank=12, center=True, random_state=0)
    path = sqrt_lasso_path(X, y, found, alphas=[2.0], radius="realised", sample_weight=weights)
    error = realised(found, X, path.models.coef.toarray()[0], weights)
    assert path.radius[0] == pytest.approx(error, rel=0.04)


def test_spectral_multiples_and_numbers_stand_beside_each_other(data):
    X, y = data
    found = sketch(X, rank=12, center=True, random_state=0)
    result = cross_validate(
        found, X, y, cv=3, alphas=8, radii=["0.1*spectral", "0.05*spectral", 0.0, "realised"]
    )
    np.testing.assert_allclose(result.radius[:, :, 0], 0.1 * found.radius)
    np.testing.assert_allclose(result.radius[:, :, 1], 0.05 * found.radius)
    assert (result.radius[:, :, 2] == 0).all()
    assert (result.radius[:, :, 3] < 0.7 * found.radius).all()
    choice = result.best()
    assert str(choice.radius) in {"0.1*spectral", "0.05*spectral", "0", "realised"}
    assert choice.alpha in result.alphas[0, choice.radius_index]


def test_a_spectral_radius_is_found_for_a_sketch_that_has_none(data):
    X, y = data
    found = sketch(X, y, method="response", rank=12, center=True, random_state=0)
    path = sqrt_lasso_path(X, y, found, alphas=[2.0], radius="spectral")
    A = X - X.mean(axis=0)
    norm = np.linalg.norm(A - found.Q @ found.P.T, 2)
    assert norm <= path.radius[0] <= 1.2 * norm


def test_nothing_is_realised_by_an_exact_sketch(data):
    X, y = data
    found = sketch(X, method="exact")
    path = sqrt_lasso_path(X, y, found, alphas=[2.0, 1.0])
    assert (path.radius == 0).all()
