"""Specifications: the parameters of an estimator, checked and fixed at the time of the fit."""

from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest

from sketchlasso import SqrtLasso, SqrtLassoClassifier, SqrtLassoClassifierCV, SqrtLassoCV, sketch
from sketchlasso.errors import InvalidInputError
from sketchlasso.estimators.parameters import SearchSpecification, SingleSpecification
from sketchlasso.solvers import Progress


@pytest.mark.parametrize(
    ("kind", "estimators"),
    [
        (SingleSpecification, (SqrtLasso, SqrtLassoClassifier)),
        (SearchSpecification, (SqrtLassoCV, SqrtLassoClassifierCV)),
    ],
)
def test_every_parameter_is_in_the_specification(kind, estimators):
    for estimator in estimators:
        given = estimator().get_params()
        spec = kind.of(estimator(), 3)
        made = {"terms", "report"}
        assert {field.name for field in fields(kind)} - made == given.keys() - {
            "fit_intercept",
            "penalty_factor",
            "positive",
            "verbose",
        }
        for name in given.keys() & {field.name for field in fields(kind)}:
            assert getattr(spec, name) == given[name]


def test_a_specification_keeps_what_was_checked():
    seen = []
    model = SqrtLasso(2.0, fit_intercept=False, penalty_factor=[1, 0, 2], positive=True)
    model.set_params(verbose=seen.append, n_jobs=1, tol=1e-9)
    spec = SingleSpecification.of(model, 3)
    model.set_params(alpha=5.0, tol=-1.0)
    assert (spec.alpha, spec.tol) == (2.0, 1e-9)
    assert (spec.terms.fit_intercept, spec.terms.positive) == (False, True)
    np.testing.assert_array_equal(spec.terms.factors(3), [1.0, 0.0, 2.0])
    settings = spec.settings(None)
    assert (settings.tol, settings.n_threads) == (1e-9, 1)
    assert spec.settings(None, searching=True).tol == 1e-4
    progress = Progress(1, 2, round=0, worst_gap=0.1)
    settings.callback(progress)
    assert seen == [progress]
    with pytest.raises(FrozenInstanceError):
        spec.tol = 1.0


def test_single_precision_asks_for_a_gap_that_can_be_proved():
    X = np.random.default_rng(0).standard_normal((20, 5)).astype(np.float32)
    ready = sketch(X, rank=3, random_state=0)
    spec = SingleSpecification.of(SqrtLasso(sketch=ready), 5)
    assert spec.ready is ready and spec.settings(ready).tol == 1e-6


def test_unknown_sketches_are_refused_whatever_the_response():
    # A constant response is fitted without a sketch.
    with pytest.raises(InvalidInputError, match=r"sketch must be auto, .* or None, not 'magic'"):
        SqrtLasso(sketch="magic").fit(np.eye(5), np.ones(5))


def test_a_refused_fit_keeps_the_calibration():
    X = np.random.default_rng(0).standard_normal((20, 3))
    model = SqrtLasso(1.0).fit(X, X[:, 0]).calibrate(X, X[:, 0])
    with pytest.raises(
        InvalidInputError, match="tol must be a positive number such as 1e-6, not -1"
    ):
        model.set_params(tol=-1.0).fit(X, X[:, 0])
    assert model.calibration_.method == "jackknife+"
    assert not hasattr(model.set_params(tol=1e-8).fit(X, X[:, 0]), "calibration_")
