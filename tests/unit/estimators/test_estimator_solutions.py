"""The coefficients are those of the problem that is written down, by independent solvers."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import Lasso, LinearRegression
from tests.oracles import full_problem_reference

from sketchlasso import (
    SqrtLasso,
    SqrtLassoClassifier,
    SqrtLassoClassifierCV,
    SqrtLassoCV,
    certify,
    convert_alpha,
    sketch,
)
from sketchlasso.errors import InaccurateWarning

M, N = 40, 25


def make(seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((M, N)) * rng.uniform(0.5, 3.0, size=N) + rng.standard_normal(N)
    return X, X[:, :3] @ np.array([1.0, -2.0, 0.5]) + noise * rng.standard_normal(M) + 5.0


def centred(values):
    return values - values.mean(axis=0)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_without_a_sketch_the_solution_is_the_modelling_language_s(positive, intercept):
    X, y = make()
    factor = np.linspace(0.5, 2.0, N)
    model = SqrtLasso(
        alpha=2.0,
        standardize=False,
        sketch=None,
        positive=positive,
        fit_intercept=intercept,
        penalty_factor=factor,
    ).fit(X, y)
    A, b = (centred(X), centred(y)) if intercept else (X, y)
    coef, value = full_problem_reference(A, b, 2.0, 0.0, factor, positive)
    np.testing.assert_allclose(model.coef_, coef, atol=1e-4)
    ours = np.linalg.norm(y - model.predict(X)) + 2.0 * factor @ np.abs(model.coef_)
    assert ours == pytest.approx(value, rel=1e-7)
    assert model.full_gap_ <= 1e-7
    assert model.dual_gap_ <= 1e-7 * value


def test_standardising_is_the_problem_of_the_divided_columns():
    X, y = make()
    scales = X.std(axis=0)
    model = SqrtLasso(alpha=1.5, sketch=None, standardize=True).fit(X, y)
    coef, _ = full_problem_reference(centred(X) / scales, centred(y), 1.5)
    np.testing.assert_allclose(model.coef_ * scales, coef, atol=1e-4)
    assert model.intercept_ == pytest.approx(y.mean() - X.mean(axis=0) @ model.coef_)


def test_an_exact_sketch_without_radius_is_no_sketch():
    X, y = make()
    full = SqrtLasso(alpha=2.0, sketch=None).fit(X, y)
    thin = SqrtLasso(alpha=2.0, sketch="exact", radius=0.0).fit(X, y)
    assert full.sketch_ is None and thin.sketch_.method == "exact"
    np.testing.assert_allclose(thin.coef_, full.coef_, atol=1e-5)


def test_the_full_gap_is_the_certificate_s():
    X, y = make()
    model = SqrtLasso(alpha=2.0, standardize=False, sketch="response", rank=6, random_state=0)
    model.fit(X, y)
    found = certify(X, y, model.coef_, 2.0)
    assert model.full_gap_ == pytest.approx(found.relative_gap[0], rel=1e-6)
    assert model.full_gap_ > 1e-4 and model.dual_gap_ < 1e-6 and model.radius_ > 0


@pytest.mark.parametrize("package", ["scikit-learn", "celer", "glmnet"])
def test_the_lasso_meets_ours_where_convert_alpha_says(package):
    X, y = make()
    ours = SqrtLasso(alpha=2.0, standardize=False, sketch=None, tol=1e-10).fit(X, y)
    residual = np.linalg.norm(y - ours.predict(X))
    theirs = convert_alpha(2.0, n_samples=M, target=package, residual_norm=residual)
    lasso = Lasso(alpha=theirs, tol=1e-10, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(lasso.coef_, ours.coef_, atol=1e-5)
    back = convert_alpha(theirs, n_samples=M, source=package, target="sketchlasso",
                         residual_norm=residual)  # fmt: skip
    assert back == pytest.approx(2.0)


def objective(package, residual, l1, alpha, m=M):
    """What the package minimises, written out from its documentation."""
    length = np.linalg.norm(residual)
    return {
        "sketchlasso": length + alpha * l1,
        "skglm": length + alpha * l1,
        "pycasso": length / np.sqrt(m) + alpha * l1,
        "statsmodels": length / np.sqrt(m) + alpha * l1 / m,
    }[package]


@pytest.mark.parametrize("package", ["sketchlasso", "skglm", "pycasso", "statsmodels"])
def test_converted_objectives_are_multiples_of_ours(package):
    rng = np.random.default_rng(0)
    alpha = convert_alpha(2.0, n_samples=M, target=package)
    ratios = []
    for _ in range(3):
        residual, l1 = rng.standard_normal(M), rng.random()
        ratios.append(
            objective(package, residual, l1, alpha) / objective("sketchlasso", residual, l1, 2.0)
        )
    np.testing.assert_allclose(ratios, ratios[0])
    assert convert_alpha(alpha, n_samples=M, source=package, target="sketchlasso") == (
        pytest.approx(2.0)
    )


def test_convert_alpha_takes_arrays():
    found = convert_alpha([1.0, 2.0], n_samples=4, target="scikit-learn", residual_norm=[2.0, 4.0])
    np.testing.assert_allclose(found, [0.5, 2.0])


@pytest.mark.parametrize("method", [None, "response"])
def test_relaxed_is_least_squares_on_the_support(method):
    X, y = make()
    options = {"alpha": 3.0, "sketch": method, "rank": 10, "random_state": 0}
    strict = SqrtLasso(**options).fit(X, y)
    relaxed = SqrtLasso(**options, relaxed=True).fit(X, y)
    support = np.flatnonzero(strict.coef_)
    least = LinearRegression().fit(X[:, support], y)
    np.testing.assert_allclose(relaxed.coef_[support], least.coef_, atol=1e-8)
    assert relaxed.intercept_ == pytest.approx(least.intercept_)
    assert np.count_nonzero(relaxed.coef_) == len(support)
    assert relaxed.full_gap_ == pytest.approx(strict.full_gap_)


def test_relaxed_stays_positive_where_asked():
    X, y = make()
    model = SqrtLasso(alpha=0.5, positive=True, relaxed=True).fit(X, y)
    assert (model.coef_ >= 0).all()
    least = LinearRegression(positive=True).fit(X[:, model.coef_ > 0], y)
    np.testing.assert_allclose(model.coef_[model.coef_ > 0], least.coef_, atol=1e-6)


@pytest.mark.filterwarnings("ignore::sketchlasso.errors.GridEdgeWarning")
@pytest.mark.parametrize("method", [None, "randomized", "response"])
def test_many_responses_are_each_their_own(method):
    X, y = make()
    Y = np.column_stack([y, X[:, 4] + y[::-1], -3 * X[:, 5]])
    options = {"sketch": method, "rank": 8, "random_state": 0, "standardize": False}
    for model in (SqrtLasso(alpha=[1.0, 2.0, 1.0], **options), SqrtLassoCV(alphas=8, **options)):
        together = model.fit(X, Y)
        coef, intercept, alpha = together.coef_, together.intercept_, together.alpha_
        gap, found = together.full_gap_, together.predict(X)
        assert coef.shape == (3, N) and gap.shape == alpha.shape == intercept.shape == (3,)
        for t in range(3):
            if isinstance(model, SqrtLasso):
                model.set_params(alpha=alpha[t])
            alone = model.fit(X, Y[:, t])
            assert alone.alpha_ == pytest.approx(alpha[t])
            # A realised radius is settled to a percent, together or alone.
            off = 2e-5 if method is None else 2e-3
            np.testing.assert_allclose(alone.coef_, coef[t], atol=off)
            np.testing.assert_allclose(alone.predict(X), found[:, t], atol=10 * off)


def test_a_ready_sketch_is_shared_and_not_remade():
    X, y = make()
    ready = sketch(X, rank=8, center=True, random_state=0)
    first = SqrtLasso(alpha=2.0, sketch=ready).fit(X, y)
    second = SqrtLasso(alpha=2.0, sketch=ready).fit(X, y[::-1])
    assert first.sketch_ is ready and second.sketch_ is ready
    same = SqrtLasso(2.0, standardize=False, sketch="randomized", rank=8, random_state=0).fit(X, y)
    np.testing.assert_allclose(first.coef_, same.coef_, atol=1e-6)
    scaled = sketch(X, method="exact", center=True, scale=True)
    standard = SqrtLasso(alpha=2.0, sketch=None, standardize=True).fit(X, y)
    found = SqrtLasso(alpha=2.0, sketch=scaled, radius=0.0).fit(X, y)
    np.testing.assert_allclose(found.coef_, standard.coef_, atol=1e-5)


def test_classes_keep_their_labels_and_scores_their_shapes():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"], dtype=object)[y]
    model = SqrtLassoClassifier(alpha=0.5, standardize=True).fit(X, names)
    assert list(model.classes_) == ["setosa", "versicolor", "virginica"]
    assert model.decision_function(X).shape == (150, 3)
    assert model.coef_.shape == (3, 4) and model.intercept_.shape == (3,)
    assert set(model.predict(X)) <= set(names)
    assert model.score(X, names) > 0.8
    two = y < 2
    binary = SqrtLassoClassifier(alpha=0.5).fit(X[two], names[two])
    assert binary.decision_function(X).shape == (150,)
    assert binary.coef_.shape == (1, 4)
    np.testing.assert_array_equal(
        binary.predict(X), binary.classes_[(binary.decision_function(X) > 0).astype(int)]
    )


def test_each_class_against_the_rest_is_a_regression_on_signs():
    X, y = load_iris(return_X_y=True)
    model = SqrtLassoClassifier(alpha=[0.5, 1.0, 2.0], sketch=None).fit(X, y)
    for number in range(3):
        signs = np.where(y == number, 1.0, -1.0)
        alone = SqrtLasso(alpha=model.alpha_[number], sketch=None).fit(X, signs)
        np.testing.assert_allclose(model.coef_[number], alone.coef_, atol=1e-6)


@pytest.mark.filterwarnings("ignore::sketchlasso.errors.GridEdgeWarning")
def test_folds_of_a_classifier_keep_the_shares_of_the_classes():
    X, y = load_iris(return_X_y=True)  # sorted by class: plain folds would leave one out
    model = SqrtLassoClassifierCV(alphas=8, cv=3, standardize=True).fit(X, y)
    assert model.oof_decision_.shape == (150, 3)
    agree = np.mean(model.classes_[np.argmax(model.oof_decision_, axis=1)] == y)
    assert agree > 0.75
    assert model.mse_path_.shape == model.score_path_.shape == (3, 8, 3)
    assert model.alphas_.shape == (3, 8)


def test_a_relaxed_fit_on_too_many_features_is_left_penalised():
    X, y = make()
    with pytest.warns(InaccurateWarning, match="would interpolate"):
        model = SqrtLasso(alpha=0.01, relaxed=True).fit(X[:12], y[:12])
    strict = SqrtLasso(alpha=0.01).fit(X[:12], y[:12])
    np.testing.assert_allclose(model.coef_, strict.coef_)
