"""Estimators on a device: the same models."""

import numpy as np
import pytest
from sklearn.base import clone

import sketchlasso as sl
from sketchlasso.errors import DeviceWarning, InvalidInputError
from sketchlasso.io import BlockMatrix

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
torch.set_num_threads(1)


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 200))
    return X, X[:, :3].sum(axis=1) + 0.5 * rng.normal(size=120)


def test_one_penalty(made):
    X, y = made
    here = sl.SqrtLasso(alpha=1.0, rank=20, sketch="randomized", radius=0.05, random_state=0)
    there = clone(here).set_params(device="torch")
    assert np.allclose(here.fit(X, y).coef_, there.fit(X, y).coef_, atol=1e-4)
    assert there.dual_gap_ <= 1e-8 * np.linalg.norm(y)


def test_cross_validation_chooses_the_same_penalty(made):
    X, y = made
    here = sl.SqrtLassoCV(
        alphas=15, cv=3, rank=20, sketch="randomized", random_state=0, radius="0.1*spectral"
    )
    there = clone(here).set_params(device="torch")
    assert here.fit(X, y).alpha_ == pytest.approx(there.fit(X, y).alpha_, rel=1e-9)


def test_blocks_are_multiplied_where_they_are_and_solved_on_the_device(made):
    X, y = made
    blocks = BlockMatrix.from_arrays([X[:50], X[50:]])
    fitted = sl.SqrtLasso(rank=20, radius=0.5, random_state=0, device="torch").fit(blocks, y)
    same = sl.SqrtLasso(rank=20, radius=0.5, random_state=0).fit(blocks, y)
    assert np.allclose(fitted.coef_, same.coef_, atol=1e-4)


@pytest.mark.parametrize("device", ["gpu", 1, None])
def test_an_unknown_device_is_refused(made, device):
    with pytest.raises(InvalidInputError, match=f"device must be .*, not {device!r}"):
        sl.SqrtLasso(device=device).fit(*made)


def test_a_device_without_work_is_warned_of(made):
    with pytest.warns(DeviceWarning, match="without a sketch"):
        sl.SqrtLasso(sketch=None, device="torch").fit(*made)
