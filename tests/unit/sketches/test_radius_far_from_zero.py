"""A radius is a bound, in any precision and however far the columns are from zero."""

import numpy as np
import pytest
from scipy import sparse

import sketchlasso as sl
from sketchlasso.io import BlockMatrix

METHODS = [
    "exact", "randomized", "power", "krylov", "projection", "sampling", "nystrom",
    "frequent_directions", "response",
]  # fmt: skip
FORMS = {
    "dense": lambda X: X,
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "blocks": lambda X: BlockMatrix.from_arrays([X[:40], X[40:]]),
}


def far_from_zero(offset, kind=np.float32, shape=(100, 80)):
    return (offset + np.random.default_rng(0).standard_normal(shape)).astype(kind)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6, 1e7])
@pytest.mark.parametrize("method", METHODS)
def test_a_radius_bounds_the_error_of_columns_far_from_zero(method, offset, form):
    X = far_from_zero(offset)
    y = np.random.default_rng(1).standard_normal(100) if method == "response" else None
    for center, scale in ((True, False), (True, True), (False, False)):
        A = X.astype(float) - (X.astype(float).mean(axis=0) if center else 0.0)
        A = A / A.std(axis=0) if scale else A
        for radius, norm in (("spectral", 2), ("frobenius", None)):
            found = sl.sketch(
                FORMS[form](X), y, rank=8, method=method, radius=radius, center=center,
                scale=scale, random_state=0,
            )  # fmt: skip
            Q, P = np.asarray(found.Q, dtype=float), np.asarray(found.P, dtype=float)
            error = np.linalg.norm(A - Q @ P.T, norm)
            assert error * (1 - 1e-9) <= found.radius
            if center:
                assert found.radius <= 1.2 * error


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [1e6, 1e7])
def test_coordinates_of_rows_far_from_zero(offset, kind):
    X = far_from_zero(offset, kind, (200, 30))
    centred = X.astype(float) - X.astype(float).mean(axis=0)
    # Distances between rows, which do not depend on the signs of the coordinates.
    transformer = sl.SketchTransformer(rank=30, method="exact").fit(X)
    codes = transformer.transform(X[:5]).astype(float) * transformer.sketch_.singular_values
    assert codes @ codes.T == pytest.approx(centred[:5] @ centred[:5].T, abs=1e-2)
    again = transformer.inverse_transform(transformer.transform(X))
    assert again.astype(float) == pytest.approx(X.astype(float), rel=2e-7)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("value", [0.0, 0.1, 3.0])
@pytest.mark.parametrize("method", METHODS[:-1])
def test_a_constant_matrix_has_a_sketch_without_directions(method, value, kind):
    X = np.full((100, 80), value, dtype=kind)
    found = sl.sketch(X, rank=8, method=method, center=True, random_state=0)
    assert not found.P.any() and found.radius <= 1e-6 * value
    if value == 0:
        assert not sl.sketch(X, rank=8, method=method, random_state=0).P.any()


@pytest.mark.parametrize("method", ["frequent_directions", "randomized", "nystrom"])
def test_directions_are_those_of_the_centred_columns(method):
    near = np.random.default_rng(2).standard_normal((100, 80)) * 0.9 ** np.arange(80)
    for offset in (0.0, 1e3, 1e6):
        found = sl.sketch(offset + near, rank=8, method=method, center=True, random_state=0)
        centred = near - near.mean(axis=0)
        error = np.linalg.norm(centred - np.asarray(found.Q) @ found.P.T, 2)
        assert error <= 1.15 * np.linalg.svd(centred, compute_uv=False)[8]
