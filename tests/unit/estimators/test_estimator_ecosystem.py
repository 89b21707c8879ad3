"""Inside pipelines, searches, pickles, workers, routed metadata and callbacks."""

import contextlib

import numpy as np
import pytest
import sklearn
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sketchlasso import (
    SketchTransformer,
    SqrtLasso,
    SqrtLassoClassifier,
    SqrtLassoClassifierCV,
    SqrtLassoCV,
)
from sketchlasso.errors import InaccurateWarning

M, N = 60, 10
pytestmark = pytest.mark.filterwarnings("ignore::sketchlasso.errors.GridEdgeWarning")


def make(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((M, N))
    return X, X[:, 0] - 2 * X[:, 3] + 0.5 * rng.standard_normal(M)


def models():
    return [
        SqrtLasso(alpha=1.0, sketch="response", rank=4, random_state=0),
        SqrtLassoCV(alphas=5, cv=3),
        SqrtLassoClassifier(alpha=1.0),
        SqrtLassoClassifierCV(alphas=5, cv=3),
    ]


def target_for(model, y):
    return np.where(y > 0, "up", "down") if hasattr(model, "decision_function") else y


def test_pipelines_and_searches():
    X, y = make()
    pipeline = make_pipeline(StandardScaler(), SqrtLasso())
    search = GridSearchCV(
        pipeline, {"sqrtlasso__alpha": [0.5, 2.0, "pivotal"], "sqrtlasso__relaxed": [False, True]}
    ).fit(X, y)
    assert search.best_score_ > 0.9
    scores = cross_validate(make_pipeline(SketchTransformer(rank=5, random_state=0), Ridge()), X, y)
    assert scores["test_score"].shape == (5,)
    classes = GridSearchCV(SqrtLassoClassifier(), {"alpha": [0.5, 2.0]}, scoring="roc_auc")
    assert classes.fit(X, y > 0).best_score_ > 0.9


def test_column_transformer_with_names():
    pandas = pytest.importorskip("pandas")
    X, y = make()
    frame = pandas.DataFrame(X, columns=[f"x{j}" for j in range(N)])
    frame["colour"] = np.where(np.arange(M) % 2, "red", "blue")
    columns = ColumnTransformer(
        [
            ("thin", SketchTransformer(rank=4, method="response", random_state=0), list(frame)[:N]),
            ("colour", OneHotEncoder(sparse_output=False), ["colour"]),
        ]
    ).set_output(transform="pandas")
    pipeline = make_pipeline(columns, SqrtLassoCV(alphas=6, cv=3)).fit(frame, y)
    names = list(pipeline[-1].feature_names_in_)
    assert names[0] == "thin__sketchtransformer0" and names[-1] == "colour__colour_red"
    assert pipeline.score(frame, y) > 0.8


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_weights_and_groups_are_routed():
    X, y = make()
    rng = np.random.default_rng(1)
    weights, groups = rng.integers(0, 3, M), np.arange(M) // 6
    inner = SqrtLassoCV(alphas=5, cv=GroupKFold(3))
    inner.set_fit_request(sample_weight=True, groups=True)
    routed = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), inner)
    routed.fit(X, y, sample_weight=weights, groups=groups)
    plain = SqrtLassoCV(alphas=5, cv=GroupKFold(3))
    plain.fit(StandardScaler().fit_transform(X), y, sample_weight=weights, groups=groups)
    np.testing.assert_allclose(routed[-1].coef_, plain.coef_)
    search = GridSearchCV(
        SqrtLasso().set_fit_request(sample_weight=True).set_score_request(sample_weight=True),
        {"alpha": [1.0, 2.0]},
        cv=GroupKFold(3),
    ).fit(X, y, sample_weight=weights, groups=groups)
    assert search.best_score_ > 0.8
    for kind in (SqrtLasso, SqrtLassoClassifier):
        assert hasattr(kind().set_fit_request(sample_weight=True), "fit")


class Recorder:
    """Records the calls that an estimator makes during its fit."""

    def __init__(self, impatient=False):
        self.heard, self.rounds, self.impatient = [], [], impatient

    def setup(self, estimator, context):
        self.heard.append("setup")

    def teardown(self, estimator, context):
        self.heard.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None, metadata=None):
        if context.task_name == "round":
            return
        assert not hasattr(estimator, "n_iter_") and not hasattr(estimator, "sketch_")
        self.heard.append("begin")

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, metadata=None,
                        fitted_estimator=None):  # fmt: skip
        if context.task_name == "round":
            self.rounds.append(context.task_id)
            return self.impatient
        assert hasattr(fitted_estimator, "predict") or hasattr(fitted_estimator, "transform")
        self.heard.append("end")
        self.metadata = metadata
        return False


@pytest.mark.parametrize("model", [*models(), SketchTransformer(rank=4)], ids=repr)
def test_callbacks_get_begin_and_end(model):
    pytest.importorskip("sklearn.callback")
    X, y = make()
    recorder = Recorder()
    weights = {} if isinstance(model, SketchTransformer) else {"sample_weight": np.ones(M)}
    model.set_callbacks(recorder).fit(X, target_for(model, y), **weights)
    assert recorder.heard == ["setup", "begin", "end", "teardown"]
    assert list(recorder.metadata) == list(weights)
    assert recorder.rounds == list(range(len(recorder.rounds)))
    assert bool(recorder.rounds) == hasattr(model, "predict")


@pytest.mark.parametrize("method", [None, "randomized"])
def test_a_callback_can_end_the_solve(method):
    pytest.importorskip("sklearn.callback")
    X, y = make()
    radius = None if method is None else 0.0
    model = SqrtLasso(alpha=0.5, sketch=method, rank=4, radius=radius, random_state=0)
    heard = []
    model.set_params(verbose=heard.append).set_callbacks(recorder := Recorder(impatient=True))
    with contextlib.nullcontext() if method is None else pytest.warns(InaccurateWarning):
        model.fit(X, y)
    assert recorder.heard == ["setup", "begin", "end", "teardown"]
    assert len(heard) == len(recorder.rounds) == 1
