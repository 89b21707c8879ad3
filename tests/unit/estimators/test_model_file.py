"""A model file gives back the estimator that was saved, or one sentence."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold
from tests.matrices import scattered
from tests.sentences import refusal

import sketchlasso as sl
from sketchlasso.engine import LinearModels, RadiusPolicy
from sketchlasso.errors import InvalidInputError, StoredFileError
from sketchlasso.io import Encoding, read_table, stored_info
from sketchlasso.storage import reading, write_stored

pytestmark = pytest.mark.filterwarnings("ignore::sketchlasso.errors.GridEdgeWarning")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 8))
Y = np.column_stack([X[:, 0] - X[:, 1], 2 * X[:, 2]]) + 0.1 * RNG.standard_normal((60, 2))
WORDS = np.array(["yes", "no"])[(X[:, 0] > 0).astype(int)]
THREE = np.digitize(X[:, 0], [-0.5, 0.5])


@pytest.fixture(scope="module")
def models():
    return {
        "one": sl.SqrtLasso(alpha=1.0).fit(X, Y[:, 0]),
        "many": sl.SqrtLasso(alpha=[1.0, 2.0], penalty_factor=np.r_[0.0, np.ones(7)]).fit(X, Y),
        "single precision": sl.SqrtLasso(alpha=1.0).fit(X.astype(np.float32), Y[:, 0]),
        "chosen": sl.SqrtLassoCV(alphas=8, radius=["realised", 0.1], random_state=0).fit(
            X, Y[:, 0]
        ),
        "words": sl.SqrtLassoClassifier(alpha=1.0).fit(X, WORDS),
        "object labels": sl.SqrtLassoClassifier(alpha=1.0).fit(X, WORDS.astype(object)),
        "classes": sl.SqrtLassoClassifierCV(alphas=8, cv=3).fit(X, THREE),
        "rigorous": sl.SqrtLasso("rigorous", relaxed=True).fit(X, Y[:, 0]),
        "calibrated": sl.SqrtLasso(alpha=1.0).fit(X, Y[:, 0]).calibrate(X, Y[:, 0]),
        "split": sl.SqrtLasso(alpha=1.0).fit(X, Y).calibrate(X + 1.0, Y),
    }


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.model"


@pytest.mark.parametrize(
    "name",
    ["one", "many", "single precision", "chosen", "words", "object labels", "classes", "rigorous"],
)
def test_the_loaded_model_is_the_saved_one(models, name, path):
    model = models[name]
    sl.save_model(path, model, X=X)
    loaded = sl.load_model(path)
    assert type(loaded) is type(model)
    said, expected = loaded.predict(X), model.predict(X)
    assert said.dtype == expected.dtype
    assert np.array_equal(said, expected)
    for attribute, value in vars(model).items():
        if attribute.endswith("_") and attribute != "sketch_":
            kept = getattr(loaded, attribute)
            assert np.array_equal(kept, value), attribute
            assert np.shape(kept) == np.shape(value), attribute
    assert not hasattr(loaded, "sketch_")
    for parameter, value in model.get_params().items():
        assert np.array_equal(loaded.get_params()[parameter], value), parameter


@pytest.mark.parametrize("name", ["calibrated", "split"])
def test_the_loaded_model_predicts_the_same_intervals(models, path, name):
    sl.save_model(path, models[name])
    loaded = sl.load_model(path)
    assert loaded.calibration_.method == models[name].calibration_.method
    assert np.array_equal(loaded.predict_interval(X), models[name].predict_interval(X))


def test_rules_and_objects_among_the_parameters(path):
    policy = RadiusPolicy("realised", 1 / 3)
    model = sl.SqrtLassoCV(alphas=[3.0, 2.0, 1.0], cv=KFold(3), radius=policy, random_state=0)
    sl.save_model(path, model.fit(X, Y[:, 0]))
    loaded = sl.load_model(path)
    assert RadiusPolicy.parse(loaded.radius) == policy
    assert loaded.cv is None  # a splitter is an object of another library
    assert np.array_equal(loaded.alphas, [3.0, 2.0, 1.0])
    assert stored_info(path).facts["settings"]["cv"] == {"left_out": "KFold"}


def test_path_and_model_may_change_places(models, path):
    sl.save_model(models["one"], str(path), X=X)
    assert np.array_equal(sl.load_model(path).coef_, models["one"].coef_)
    with pytest.raises(NotFittedError, match="Call 'fit'"):
        sl.save_model(sl.SqrtLasso(), path)


def test_linear_models_come_back_too(path):
    models = sl.sqrt_lasso_path(X, Y[:, 0], None, alphas=5).models
    sl.save_model(path, models)
    loaded = sl.load_model(path)
    assert isinstance(loaded, LinearModels)
    assert np.array_equal(loaded.predict(X), models.predict(X))


def test_the_file_says_what_it_holds(models, path):
    names = [f"x{j}" for j in range(8)]
    sl.save_model(path, models["one"], X=X, feature_names=names, target_name="weight")
    info = stored_info(path)
    assert info.content == "model"
    assert info.facts["estimator"] == "SqrtLasso"
    assert info.facts["library"] == sl.__version__
    assert info.facts["feature_names"] == names
    assert info.facts["target_name"] == "weight"
    assert info.facts["settings"]["alpha"] == 1.0
    other = sl.sketch(X, rank=2, random_state=0)
    assert info.facts["fingerprint"] == other.fingerprint  # both are of X itself
    assert info.arrays["coef.data"] == (np.count_nonzero(models["one"].coef_),)
    assert not hasattr(sl.load_model(path), "feature_names_in_")  # the fit has not seen them


def test_names_that_the_fit_has_seen(path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=[f"x{j}" for j in range(8)])
    factor = pandas.Series(np.r_[0.0, np.ones(7)], index=frame.columns)
    model = sl.SqrtLasso(alpha=1.0, penalty_factor=factor).fit(frame, Y[:, 0])
    sl.save_model(path, model)
    assert np.array_equal(sl.load_model(path).penalty_factor, factor)
    loaded = sl.load_model(path)
    assert list(loaded.feature_names_in_) == list(frame.columns)
    assert np.array_equal(loaded.predict(frame), model.predict(frame))
    assert "names of their own" in refusal(
        InvalidInputError, sl.save_model, path, model, feature_names=list("abcdefgh")
    )


def test_only_coefficients_that_are_not_zero_take_room(path):
    wide = scattered(80, 20_000, 0.01, np.random.default_rng(0))
    target = np.asarray(wide[:, [3]].toarray()).ravel() + 0.01 * RNG.standard_normal(80)
    sl.save_model(path, sl.SqrtLasso(alpha=0.5).fit(wide, target))
    assert path.stat().st_size < 8_000


def test_what_cannot_be_saved(path):
    assert "model is a Sketch" in refusal(
        InvalidInputError, sl.save_model, path, sl.sketch(X, rank=2)
    )
    model = sl.SqrtLasso(alpha=1.0).fit(X, Y[:, 0])
    assert "has 8 features" in refusal(
        InvalidInputError, sl.save_model, path, model, feature_names=["a"]
    )
    mixed = sl.SqrtLassoClassifier(alpha=1.0).fit(X, WORDS)
    mixed.classes_ = np.array([1, "a"], dtype=object)
    assert "objects other than text" in refusal(InvalidInputError, sl.save_model, path, mixed)
    assert not path.exists()


def rewritten(path, facts, arrays):
    """Write a model file anew with other facts and arrays; None drops an array."""
    with reading(path, "model") as stored:
        changed = {**stored.arrays, **arrays}
        kept = {name: array for name, array in changed.items() if array is not None}
        write_stored(path, "model", {**stored.facts, **facts}, kept)


@pytest.mark.parametrize(
    ("name", "facts", "arrays"),
    [
        ("one", {"estimator": "Ridge"}, {}),
        ("one", {"n_features": 3}, {}),
        ("one", {"single": False}, {}),
        ("one", {"settings": {"alpha": 1.0, "gamma": 2.0}}, {}),
        ("one", {"named": True}, {}),
        ("one", {}, {"fitted.predict": np.zeros(2)}),
        ("one", {}, {"fitted.intercept_": np.array(np.nan)}),
        ("classes", {}, {"classes": np.array([1, 2])}),
        ("calibrated", {}, {"calibration.0.groups": np.zeros(3, dtype=int)}),
    ],
)
def test_parts_that_do_not_fit_are_refused(models, path, name, facts, arrays):
    sl.save_model(path, models[name])
    rewritten(path, facts, arrays)
    assert "is damaged or incomplete (" in refusal(StoredFileError, sl.load_model, path)


def test_the_encoding_of_the_columns_is_kept(path, tmp_path):
    table = tmp_path / "a.csv"
    table.write_text("city,rooms,y\nOslo,1,2\nRome,,3\nLima,4,1\n", encoding="utf-8")
    found = read_table(table, target="y", impute="mean")
    model = sl.SqrtLasso(alpha=0.1).fit(found.X, found.y)
    names = found.feature_names
    sl.save_model(path, model, feature_names=names, encoding=found.encoding)
    assert sl.load_model(path).standardized_ is True
    stored = stored_info(path).facts["encoding"]
    assert Encoding.from_json(stored) == found.encoding
