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
# Checks that compare numbers of fits, with each other or with what a good fit reaches. They run
# with other kernels, too: `make kernels`.
COMPARING = {
    "check_array_api_input",
    "check_classifier_data_not_an_array",
    "check_classifiers_classes",
    "check_classifiers_one_label",
    "check_classifiers_one_label_sample_weights",
    "check_classifiers_train",
    "check_decision_proba_consistency",
    "check_estimators_pickle",
    "check_fit_idempotent",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_pipeline_consistency",
    "check_regressor_data_not_an_array",
    "check_regressors_int",
    "check_regressors_train",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
    "check_supervised_y_2d",
    "check_transformer_data_not_an_array",
    "check_transformer_general",
}
# Named penalties take weights times any number for the same, and equal weights for none, so that
# weights cannot be repetition, too.
REPETITION = "check_sample_weight_equivalence"
# What scikit-learn says where a setting of its own is absent.
OPTIONAL = ("SCIPY_ARRAY_API",)


def checks(estimator, comparing):
    """Yield instances, checks and their names: those that compare numbers, or all others."""
    for instance, check in estimator_checks_generator(estimator):
        name = check.func.__name__
        if name.startswith(REPETITION) and getattr(estimator, "alpha", None) == "pivotal":
            instance = clone(instance).set_params(alpha=1.0)
        if (name in COMPARING) == comparing:
            yield instance, check, name


def assert_none_fails(estimator, comparing):
    failed = []
    for instance, check, name in checks(estimator, comparing):
        try:
            check(instance)
        except SkipTest as skipped:
            assert any(word in str(skipped) for word in OPTIONAL), skipped
        except Exception as error:
            failed.append(f"{name}: {error}")
    assert not failed, "\n".join(failed)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_no_check_that_compares_numbers_fails(estimator):
    assert_none_fails(estimator, comparing=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_no_other_check_fails(estimator):
    assert_none_fails(estimator, comparing=False)


def test_there_are_checks_of_both_kinds():
    for estimator in ESTIMATORS:
        both = [[name for *_, name in checks(estimator, kind)] for kind in (True, False)]
        assert sum(map(len, both)) > 40
        assert all(both)
    every = {name for estimator in ESTIMATORS for *_, name in checks(estimator, True)}
    # Releases of scikit-learn differ in a few of them.
    assert every <= COMPARING
    assert len(every) > 0.7 * len(COMPARING)
