"""scikit-learn's own checks: none fails, and none is skipped for a reason of ours."""

from unittest import SkipTest

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

from sketchlasso import (
    SketchTransformer,
    SqrtLasso,
    SqrtLassoClassifier,
    SqrtLassoClassifierCV,
    SqrtLassoCV,
)

SETTINGS = (
    {},
    {"sketch": None},
    {"sketch": "response"},
    {"standardize": True},
    {"relaxed": True},
    {"positive": True},
)
# Fewer penalties than the default, for time's sake.
ESTIMATORS = [
    SketchTransformer(),
    SketchTransformer(method="response", scale=True),
    *(SqrtLasso(**given) for given in SETTINGS),
    *(SqrtLassoClassifier(**given) for given in SETTINGS),
    *(SqrtLassoCV(**given, alphas=6) for given in SETTINGS),
    SqrtLassoCV(sketch="randomized", radius="realised", alphas=6),
    *(SqrtLassoClassifierCV(**given, alphas=6, cv=3) for given in SETTINGS[2:4]),
]
# Named penalties take weights times any number for the same, and equal weights for none, so that
# weights cannot be repetition, too.
REPETITION = "check_sample_weight_equivalence"
# What scikit-learn says where a setting of its own is absent.
OPTIONAL = ("SCIPY_ARRAY_API",)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_no_check_fails(estimator):
    failed, count = [], 0
    for instance, check in estimator_checks_generator(estimator):
        name = check.func.__name__
        count += 1
        if name.startswith(REPETITION) and getattr(estimator, "alpha", None) == "pivotal":
            instance = clone(instance).set_params(alpha=1.0)
        try:
            check(instance)
        except SkipTest as skipped:
            assert any(word in str(skipped) for word in OPTIONAL), skipped
        except Exception as error:
            failed.append(f"{name}: {error}")
    assert not failed, "\n".join(failed)
    assert count > 40
