"""Predictions of held-out rows, put together from the folds."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, RepeatedKFold, ShuffleSplit

from sketchlasso import splitter_rows
from sketchlasso.results.scores import out_of_fold


@pytest.mark.parametrize(
    "splitter",
    [
        KFold(3),
        RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
        ShuffleSplit(4, test_size=0.3, random_state=0),
    ],
    ids=["once", "twice", "some never"],
)
def test_rows_get_the_mean_of_what_was_predicted_for_them(splitter):
    rng = np.random.default_rng(0)
    rows = splitter_rows(splitter, rng.standard_normal((20, 2)))
    held_out = [(own.test, rng.standard_normal((len(own.test), 3))) for own in rows]
    expected, times = np.zeros((20, 3)), np.zeros(20)
    for test, predicted in held_out:
        for row, values in zip(test, predicted, strict=True):
            expected[row] += values
            times[row] += 1
    means = out_of_fold(20, held_out)
    seen = times > 0
    np.testing.assert_allclose(means[seen], expected[seen] / times[seen][:, None], rtol=1e-12)
    assert np.isnan(means[~seen]).all()
