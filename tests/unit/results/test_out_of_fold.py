"""Predictions of held-out rows, put together from the folds."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, RepeatedKFold, ShuffleSplit

from sketchlasso import splitter_rows
from sketchlasso.results.scores import OutOfFold


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
    found = OutOfFold(rows)
    expected = np.zeros((20, 2, 3, 4))
    times = np.zeros(20)
    at = (np.array([0, 1, 1]), np.array([2, 0, 1]), np.array([3, 3, 1]))
    for row_set in rows:
        predicted = rng.standard_normal((len(row_set.test), 3))
        found.add(row_set.test, at, predicted)
        for row, values in zip(row_set.test, predicted, strict=True):
            expected[row, *at] += values
            times[row] += 1
    means = found.means((2, 3, 4))
    seen = times > 0
    np.testing.assert_allclose(
        means[seen][:, *at], expected[seen][:, *at] / times[seen][:, None], rtol=1e-12
    )
    assert np.isnan(means[~seen]).all()
    assert np.isnan(means).sum() == means.size - 3 * seen.sum()
