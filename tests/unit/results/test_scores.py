import numpy as np
import pytest
from sklearn import metrics

from sketchlasso.engine import score
from sketchlasso.errors import InvalidInputError
from sketchlasso.results.scores import check_metrics

SKLEARN = {
    "mse": metrics.mean_squared_error,
    "mae": metrics.mean_absolute_error,
    "r2": metrics.r2_score,
    "accuracy": lambda y, p: metrics.accuracy_score(y, np.where(p > 0, 1, -1)),
    "f1": lambda y, p: metrics.f1_score(y, np.where(p > 0, 1, -1)),
    "auc": metrics.roc_auc_score,
}


@pytest.mark.parametrize("metric", list(SKLEARN))
@pytest.mark.parametrize("seed", range(3))
def test_scores_agree_with_scikit_learn(metric, seed):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(40) < 0.4, 1.0, -1.0)
    predicted = np.round(y[:, None, None] + 2 * rng.normal(size=(40, 2, 3)), 1)
    found = score(metric, y, predicted)
    assert found.shape == (2, 3)
    for index in np.ndindex(2, 3):
        assert found[index] == pytest.approx(SKLEARN[metric](y, predicted[:, *index]))


def test_scores_that_are_not_defined_are_nan():
    ones = np.ones(4)
    assert np.isnan(score("auc", ones, ones[:, None])).all()
    assert np.isnan(score("r2", ones, ones[:, None])).all()
    assert score("f1", -ones, -ones[:, None])[0] == 0.0


def test_direction_and_bad_metrics():
    with pytest.raises(InvalidInputError, match="metric='rmse' is unknown; choose one of 'mse'"):
        check_metrics(("rmse",), np.ones(3))
    with pytest.raises(InvalidInputError, match="metric='f1' needs targets of"):
        check_metrics(("f1",), np.array([0.0, 1.0]))
