"""Effects of treatments: against R's hdm, and on data whose effects are known."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.special import ndtri
from scipy.stats import norm

from sketchlasso.errors import FewTreatedWarning, InvalidInputError
from sketchlasso.inference import treatment_effect

METHODS = ("partialling-out", "double-selection")
# hdm::rlassoEffects, columns 1 to 5: estimates and errors.
HDM = [1.14771, 1.15839, 1.07233, 0.05525, 0.08920]
HDM_ERRORS = [0.12797, 0.12012, 0.11127, 0.11576, 0.09785]


def normal_of_r(seed, count):
    """R's rnorm(count) after set.seed(seed): the Mersenne twister, and inversion."""
    words = []
    for _ in range(675):
        seed = (69069 * seed + 1) % 2**32
        words.append(seed)
    twister = np.random.MT19937()
    key = np.array(words[51:], dtype=np.uint32)
    twister.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": 624}}
    u = twister.random_raw(2 * count) * 2.3283064365386963e-10
    return ndtri((np.floor(2**27 * u[::2]) + u[1::2]) / 2**27)


@pytest.fixture
def confounded():
    """A control that matters much for d and little for y."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((150, 300))
    D = X[:, :2] @ [[2.0, 0.0], [0.0, 2.0]] + rng.standard_normal((150, 2))
    y = D @ [0.5, 0.0] + 0.2 * X[:, 0] + rng.standard_normal(150)
    return X, y, D


def test_several_treatments_are_as_in_hdm():
    drawn = normal_of_r(1, 3100)
    X = drawn[:3000].reshape(30, 100).T
    y = X[:, :3].sum(axis=1) + drawn[3000:]
    found = treatment_effect(X[:, 5:], y, X[:, :5], method="partialling-out")
    np.testing.assert_allclose(found.estimate, HDM, atol=1e-5)
    np.testing.assert_allclose(found.standard_error, HDM_ERRORS, atol=1e-5)


@pytest.mark.parametrize("loadings", ["robust", "equal"])
@pytest.mark.parametrize("method", METHODS)
def test_known_effects_are_within_their_errors(confounded, loadings, method):
    X, y, D = confounded
    found = treatment_effect(X, y, D, method=method, loadings=loadings)
    assert np.all(np.abs(found.estimate - [0.5, 0.0]) < 3 * found.standard_error)
    assert found.p_value[0] < 1e-3
    # Each treatment's own confounder is found, by way of the treatment.
    assert found.controls[0, 0] and found.controls[1, 1]
    assert not found.controls[0, 300] and not found.controls[1, 301]


@pytest.mark.parametrize("errors", ["robust", "equal"])
def test_errors_are_those_of_least_squares(confounded, errors):
    X, y, D = confounded
    found = treatment_effect(X, y, D[:, 0], errors=errors)
    chosen = found.controls[0][:-1]
    A = np.column_stack([D[:, 0], np.ones(len(y)), X[:, chosen]])
    inverse = np.linalg.inv(A.T @ A)
    coef = inverse @ A.T @ y
    r = y - A @ coef
    m, p = A.shape
    if errors == "equal":
        covariance = inverse * (r @ r) / (m - p)
    else:
        covariance = inverse @ (A.T * r**2) @ A @ inverse * m / (m - p + 1)
    assert found.estimate[0] == pytest.approx(coef[0], rel=1e-9)
    assert found.standard_error[0] == pytest.approx(np.sqrt(covariance[0, 0]), rel=1e-9)


def test_intervals_cover_the_effect_though_controls_are_selected():
    rng = np.random.default_rng(11)
    hits = 0
    for _ in range(100):
        X = rng.standard_normal((100, 60))
        d = X[:, 0] + rng.standard_normal(100)
        y = d + 0.3 * X[:, 0] + rng.standard_normal(100)
        lower, upper = treatment_effect(X, y, d, tol=1e-6).interval(0.9)
        hits += bool(lower[0] < 1.0 < upper[0])
    assert 82 <= hits <= 97


def test_table_intervals_and_adjusted_values(confounded):
    X, y, D = confounded
    found = treatment_effect(sparse.csr_array(X), y, D)
    table = found.table(0.9)
    half = norm.ppf(0.95) * found.standard_error
    np.testing.assert_allclose(np.asarray(table["lower"]), found.estimate - half)
    np.testing.assert_allclose(np.asarray(table["upper"]), found.estimate + half)
    assert list(table["treatment"]) == ["d0", "d1"]
    smaller, larger = np.sort(found.p_value)
    np.testing.assert_allclose(
        np.sort(found.adjusted("holm")), [2 * smaller, max(2 * smaller, larger)]
    )
    assert "double-selection" in repr(found) and f"{found.estimate[0]:.3g} +- " in repr(found)


def test_names_come_from_data_frames(confounded):
    pandas = pytest.importorskip("pandas")
    X, y, D = confounded
    frame = pandas.DataFrame(X, columns=[f"control {j}" for j in range(X.shape[1])])
    found = treatment_effect(frame, y, pandas.Series(D[:, 0], name="schooling"))
    assert found.names == ("schooling",)
    assert found.control_names[0] == "control 0" and found.control_names[-1] == "schooling"


@pytest.mark.parametrize(("treated", "warned"), [(4, True), (5, False), (146, True)])
def test_a_treatment_of_few_rows_draws_a_warning(confounded, treated, warned):
    X, y, _ = confounded
    d = (np.arange(150) < treated).astype(float)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        treatment_effect(X[:, :5], y, d)
    few = [one for one in caught if one.category is FewTreatedWarning]
    assert len(few) == warned
    if warned:
        usual = int(treated > 75)
        assert f"treatment d0 differs from {usual} in 4 of 150 rows" in str(few[0].message)
        assert few[0].filename == __file__


def test_bad_input_is_refused(confounded):
    X, y, D = confounded
    d = D[:, 0]
    copied = np.column_stack([X[:, :5], d])
    for data, options, says in (
        ((X[:9], y[:9], d[:9]), {}, "9 samples"),
        ((X, y, np.ones(150)), {}, "constant"),
        ((X, y, d[:-1]), {}, r"shape \(149,\)"),
        ((X, y, np.where(np.arange(150) == 3, np.nan, d)), {}, "NaN"),
        ((X, y, np.where(d > 0, "yes", "no")), {}, "not a number"),
        ((X, D, d), {}, "one response"),
        ((X, y, d), {"method": "post"}, "'post'"),
        ((copied, y, d), {}, "exact combination"),
    ):
        with pytest.raises(InvalidInputError, match=says):
            treatment_effect(*data, **options)


def test_units_of_controls_do_not_change_an_effect():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 30))
    y = X[:, :5] @ [3, -2, 2, 1, -1] + rng.standard_normal(80)
    d = 0.3 * X[:, 0] + np.cos(np.arange(80))
    plain = treatment_effect(X, y, d)
    spread = treatment_effect(X * 10.0 ** np.linspace(-9, 9, 30), y, d)
    np.testing.assert_array_equal(spread.controls, plain.controls)
    np.testing.assert_allclose(spread.estimate, plain.estimate, rtol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_means_of_controls_do_not_change_an_effect(confounded, method):
    X, y, D = confounded
    here = treatment_effect(X[:, :9], y, D[:, 0], method=method)
    there = treatment_effect(X[:, :9] + 1e7, y + 1e7, D[:, 0] - 1e7, method=method)
    np.testing.assert_allclose(there.estimate, here.estimate, rtol=1e-6)
    np.testing.assert_allclose(there.standard_error, here.standard_error, rtol=1e-6)
