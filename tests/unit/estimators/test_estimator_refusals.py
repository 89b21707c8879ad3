"""What cannot be used is refused in one sentence."""

import numpy as np
import pytest
from tests.sentences import refusal

from sketchlasso import (
    SqrtLasso,
    SqrtLassoClassifier,
    SqrtLassoClassifierCV,
    SqrtLassoCV,
    sketch,
)
from sketchlasso.errors import InvalidInputError

rng = np.random.default_rng(0)
X, y = rng.standard_normal((30, 6)), rng.standard_normal(30)

EVERYWHERE = [
    ({"fit_intercept": "yes"}, "True or False"),
    ({"standardize": 1}, "True, False or 'auto'"),
    ({"rank": 2.5}, "an integer >= 1"),
    ({"sketch": "magic"}, "response, a Sketch or None, not 'magic'."),
    ({"sketch": None, "radius": "spectral"}, "radius must be one number"),
    ({"sketch": "exact", "radius": -1.0}, "a number >= 0"),
    ({"solver": "lbfgs"}, "'newton'"),
    ({"tol": 0.0}, "a positive number"),
    ({"n_jobs": 0}, "n_jobs must be a number of threads, or -1 for all cores, not 0."),
    ({"penalty_factor": [1.0, 2.0]}, "one factor per feature"),
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


SEARCHES = [
    ({"cv": 1}, "cv must be a splitter, a number of folds >= 2 or pairs of rows, not 1."),
    ({"alphas": True}, "alphas must be a number of penalties or a list of them, not True."),
    ({"alphas": "few"}, "alphas must be a number of penalties or a list of them, not 'few'."),
    ({"alphas": 0}, "alphas must be at least 1"),
    ({"alphas": np.ones((2, 3))}, "alphas has shape (2, 3)"),
    ({"alpha_min_ratio": 2.0}, "alpha_min_ratio must be a number strictly between 0 and 1"),
    ({"selection": np.array([1, 2])}, "selection must be 'min' or '1se', not array([1, 2])."),
    ({"scoring": "loss"}, "scoring must be one of"),
]


@pytest.mark.parametrize("given, said", SEARCHES, ids=lambda value: str(value)[:40])
def test_values_of_the_wrong_kind_in_a_search(given, said):
    assert said in refusal(InvalidInputError, SqrtLassoCV(**given).fit, X, y)
    assert said in refusal(InvalidInputError, SqrtLassoClassifierCV(**given).fit, X, y > 0)


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
