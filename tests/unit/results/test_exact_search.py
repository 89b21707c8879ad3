"""The search for a penalty without a sketch: stages, early ends, longer grids."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Lasso
from sklearn.model_selection import KFold

from sketchlasso import (
    Settings,
    SqrtLassoClassifierCV,
    SqrtLassoCV,
    Status,
    certify,
    cross_validate,
)
from sketchlasso.errors import InaccurateWarning
from sketchlasso.results.choices import IN_A_ROW, decided
from sketchlasso.solvers import StopSolve


def make(m=120, n=40, noise=2.0, seed=0, t=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    W = rng.standard_normal((5, t))
    Y = X[:, :5] @ W + noise * rng.standard_normal((m, t))
    return X, Y[:, 0] if t == 1 else Y


def parabola(folds=5, count=30, best=10.0):
    return np.array([(np.arange(count) - best) ** 2 + fold for fold in range(folds)])


def test_a_search_is_decided_a_few_penalties_past_the_minimum():
    cost = parabola()
    ends = [count for count in range(1, 31) if decided(cost[:, :count])]
    assert ends == list(range(10 + IN_A_ROW + 1, 31))


def test_a_rise_that_five_folds_show_by_chance_decides_nothing():
    # Between one and two standard errors of the difference in all penalties past the best.
    rise = np.zeros((5, 20))
    rise[:, 10:] = np.array([-1.0, 0.0, 1.0, 2.0, 3.0])[:, None] / 2.0
    error = rise[:, -1].std(ddof=1) / np.sqrt(5)
    assert error < rise[:, -1].mean() < 2.0 * error
    assert not decided(10.0 + rise)


def test_labels_that_do_not_get_clearly_worse_do_not_lead_a_search_on():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((200, 120))
    y = np.sign(X[:, :30] @ rng.standard_normal(30) + 2.0 * rng.standard_normal(200))
    model = SqrtLassoClassifierCV(alphas=60).fit(X, y)
    accuracy, errors = model.score_path_[0], model.mse_path_[0]
    tried = np.isfinite(accuracy).all(axis=1).sum()
    assert tried < 30
    assert decided(errors[:tried].T)
    assert not decided(-accuracy[:tried].T)
    # The choice is the best of the labels, which were tried for some penalties past it.
    assert model.alpha_ == model.alphas_.ravel()[np.argmax(accuracy[:tried].mean(axis=1))]
    assert np.argmax(accuracy[:tried].mean(axis=1)) < tried - IN_A_ROW


def test_a_rise_of_small_errors_counts_beside_large_ones():
    # With little noise the error falls to a small part of its first value, and doubles again.
    line = 1e-4 * (1.0 + 0.01 * (np.arange(30) - 15.0) ** 2)
    line[:5] = [10.0, 5.0, 1.0, 0.1, 0.01]
    cost = line * (1.0 + 0.01 * np.arange(5)[:, None])
    assert decided(cost)
    # Shares of a thousandth of the least error are ties.
    line[16:] = line[15] * (1.0 + 5e-4)
    assert not decided(line * (1.0 + 0.01 * np.arange(5)[:, None]))


def test_the_grid_follows_lambda_on_all_rows():
    X, y = make()
    found = cross_validate(None, X, y, alphas=20)
    centred = y - y.mean()
    largest = np.abs((X - X.mean(axis=0)).T @ centred).max()
    lambdas = largest * np.geomspace(1.0, 1e-3, 20)
    solved = np.isfinite(found.scores["mse"][0, 0, 0])
    for alpha, level in list(zip(found.alphas[0, 0], lambdas, strict=False))[:12:3]:
        peer = Lasso(alpha=level / len(y), tol=1e-12, max_iter=100_000).fit(X, y)
        length = np.linalg.norm(y - peer.predict(X))
        assert alpha == pytest.approx(level / length, rel=1e-6)
    assert solved[:12].all()


def test_what_the_search_solves_is_certified_on_the_training_rows():
    X, y = make()
    found = cross_validate(None, X, y, alphas=60)
    solved = found.status[0, 0, 0] == Status.SOLVED
    # Every stage of the search keeps the certificates of those before.
    assert solved.sum() > 30 and (found.relative_gap[..., solved] <= 1e-4).all()
    for fold, row_set in enumerate(found.rows):
        train = row_set.train(len(y))
        rows = fold * found.alphas.shape[2] + np.flatnonzero(solved)
        proof = certify(X[train], y[train], found.models.coef[rows], found.alphas[0, 0, solved])
        assert (proof.relative_gap <= 1e-4).all()
        predicted = found.models.predict(X[row_set.test], rows)
        errors = ((y[row_set.test, None] - predicted) ** 2).mean(axis=0)
        np.testing.assert_allclose(errors, found.scores["mse"][fold, 0, 0, solved])


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("wide", [False, True])
def test_scores_are_those_of_the_models(kind, wide):
    X, Y = make(n=300 if wide else 10, t=2)
    found = cross_validate(None, kind(X), Y, alphas=20)
    scores = found.scores["mse"][:, :, 0]
    for fold, row_set in enumerate(found.rows):
        for response in range(2):
            known = np.flatnonzero(np.isfinite(scores[fold, response]))
            rows = np.ravel_multi_index((fold, response, known), scores.shape)
            errors = (
                found.models.predict(X[row_set.test], rows) - Y[row_set.test, response][:, None]
            )
            np.testing.assert_allclose(scores[fold, response, known], (errors**2).mean(axis=0))


def test_penalties_past_the_decision_are_left_out():
    X, y = make(noise=3.0, seed=2)
    found = cross_validate(None, X, y)
    out = found.status[:, 0, 0] == Status.LEFT_OUT
    assert out.any() and (out == out[0]).all()
    first = int(np.argmax(out[0]))
    assert out[0, first:].all() and not out[0, :first].any()
    assert np.isnan(found.scores["mse"][:, 0, 0, first:]).all()
    assert np.isnan(found.relative_gap[:, 0, 0, first:]).all()
    assert (found.n_nonzero[:, 0, 0, first:] == 0).all()
    assert found.best().alpha_index < first - IN_A_ROW
    assert (np.diff(found.alphas[0, 0]) < 0).all()
    # Given the penalties, everything is solved, and the same one is the best.
    full = cross_validate(None, X, y, alphas=found.alphas[0, 0])
    assert (full.status == Status.SOLVED).all()
    assert full.best() == found.best()
    early = slice(0, first)
    np.testing.assert_allclose(
        full.scores["mse"][..., early], found.scores["mse"][..., early], rtol=1e-3
    )


def test_a_grid_that_ends_too_early_goes_on(recwarn):
    X, y = make(m=300, noise=0.01)
    found = cross_validate(None, X, y, alphas=12)
    assert found.alphas.shape[2] > 12
    assert found.best().alpha_index > 11
    model = SqrtLassoCV(alphas=12).fit(X, y)
    assert len(model.alphas_) > 12 and len(model.mse_path_) == len(model.alphas_)
    assert not [w for w in recwarn if "grid" in str(w.message)]
    # An end that was asked for is kept.
    kept = cross_validate(None, X, y, alphas=12, alpha_min_ratio=1e-3)
    assert kept.alphas.shape[2] == 12


def test_responses_end_on_their_own():
    X, Y = make(t=3)
    Y[:, 1] *= 1e-6
    Y[:, 2] = 4.0
    together = cross_validate(None, X, Y, alphas=40)
    for response in (0, 1):
        alone = cross_validate(None, X, Y[:, response], alphas=40)
        a = min(alone.alphas.shape[2], together.alphas.shape[2])
        both = np.isfinite(alone.scores["mse"][:, 0, 0, :a])
        both &= np.isfinite(together.scores["mse"][:, response, 0, :a])
        assert both.sum() > 50
        np.testing.assert_allclose(
            alone.scores["mse"][:, 0, 0, :a][both],
            together.scores["mse"][:, response, 0, :a][both],
            rtol=1e-6,
        )
    assert (together.n_nonzero[:, 2] == 0).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_the_number_of_threads_changes_nothing(threads, monkeypatch):
    monkeypatch.setattr("sketchlasso.results.full_data.FEW_ENTRIES", 0)
    X, Y = make(t=4)
    found = SqrtLassoCV(alphas=30, n_jobs=threads).fit(X, Y)
    alone = SqrtLassoCV(alphas=30, n_jobs=1).fit(X, Y)
    np.testing.assert_array_equal(found.coef_, alone.coef_)
    np.testing.assert_array_equal(found.mse_path_, alone.mse_path_)


@pytest.mark.parametrize("seed", [13, 40])
def test_an_early_peak_of_right_labels_does_not_end_the_search(seed):
    rng = np.random.default_rng(seed)
    m = 300
    y = np.where(rng.random(m) < 0.5, 1.0, -1.0)
    X = np.zeros((m, 41))
    # Right for four rows in five; then a column whose few large values cost labels and save
    # squared error; then many weak columns that are right together.
    X[:, 0] = 3 * np.where(rng.random(m) < 0.8, y, -y)
    X[:, 1] = np.where(rng.random(m) < 0.1, 20 * y, 2 * rng.standard_normal(m))
    X[:, 2:] = 0.35 * y[:, None] + rng.standard_normal((m, 39))
    found = cross_validate(None, X, y, metrics=("accuracy",), alphas=60)
    best = found.best()
    assert best.alpha_index > 40
    assert found.mean()[0, 0, best.alpha_index] > 0.95


def test_a_callback_that_stops_keeps_what_is_solved():
    X, Y = make(t=2)
    heard = []

    def stop(progress):
        heard.append(progress)
        if len(heard) == 7:
            raise StopSolve

    settings = Settings(tol=1e-4, n_threads=1, callback=stop)
    with pytest.warns(InaccurateWarning, match="interrupted"):
        found = cross_validate(None, X, Y, alphas=30, settings=settings)
    assert len(heard) == 7
    assert np.sum(found.status == Status.SOLVED) == 7
    assert np.sum(found.status == Status.INTERRUPTED) > 0
    assert np.isfinite(found.scores["mse"][:, :, 0, 0]).all()


@pytest.mark.parametrize("selection", ["min", "1se"])
def test_a_constant_response_has_no_r2_and_needs_no_penalty(selection):
    X, y = make(m=40)
    model = SqrtLassoCV(scoring="r2", selection=selection, random_state=0)
    both = model.fit(X, np.column_stack([np.ones(40), y]))
    assert not both.coef_[0].any() and both.intercept_[0] == 1.0
    assert both.coef_[1].any()


def scored(r2, mse):
    """A search of one penalty with the given scores of five folds."""
    X, y = make(m=40)
    found = cross_validate(None, X, y, alphas=[3.0], cv=5, metrics=("r2", "mse"))
    shaped = {"r2": np.reshape(r2, (5, 1, 1, 1)), "mse": np.reshape(mse, (5, 1, 1, 1))}
    return replace(found, scores=shaped)


def test_a_search_is_clearly_better_in_both_scores_and_beyond_their_errors():
    spread = np.array([-0.1, 0.05, 0.0, 0.15, -0.1])
    known = scored(0.5 + spread, 1.0 + spread)
    # Folds differ in difficulty alike, so a small gain in every fold is clear.
    assert scored(0.51 + spread, 0.99 + spread).clearly_better(known, "r2")
    assert not known.clearly_better(known, "r2")
    # By chance: a better first score with larger errors, or a gain in some folds only.
    assert not scored(0.6 + spread, 1.1 + spread).clearly_better(known, "r2")
    assert not scored(0.51 - spread, 0.9 + spread).clearly_better(known, "r2")
    assert not known.clearly_better(scored(0.6 + spread, 0.9 + spread), "r2")


class TestExactFits:
    """One feature fits y exactly: every lambda of all rows belongs to the largest penalty."""

    @pytest.mark.parametrize("shape", [(200, 1), (200, 30), (100, 400)])
    @pytest.mark.parametrize("cv", [2, 5, KFold(20)])
    @pytest.mark.parametrize("noise", [0.0, 1e-7, 1e-4])
    def test_a_feature_that_fits_exactly_is_found(self, shape, cv, noise):
        rng = np.random.default_rng(0)
        X = rng.standard_normal(shape)
        y = 3.0 * X[:, 0] + noise * rng.standard_normal(len(X))
        model = SqrtLassoCV(cv=cv, random_state=0, sketch=None).fit(X, y)
        assert model.coef_[0] == pytest.approx(3.0, rel=1e-3)
        assert np.abs(model.coef_[1:]).max(initial=0.0) <= noise
        # The penalty was judged in every fold, and does better than no feature at all.
        chosen = model.mse_path_[model.alphas_ == model.alpha_]
        assert np.isfinite(chosen).all()
        assert (chosen < 1e-5 * model.mse_path_[0]).all()

    def test_the_search_ends_where_every_fold_is_fitted(self):
        X = np.random.default_rng(1).standard_normal((90, 12))
        model = SqrtLassoCV(random_state=0).fit(X, X[:, 3] - X[:, 5])
        tried = np.isfinite(model.mse_path_).all(axis=1)
        assert tried.sum() < 60
        assert set(np.flatnonzero(model.coef_)) == {3, 5}

    def test_of_several_responses_only_some_are_fitted_exactly(self):
        X, y = make()
        together = SqrtLassoCV(random_state=0).fit(X, np.column_stack([y, X[:, 0], 0.0 * y]))
        alone = SqrtLassoCV(random_state=0).fit(X, y)
        np.testing.assert_allclose(together.coef_[0], alone.coef_, atol=1e-6)
        assert together.coef_[1, 0] == pytest.approx(1.0)
        assert not together.coef_[2].any()
