"""Products of a device: those of the CPU, whole and in blocks of rows."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

import sketchlasso as sl
from sketchlasso.data import DataMatrix
from sketchlasso.errors import InvalidInputError
from sketchlasso.linalg.device import Device

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


def matrices():
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(60, 25))
    thin = sparse.random_array((60, 25), density=0.1, rng=rng)
    return {
        "dense": dense,
        "single": dense.astype(np.float32),
        "fortran": np.asfortranarray(dense),
        "integers": rng.integers(0, 9, (60, 25)),
        "csr": sparse.csr_array(thin),
        "csc": sparse.csc_array(thin),
        "csr single": sparse.csr_array(thin, dtype=np.float32),
    }


@pytest.mark.parametrize("budget", [2**28, 95_000], ids=["whole", "blocks"])
@pytest.mark.parametrize("name", matrices())
@pytest.mark.parametrize("center", [False, True])
def test_products_are_those_of_the_cpu(name, budget, center):
    X = matrices()[name]
    here = DataMatrix.of(X, center=center, scale=center)
    there = here.on(Device("cpu", budget, torch))
    rng = np.random.default_rng(1)
    V, U = rng.normal(size=(25, 4)), rng.normal(size=(60, 4))
    tol = 1e-4 if here.dtype == np.float32 else 1e-11
    assert np.allclose(there.matmat(V), here.matmat(V), rtol=tol, atol=tol)
    assert np.allclose(there.rmatmat(U), here.rmatmat(U), rtol=tol, atol=tol)
    assert there.dtype == here.dtype and there.matmat(V).dtype == here.dtype
    assert there.fingerprint() == here.fingerprint()
    assert np.isclose(there.squared_norm(), here.squared_norm())
    assert np.allclose(there.row_lengths(), here.row_lengths())


@pytest.mark.parametrize(
    "method", ["randomized", "krylov", "power", "frequent_directions", "projection", "nystrom"]
)
@pytest.mark.parametrize("name", ["dense", "csr"])
def test_a_sketch_is_that_of_the_cpu(name, method):
    X = matrices()[name]
    here = sl.sketch(X, rank=8, method=method, random_state=0)
    there = sl.sketch(X, rank=8, method=method, random_state=0, device="torch")
    assert np.allclose(there.Q @ there.P.T, here.Q @ here.P.T, atol=1e-8)
    assert there.radius == pytest.approx(here.radius, rel=1e-6)
    assert there.cost.passes == here.cost.passes


def test_a_sketch_that_knows_the_response_is_that_of_the_cpu():
    X = matrices()["csr"]
    y = np.random.default_rng(2).normal(size=60)
    options = {"rank": 10, "method": "response", "random_state": 0}
    here, there = sl.sketch(X, y, **options), sl.sketch(X, y, device="torch", **options)
    assert np.allclose(there.Q @ there.P.T, here.Q @ here.P.T, atol=1e-8)


def test_operators_are_refused():
    with pytest.raises(InvalidInputError, match="arrays and sparse matrices in memory"):
        sl.sketch(aslinearoperator(matrices()["dense"]), rank=3, device="torch")


def test_a_device_too_small_for_a_row_is_refused():
    with pytest.raises(InvalidInputError, match="one row of X"):
        DataMatrix.of(matrices()["dense"]).on(Device("cpu", 100, torch))
