"""What cannot be used is refused in one sentence."""

import numpy as np
import pytest
from tests.sentences import refusal

from sketchlasso import (
    SketchTransformer,
    SqrtLasso,
    SqrtLassoClassifier,
    SqrtLassoClassifierCV,
    SqrtLassoCV,
    convert_alpha,
    cross_validate,
    pivotal_alpha,
    sketch,
    sqrt_lasso_path,
)
from sketchlasso.engine import Batch
from sketchlasso.errors import InvalidInputError

rng = np.random.default_rng(0)
X, y = rng.standard_normal((30, 6)), rng.standard_normal(30)

EVERYWHERE = [
    ({"fit_intercept": "yes"}, "True or False"),
    ({"standardize": 1}, "True, False or 'auto'"),
    ({"standardize": "yes"}, "True, False or 'auto'"),
    ({"positive": None}, "True or False"),
    ({"relaxed": "ols"}, "True or False"),
    ({"rank": 0}, "an integer >= 1"),
    ({"rank": 2.5}, "an integer >= 1"),
    ({"rank": True}, "an integer >= 1"),
    ({"sketch": "magic"}, "response, a Sketch or None, not 'magic'."),
    ({"sketch": 3}, "a Sketch or None"),
    ({"sketch": None, "radius": "spectral"}, "radius must be one number"),
    ({"sketch": "exact", "radius": -1.0}, "a number >= 0"),
    ({"radius": "big"}, "a number >= 0"),
    ({"solver": "lbfgs"}, "'newton'"),
    ({"tol": 0.0}, "a positive number"),
    ({"tol": "small"}, "a positive number"),
    ({"n_jobs": 0}, "n_jobs must be a number of threads, or -1 for all cores, not 0."),
    ({"verbose": -1}, "an integer >= 0"),
    ({"penalty_factor": [1.0, 2.0]}, "one factor per feature"),
    ({"penalty_factor": "none"}, "one number >= 0 per feature"),
    ({"penalty_factor": [1.0, 1.0, 1.0, 1.0, 1.0, -1.0]}, "from 0"),
]


@pytest.mark.parametrize("given, said", EVERYWHERE, ids=lambda value: str(value)[:40])
def test_parameters_of_every_linear_estimator(given, said):
    for kind in (SqrtLasso, SqrtLassoCV):
        assert said in refusal(InvalidInputError, kind(**given).fit, X, y)
    for kind in (SqrtLassoClassifier, SqrtLassoClassifierCV):
        assert said in refusal(InvalidInputError, kind(**given).fit, X, y > 0)


@pytest.mark.parametrize("alpha", [-1.0, np.nan, np.inf, [1.0, 2.0], "aic", None, object()])
def test_alpha(alpha):
    said = refusal(InvalidInputError, SqrtLasso(alpha=alpha).fit, X, y)
    assert "'pivotal'" in said


ARRAY = np.array([1, 2])
WRONG_KINDS = [
    ({"cv": 1}, "cv must be a splitter, a number of folds >= 2 or pairs of rows, not 1."),
    ({"cv": True}, "a number of folds >= 2"),
    ({"alphas": True}, "alphas must be a number of penalties or a list of them, not True."),
    ({"alphas": np.ones((2, 3))}, "alphas has shape (2, 3)"),
    ({"selection": ARRAY}, "selection must be 'min' or '1se', not array([1, 2])."),
    ({"scoring": ARRAY}, "scoring must be one of"),
    ({"relaxed": ARRAY}, "True or False"),
]


@pytest.mark.parametrize("given, said", WRONG_KINDS, ids=lambda value: str(value)[:40])
def test_values_of_the_wrong_kind_in_a_search(given, said):
    assert said in refusal(InvalidInputError, SqrtLassoCV(**given).fit, X, y)
    assert said in refusal(InvalidInputError, SqrtLassoClassifierCV(**given).fit, X, y > 0)


def test_values_of_the_wrong_kind_in_functions():
    cases = [
        (cross_validate, {"cv": 1}, "folds >= 2"),
        (cross_validate, {"alphas": True}, "a number of penalties or a list of them, not True"),
    ]
    for function, given, said in cases:
        assert said in refusal(InvalidInputError, function, None, X, y, **given)
    assert "not True" in refusal(InvalidInputError, sqrt_lasso_path, X, y, alphas=True)
    assert "not True" in refusal(InvalidInputError, SqrtLasso(alpha=True).fit, X, y)
    c, s = rng.standard_normal((2, 3)), np.ones(2)
    said = refusal(InvalidInputError, Batch.build, np.ones((6, 3)), c, s, alpha=np.ones((2, 3)))
    assert "shapes (2,), (1,), (2, 3) do not fit 2 rows of c" in said


def test_alpha_zero_needs_a_sketch():
    said = refusal(InvalidInputError, SqrtLasso(alpha=0.0).fit, X, y)
    assert "must be finite and > 0, but one is 0" in said
    assert SqrtLasso(alpha=0.0, sketch="exact", radius=1.0).fit(X, y).alpha_ == 0.0


