"""Bad input: one test per kind, and the whole sentence."""

import re

import numpy as np
import pytest
from scipy import sparse

from sketchlasso.errors import InvalidInputError, SketchlassoError
from sketchlasso.sketches import sketch

X = np.random.default_rng(0).standard_normal((9, 6))


def spoiled(value, make=np.asarray):
    bad = X.copy()
    bad[4, 2] = value
    return make(bad)


def refused(sentence, *args, **kwargs):
    with pytest.raises(InvalidInputError) as caught:
        sketch(*args, **kwargs)
    assert str(caught.value) == sentence
    assert_one_sentence(sentence)
    assert isinstance(caught.value, SketchlassoError)
    assert isinstance(caught.value, ValueError)


def assert_one_sentence(text):
    assert text.endswith(".")
    assert not re.search(r"[.!?]\s+[A-Z]", text)
    assert "\n" not in text


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_not_finite(value, make):
    refused(
        "X contains NaN or infinity in column 2, but every entry must be finite; fill such entries "
        "in, for example with sklearn.impute.SimpleImputer, or drop them.",
        spoiled(value, make),
    )


@pytest.mark.parametrize("shape", [(54,), (9, 3, 2), ()])
def test_wrong_shape(shape):
    refused(
        f"X has shape {shape}, but a matrix of shape (n_samples, n_features) is needed; reshape "
        "it to two dimensions, and check the order of the arguments.",
        np.ones(shape),
    )


@pytest.mark.parametrize("make", [np.zeros, sparse.csr_array])
@pytest.mark.parametrize("shape", [(0, 6), (9, 0)])
def test_empty(make, shape):
    refused(
        f"X is empty (shape {shape}), but at least one row and one column are needed; pass a "
        "matrix with entries.",
        make(shape),
    )


def test_ragged_rows():
    refused(
        "X could not be read as a matrix because its rows differ in length, but an array of "
        "shape (n_samples, n_features) is needed; give every row the same number of entries.",
        [[1.0, 2.0], [3.0]],
    )


@pytest.mark.parametrize("dtype", [complex, object, "U3"])
def test_wrong_type(dtype):
    remedy = "X.real" if dtype is complex else "X.astype(float)"
    prefix = "Complex data not supported: " if dtype is complex else ""
    refused(
        f"{prefix}X has entries of type {np.dtype(dtype)}, but real numbers are needed; convert "
        f"it with {remedy}.",
        X.astype(dtype),
    )


@pytest.mark.parametrize("rank", [0, -1, 7, 2.0, 2.5, "3", True, np.nan])
def test_rank(rank):
    refused(
        f"rank must be an integer from 1 to 6 for X of shape (9, 6), not {rank!r}.",
        X,
        rank=rank,
    )


@pytest.mark.parametrize("method", ["svd", None, 3, ["power"]])
def test_unknown_method(method):
    refused(
        "method must be one of 'power', 'randomized', 'krylov', 'projection', 'sampling', "
        "'nystrom', 'frequent_directions', 'exact', 'response', "
        f"not {method!r}; for factors of your own use sketch_from_factors.",
        X,
        method=method,
    )


@pytest.mark.parametrize("tol", [0, -0.1, 1, 2.0, np.nan, "small"])
def test_tolerance(tol):
    refused(
        f"tol must be a number above 0 and below 1, the share of ||X|| that the "
        f"radius may reach, not {tol!r}.",
        X,
        tol=tol,
    )


@pytest.mark.parametrize("radius", [0.5, "frobenius"])
def test_tolerance_on_another_radius(radius):
    refused(
        f"tol=0.1 cannot be combined with radius={radius!r}, because a tolerance is kept on the "
        "spectral radius only; pass radius='spectral' or leave tol out.",
        X,
        tol=0.1,
        radius=radius,
    )


@pytest.mark.parametrize("radius", [-1, -1e-9, np.nan, np.inf, "tight", True, [1.0]])
def test_radius(radius):
    refused(
        f"radius must be 'spectral', 'frobenius', 'realised' or a finite number "
        f">= 0, not {radius!r}.",
        X,
        radius=radius,
    )


def test_response_is_not_ignored_silently():
    refused(
        "y was given, but method='power' does not use the response; leave y out, or use "
        "method='response'.",
        X,
        np.ones(9),
        method="power",
    )


@pytest.mark.parametrize("state", [-1, 1.5, "seed"])
def test_random_state(state):
    refused(
        "random_state must be an integer >= 0, or a Generator or RandomState of NumPy, not "
        f"{state!r}.",
        X,
        random_state=state,
    )


@pytest.mark.parametrize("name", ["center", "scale"])
def test_switches(name):
    refused(
        f"{name} must be True or False, not 'yes'.",
        X,
        **{name: "yes"},
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"method": "power", "axis": "rows"},
            "axis='rows' was given, but method='power' accepts only 'n_iter' or 'oversampling'; "
            "leave axis out.",
        ),
        (
            {"method": "exact", "n_iter": 3},
            "n_iter=3 was given, but method='exact' accepts no option; leave n_iter out.",
        ),
        (
            {"method": "power", "n_iter": 0},
            "n_iter must be an integer >= 1, not 0.",
        ),
        (
            {"method": "krylov", "oversampling": -1},
            "oversampling must be an integer >= 0, not -1.",
        ),
        (
            {"method": "sampling", "axis": "both"},
            "axis must be 'rows' or 'columns', not 'both'.",
        ),
        (
            {"method": "sampling", "weights": 1},
            "weights must be 'length' or 'leverage', not 1.",
        ),
        (
            {"method": "nystrom", "distribution": "normal"},
            "distribution must be 'gaussian' or 'sparse', not 'normal'.",
        ),
    ],
)
def test_options(options, sentence):
    refused(sentence, X, **options)


def test_tolerance_out_of_reach():
    with pytest.raises(InvalidInputError) as caught:
        sketch(X, rank=2, tol=1e-3, random_state=0)
    assert re.fullmatch(
        r"tol=0.001 was given, but a sketch of rank 2 has a radius of 0\.\d+ times \|\|X\|\|; "
        "raise rank, which limits the search, or tol.",
        str(caught.value),
    )
