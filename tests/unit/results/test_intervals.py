"""Intervals from residuals: ranks, order statistics, and MAPIE's numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, LeaveOneOut

from sketchlasso.results.intervals import conformal_rank, plus_intervals, split_intervals

# MAPIE 1.6 with LinearRegression on rows 0 to 38 of diabetes, its first three columns, for rows
# 100 to 102; split: calibrated on rows 39 to 77.
MAPIE = {
    ("loo", 0.9): [
        [39.48649519347231, 278.56115334848465],
        [-11.00662020040221, 228.06803795461013],
        [62.448124214513086, 301.87997983856934],
    ],
    ("folds", 0.9): [
        [17.500982136816475, 292.0650953412885],
        [-20.559521465641865, 239.87588477294472],
        [41.74851167368513, 326.75842219600923],
    ],
    ("split", 0.9): [
        [76.61919704601232, 256.37936724641463],
        [15.889197382141106, 195.6493675825434],
        [98.0783286927182, 277.83849889312046],
    ],
}


@pytest.mark.parametrize(("kind", "level"), MAPIE)
def test_intervals_are_those_of_mapie(kind, level):
    X, y = load_diabetes(return_X_y=True)
    X = X[:, :3]
    train, new = slice(0, 39), slice(100, 103)
    if kind == "split":
        model = LinearRegression().fit(X[train], y[train])
        residuals = y[39:78] - model.predict(X[39:78])
        found = split_intervals(model.predict(X[new]), residuals, level)
    else:
        predictions, groups, residuals = [], np.empty(39, dtype=np.intp), np.empty(39)
        cv = LeaveOneOut() if kind == "loo" else KFold(5)
        for number, (inside, outside) in enumerate(cv.split(X[train])):
            model = LinearRegression().fit(X[inside], y[inside])
            predictions.append(model.predict(X[new]))
            groups[outside], residuals[outside] = number, y[outside] - model.predict(X[outside])
        found = plus_intervals(np.array(predictions).T, groups, residuals, level)
    np.testing.assert_allclose(found, MAPIE[kind, level], rtol=1e-12)


@pytest.mark.parametrize(
    ("level", "count", "rank"),
    [(0.9, 9, 9), (0.9, 10, 10), (0.7, 9, 7), (0.95, 10, 11), (0.5, 3, 2)],
)
def test_ranks_are_not_moved_by_rounding(level, count, rank):
    assert conformal_rank(level, count) == rank


@given(
    st.lists(st.floats(-100, 100), min_size=1, max_size=30),
    st.integers(1, 4),
    st.floats(0.01, 0.99),
    st.integers(0, 1000),
)
def test_ends_are_order_statistics(residuals, models, level, seed):
    rng = np.random.default_rng(seed)
    residuals, m = np.array(residuals), len(residuals)
    predictions, groups = rng.standard_normal((3, models)), rng.integers(0, models, m)
    found = plus_intervals(predictions, groups, residuals, level)
    rank = conformal_rank(level, m)
    for row in range(3):
        own = predictions[row, groups]
        below, above = np.sort(own - np.abs(residuals)), np.sort(own + np.abs(residuals))
        expected = (-np.inf, np.inf) if rank > m else (below[m - rank], above[rank - 1])
        assert tuple(found[row]) == expected
    half = np.inf if rank > m else np.sort(np.abs(residuals))[rank - 1]
    centre = predictions[:, 0]
    np.testing.assert_array_equal(
        split_intervals(centre, residuals, level), np.column_stack([centre - half, centre + half])
    )