def test_what_only_searches_have():
    for kind, target in ((SqrtLassoCV, y), (SqrtLassoClassifierCV, y > 0)):
        said = refusal(InvalidInputError, kind(selection="best").fit, X, target)
        assert "'min' or '1se'" in said
        assert "'mse'" in refusal(InvalidInputError, kind(scoring="loss").fit, X, target)
        assert "alphas must be a number of penalties or a list of them, not 'few'." in refusal(
            InvalidInputError, kind(alphas="few").fit, X, target
        )
        with pytest.raises(InvalidInputError, match="alphas"):
            kind(alphas=0).fit(X, target)
        with pytest.raises(InvalidInputError, match="alpha_min_ratio"):
            kind(alpha_min_ratio=2.0).fit(X, target)
    assert "'mae'" in refusal(InvalidInputError, SqrtLassoCV(scoring="auc").fit, X, y)
    train_nothing = [(np.arange(5), np.arange(5, 10))]
    weights = np.r_[np.zeros(5), np.ones(25)]
    refusal(InvalidInputError, SqrtLassoCV(cv=train_nothing).fit, X, y, sample_weight=weights)


def test_sample_weights():
    for call in (SqrtLasso().fit, SqrtLassoCV().fit):
        said = refusal(InvalidInputError, call, X, y, sample_weight=np.zeros(30))
        assert "sample_weight is zero on every row" in said
    said = refusal(InvalidInputError, pivotal_alpha, X, sample_weight=np.zeros(30))
    assert "sample_weight is zero on every row" in said
    for weights, said in (
        (np.ones(29), r"has shape \(29,\)"),
        (-np.ones(30), "must hold finite numbers >= 0, not -1"),
        (np.full(30, np.nan), "must hold finite numbers >= 0, not nan"),
    ):
        with pytest.raises(InvalidInputError, match=f"sample_weight {said}"):
            SqrtLasso().fit(X, y, sample_weight=weights)


def test_ready_sketches():
    ready = sketch(X[:20], rank=3, random_state=0)
    assert "(20, 6)" in refusal(InvalidInputError, SqrtLasso(sketch=ready).fit, X, y)
    ready = sketch(X, rank=3, random_state=0)
    said = refusal(InvalidInputError, SqrtLasso(sketch=ready, standardize=True).fit, X, y)
    assert "scale=True" in said


def test_one_class():
    for kind in (SqrtLassoClassifier, SqrtLassoClassifierCV):
        said = refusal(InvalidInputError, kind().fit, X, np.ones(30))
        assert "one class only, 1.0, among" in said
    with pytest.raises(ValueError, match="continuous"):
        SqrtLassoClassifier().fit(X, y)


def test_functions_and_the_transformer():
    refusal(InvalidInputError, convert_alpha, 1.0, n_samples=10, target="spams")
    refusal(InvalidInputError, convert_alpha, 1.0, n_samples=0, target="pycasso")
    said = refusal(InvalidInputError, convert_alpha, 1.0, n_samples=10, target="glmnet")
    assert "residual_norm" in said
    refusal(InvalidInputError, pivotal_alpha, X, slack=0.0)
    refusal(InvalidInputError, pivotal_alpha, X, failure=1.0)
    found = SketchTransformer(rank=3, random_state=0).fit(X)
    assert "3 coordinates" in refusal(InvalidInputError, found.inverse_transform, X)
    for rank in (0, "many"):
        with pytest.raises(InvalidInputError):
            SketchTransformer(rank=rank).fit(X)


@pytest.mark.parametrize("estimator", [SqrtLasso(alpha=1.0), SqrtLassoCV(alphas=[1.0, 0.5], cv=2)])
def test_values_that_are_no_numbers_are_refused_in_one_sentence(estimator):
    pd = pytest.importorskip("pandas")
    missing = X.copy()
    missing[3, 2] = np.nan
    infinite = np.where(np.isnan(missing), np.inf, missing)
    assert "X contains NaN" in refusal(InvalidInputError, estimator.fit, missing, y)
    assert "X contains NaN" in refusal(InvalidInputError, estimator.fit, infinite, y)
    assert "y contains NaN" in refusal(InvalidInputError, estimator.fit, X, missing[:, 2])
    labels = np.where(y > 0, "high", "low")
    for given in (labels, labels.astype(object)):
        assert "use a classifier for labels" in refusal(InvalidInputError, estimator.fit, X, given)
    texts = np.column_stack([X.astype(object), labels])
    assert "real numbers are needed" in refusal(InvalidInputError, estimator.fit, texts, y)
    dates = (1e6 * np.abs(X)).astype(np.int64).astype("datetime64[s]")
    message = refusal(InvalidInputError, estimator.fit, dates, y)
    assert message.startswith("X holds values of type datetime64[s]")
    message = refusal(InvalidInputError, estimator.fit, X, dates[:, 0] - dates[0, 0])
    assert message.startswith("y holds values of type timedelta64[s]")
    frame = pd.DataFrame({"a": X[:, 0], "when": dates[:, 0]})
    assert "datetime64[s]" in refusal(InvalidInputError, estimator.fit, frame, y)
    estimator.fit(X, y)
    assert "datetime64[s]" in refusal(InvalidInputError, estimator.predict, dates)
    assert "X contains NaN" in refusal(InvalidInputError, estimator.predict, missing)


@pytest.mark.parametrize(
    "kind", [SqrtLasso, SqrtLassoCV, SqrtLassoClassifier, SqrtLassoClassifierCV]
)
def test_an_unknown_parameter_names_the_estimator(kind):
    with pytest.raises(
        TypeError, match=rf"^{kind.__name__}\.__init__\(\) got an unexpected .*'lam'"
    ):
        kind(lam=1)
