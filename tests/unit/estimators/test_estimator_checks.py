"""scikit-learn's own checks: none fails, and none is skipped for a reason of ours."""

import pytest
from sklearn.utils.estimator_checks import check_estimator

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
# Fewer penalties than the default, for time's sake; `python -m benchmarks estimator_checks`
# runs the defaults.
ESTIMATORS = [
    SketchTransformer(),
    SketchTransformer(method="response", scale=True),
    *(SqrtLasso(**given) for given in SETTINGS),
    *(SqrtLassoClassifier(**given) for given in SETTINGS),
    *(SqrtLassoCV(**given, alphas=6) for given in SETTINGS),
    SqrtLassoCV(sketch="randomized", radius="realised", alphas=6),
    *(SqrtLassoClassifierCV(**given, alphas=6, cv=3) for given in SETTINGS[2:4]),
]
# What scikit-learn says where a setting of its own is absent.
OPTIONAL = ("SCIPY_ARRAY_API",)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_check_estimator_finds_nothing(estimator):
    outcomes = check_estimator(estimator, on_skip=None, on_fail=None)
    assert len(outcomes) > 40
    failed = [
        f"{outcome['check_name']}: {outcome['exception']}"
        for outcome in outcomes
        if outcome["status"] not in ("passed", "skipped")
    ]
    assert not failed, "\n".join(failed)
    for outcome in outcomes:
        if outcome["status"] == "skipped":
            reason = str(outcome["exception"])
            assert any(word in reason for word in OPTIONAL), reason
