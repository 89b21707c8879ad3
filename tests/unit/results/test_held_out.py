"""Held-out scores and predictions of data in blocks."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import KFold, RepeatedKFold

from sketchlasso import cross_validate, sketch
from sketchlasso.io import BlockMatrix

M, N = 80, 15


@pytest.fixture(params=["dense", "sparse"])
def data(request):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((M, N)) * (rng.random((M, N)) < 0.5)
    y = np.sign(X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(M) + 1e-9)
    X = sparse.csr_array(X) if request.param == "sparse" else X
    return X, BlockMatrix.from_arrays([X[:7], X[7:8], X[8:50], X[50:]]), y


def judged(X, y, metrics, **options):
    found = sketch(X, rank=6, method="krylov", center=True, random_state=0)
    return cross_validate(found, X, y, metrics=metrics, alphas=4, radii=[0.0, 0.5], **options)


@pytest.mark.parametrize("cv", [3, KFold(4, shuffle=True, random_state=0)], ids=["plain", "mixed"])
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_those_in_memory(data, cv, weighted):
    X, blocks, y = data
    metrics = ("mse", "mae", "r2", "accuracy", "f1", "auc")
    weights = np.random.default_rng(1).choice([0.5, 1.0, 2.0], M) if weighted else None
    whole = judged(X, y, metrics, cv=cv, sample_weight=weights)
    cut = judged(blocks, y, metrics, cv=cv, sample_weight=weights)
    for metric in metrics:
        np.testing.assert_allclose(cut.scores[metric], whole.scores[metric], rtol=1e-6, atol=1e-9)
    assert cut.predictions.shape == (M, 1)
    np.testing.assert_allclose(cut.predictions, whole.predictions, rtol=1e-5, atol=1e-6)
    other = cut.best("accuracy")
    np.testing.assert_allclose(
        cut.out_of_fold(blocks, 0, other), whole.out_of_fold(X, 0, other), rtol=1e-5, atol=1e-6
    )


def test_rows_held_out_twice_and_never_and_several_responses(data):
    X, blocks, y = data
    Y = np.column_stack([y, X[:, [2]].sum(axis=1)])
    twice = RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
    np.testing.assert_allclose(
        judged(blocks, Y, ("mse",), cv=twice).predictions,
        judged(X, Y, ("mse",), cv=twice).predictions,
        rtol=1e-5,
        atol=1e-6,
    )
    some = [(np.arange(10, M), np.arange(10)), (np.arange(70), np.arange(70, M))]
    never = judged(blocks, y, ("mse",), cv=some).predictions[:, 0]
    assert np.array_equal(np.flatnonzero(np.isnan(never)), np.arange(10, 70))
