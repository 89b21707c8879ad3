"""summary() of the linear estimators: what it holds, for data of every kind."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.io import BlockMatrix


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 8)) * np.geomspace(0.5, 4.0, 8)
    return X, X / X.std(axis=0) @ np.r_[3.0, -2.0, 1.0, np.zeros(5)] + rng.standard_normal(120)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("standardize", [True, False])
def test_effects_of_one_standard_deviation(made, kind, standardize):
    X, y = made
    weights = np.random.default_rng(1).integers(1, 4, 120)
    model = sl.SqrtLasso(standardize=standardize).fit(kind(X), y, sample_weight=weights)
    found = model.summary()
    effects = model.coef_ * np.repeat(X, weights, axis=0).std(axis=0)
    np.testing.assert_allclose(found.per_std[0], effects, rtol=1e-10)
    table = found.table()
    order = [j for j in np.argsort(-np.abs(effects), kind="stable") if model.coef_[j]]
    assert table["feature"] == [f"x{j}" for j in order]
    np.testing.assert_allclose(table["per_std"], effects[order], rtol=1e-10)
    np.testing.assert_array_equal(table["per_unit"], model.coef_[order])
    assert found.score is None and "fold_share" not in table
    assert found.gap[0] == model.full_gap_ and found.alpha[0] == model.alpha_


def test_a_search_has_scores_and_shares(made):
    X, y = made
    Y = np.column_stack([y, y - X[:, 7] + np.random.default_rng(2).standard_normal(120)])
    model = sl.SqrtLassoCV(alphas=20, selection="1se").fit(X, Y)
    found = model.summary([f"gene {j}" for j in range(8)])
    at = [list(model.alphas_[t]).index(model.alpha_[t]) for t in range(2)]
    scores = np.array([model.score_path_[t, at[t]] for t in range(2)])
    np.testing.assert_allclose(found.score, scores.mean(axis=1))
    np.testing.assert_allclose(found.score_error, scores.std(axis=1, ddof=1) / np.sqrt(5))
    table = found.table(4)
    assert table["response"].count("0") <= 2 and table["feature"][0] == "gene 0"
    assert table["fold_share"][0] == model.fold_share_[0, 0] == 1.0


def test_classes_name_the_responses(made):
    X, y = made
    two = sl.SqrtLassoClassifier().fit(X, np.where(y > 0, "up", "down"))
    assert two.summary().responses == ("up",)
    three = sl.SqrtLassoClassifier().fit(X, np.digitize(y, [-1.0, 1.0]))
    assert three.summary().responses == ("0", "1", "2")


def test_blocks_have_effects_where_they_were_standardised(made):
    X, y = made
    blocks = BlockMatrix.from_arrays([X[:60], X[60:]])
    plain = sl.SqrtLasso(standardize=False, radius=0).fit(blocks, y).summary()
    assert np.isnan(plain.per_std).all() and "per std. dev." not in repr(plain)
    scaled = sl.SqrtLasso(standardize=True, radius=0).fit(blocks, y)
    np.testing.assert_allclose(scaled.summary().per_std[0], scaled.coef_ * X.std(axis=0))


def test_frames_and_files_keep_names_and_effects(made, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = made
    frame = pandas.DataFrame(X, columns=list("abcdefgh"))
    model = sl.SqrtLassoCV(alphas=10).fit(frame, y)
    shown = model.summary().to_frame()
    assert shown.columns.tolist() == ["feature", "per_std", "per_unit", "fold_share"]
    assert shown.feature[0] == "a"
    sl.save_model(tmp_path / "a.model", model)
    loaded = sl.load_model(tmp_path / "a.model")
    assert repr(loaded.summary()) == repr(model.summary())


def test_refusals(made):
    with pytest.raises(NotFittedError, match="Call 'fit'"):
        sl.SqrtLasso().summary()
    with pytest.raises(InvalidInputError, match="2 names, but the model has 8 features"):
        sl.SqrtLasso().fit(*made).summary(["a", "b"])
