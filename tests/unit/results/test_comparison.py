"""Sketched against full models: what the table says is what the pieces say."""

import numpy as np
import pytest
from scipy import sparse
from tests.sentences import refusal

from sketchlasso import certify, compare, cross_validate, sketch, sqrt_lasso_path
from sketchlasso.errors import InvalidInputError

M, N = 90, 30


def make(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((M, 6)) @ rng.standard_normal((6, N)) + 0.3 * rng.standard_normal(
        (M, N)
    )
    return X, X[:, 0] - X[:, 5] + rng.standard_normal(M)


@pytest.fixture(scope="module")
def found():
    X, y = make()
    made = sketch(X, rank=8, center=True, random_state=0)
    return X, y, made, compare(X, y, made, alphas=8, cv=3)


def test_both_sides_are_the_paths_of_the_same_penalties(found):
    X, y, made, result = found
    full = sqrt_lasso_path(X, y, None, alphas=8)
    np.testing.assert_allclose(result.alphas, full.alphas.ravel())
    own = sqrt_lasso_path(X, y, made, alphas=result.alphas)
    for side, path in ((result.full, full), (result.sketched, own)):
        np.testing.assert_allclose(
            side.models.coef.toarray(), path.models.coef.toarray(), atol=1e-4
        )
        np.testing.assert_array_equal(side.n_nonzero, side.models.n_nonzero)
    gaps = certify(X, y, result.sketched.models.coef, result.alphas).relative_gap
    np.testing.assert_allclose(result.sketched.full_gap, gaps)
    assert (result.full.full_gap <= 1e-4).all()
    assert result.sketched.full_gap.max() > result.full.full_gap.max()


def test_scores_are_those_of_cross_validation(found):
    X, y, made, result = found
    full = cross_validate(None, X, y, cv=3, alphas=result.alphas)
    own = cross_validate(made, X, y, cv=3, alphas=result.alphas, radii="realised")
    np.testing.assert_allclose(result.full.score, full.mean()[0, 0], rtol=1e-4)
    np.testing.assert_allclose(result.sketched.score, own.mean()[0, 0], rtol=1e-4)
    assert result.full.best == np.argmin(result.full.score)
    assert result.judged_on == "cross-validation"


def test_distances_by_hand(found):
    X, _, _, result = found
    W, V = (side.models.coef.toarray() for side in (result.sketched, result.full))
    for place in range(len(result.alphas)):
        ours, theirs = set(np.flatnonzero(W[place])), set(np.flatnonzero(V[place]))
        assert result.common[place] == len(ours & theirs)
        either = len(ours | theirs)
        assert result.jaccard[place] == pytest.approx(len(ours & theirs) / either if either else 1)
    assert result.coef_distance[0] == result.prediction_distance[0] == 0.0  # both are empty
    last = np.linalg.norm(W[-1] - V[-1]) / np.linalg.norm(V[-1])
    assert result.coef_distance[-1] == pytest.approx(last)
    F, G = ((X - X.mean(axis=0)) @ coef[-1] for coef in (W, V))
    off = np.linalg.norm(F - G) / np.linalg.norm(G)
    assert result.prediction_distance[-1] == pytest.approx(off)


def test_the_summary_shows_both_best_rows_and_the_times(found):
    *_, result = found
    text = str(result)
    lines = text.splitlines()
    assert "rank 8, radius realised" in lines[0] and "mse sketched" in lines[1]
    assert sum(line.startswith(("s", "f")) for line in lines[2:-1]) in (1, 2)
    assert lines[-1].startswith("seconds: sketch")
    assert result.speedup > 0
    assert len(result.summary(rows=2).splitlines()) <= 3 + 4


def test_a_sketch_that_misses_nothing_changes_nothing():
    X, y = make()
    whole = sketch(X, method="exact", center=True)
    for given in (X, sparse.csr_array(X)):
        result = compare(given, y, whole, alphas=6, cv=3, radius=0.0)
        assert (result.jaccard == 1).all() and result.coef_distance.max() < 2e-2
        np.testing.assert_allclose(result.sketched.score, result.full.score, rtol=1e-2)


def test_a_scaled_sketch_is_compared_with_the_scaled_problem():
    X, y = make()
    X = X * np.geomspace(0.1, 10.0, N)
    whole = sketch(X, method="exact", center=True, scale=True)
    result = compare(X, y, whole, alphas=6, cv=3, radius=0.0)
    assert result.prediction_distance.max() < 1e-2


def test_test_rows_weights_and_classes():
    X, y = make()
    signs = np.where(y > 0, 1.0, -1.0)
    made = sketch(X[:60], rank=10, center=True, random_state=0)
    result = compare(
        X[:60], signs[:60], made, X_test=X[60:], y_test=signs[60:], metric="accuracy", alphas=6,
        sample_weight=np.linspace(1, 2, 60), penalty_factor=np.linspace(1, 2, N),
    )  # fmt: skip
    assert result.judged_on == "30 test rows"
    predicted = result.full.models.predict(X[60:])
    np.testing.assert_allclose(
        result.full.score, ((predicted > 0) == (signs[60:, None] > 0)).mean(axis=0)
    )
    assert result.full.best == np.argmax(result.full.score)


def test_refusals():
    X, y = make()
    made = sketch(X, rank=5, center=True, random_state=0)
    refusal(InvalidInputError, compare, X, np.column_stack([y, y]), made)
    refusal(InvalidInputError, compare, X, y, None)
    refusal(InvalidInputError, compare, X, y, made, radius=[0.0, 1.0])
    assert "y_test" in refusal(InvalidInputError, compare, X, y, made, X_test=X)
    refusal(InvalidInputError, compare, X, y, made, X_test=X[:, :3], y_test=y)
