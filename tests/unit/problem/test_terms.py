"""The terms of a problem: checked factors, and factors on other scales."""

import numpy as np
import pytest

from sketchlasso.errors import InvalidInputError
from sketchlasso.problem.terms import Terms


def test_factors_on_another_scale():
    terms = Terms(False, [0.0, 1.0, np.inf], positive=True)
    np.testing.assert_array_equal(terms.factors(3), [0.0, 1.0, np.inf])
    np.testing.assert_array_equal(terms.penalised(3), [False, True, False])
    scaled = terms.scaled(np.array([2.0, 4.0, 8.0]))
    np.testing.assert_array_equal(scaled.factors(3), [0.0, 4.0, np.inf])
    assert (scaled.fit_intercept, scaled.positive) == (False, True)
    assert terms.scaled(None) is terms
    np.testing.assert_array_equal(Terms().scaled(np.array([2.0, 3.0])).factors(2), [2.0, 3.0])


@pytest.mark.parametrize(
    ("factor", "message"),
    [
        (np.ones(3), r"has shape \(3,\) but X has 2 features; pass one factor per feature, \(2,\)"),
        ([1.0, -1.0], "must hold numbers from 0 .*, not NaN or negative ones"),
        (["a", "b"], "penalty_factor must be one number >= 0 per feature"),
    ],
)
def test_bad_factors_are_refused(factor, message):
    with pytest.raises(InvalidInputError, match=message):
        Terms(penalty_factor=factor).factors(2)
