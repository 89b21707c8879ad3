"""The door: data that cannot be used are refused in one sentence, by every way in."""

import numpy as np
import pytest
from scipy import sparse
from tests.sentences import refusal

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 6))
Y = X[:, 0] + RNG.standard_normal(30)


def with_entry(value):
    bad = X.copy()
    bad[[3, 4], [1, 4]] = value
    return bad


def frame(values):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(values, columns=list("abcdef"))


def texts():
    table = frame(X)
    table["c"] = "blue"
    return table


WAYS_IN = [
    lambda X: sl.SqrtLassoCV().fit(X, Y),
    lambda X: sl.sqrt_lasso_path(X, Y),
    lambda X: sl.sketch(X, rank=2),
]


@pytest.mark.parametrize("enter", WAYS_IN, ids=["fit", "path", "sketch"])
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: with_entry(np.nan), "X contains NaN or infinity in columns 1, 4, but"),
        (lambda: sparse.csc_array(with_entry(-np.inf)), "X contains NaN or infinity in columns 1,"),
        (lambda: frame(with_entry(np.nan)), "in columns 'b', 'e', but every entry must be finite"),
        (texts, "X has columns that are not numbers ('c'), but real numbers are needed"),
        (lambda: X + 0j, "Complex data not supported: X has entries of type complex128"),
        (lambda: np.ma.masked_greater(X, 1.0), "X has masked entries"),
    ],
    ids=["nan", "sparse", "frame", "text", "complex", "masked"],
)
def test_unusable_data_are_refused_by_every_way_in(enter, make, said):
    text = refusal(InvalidInputError, enter, make())
    assert said in text
    assert "\n" not in text and text.endswith(".")


@pytest.mark.parametrize("size", [1e160, 1e-160])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, "sketch"])
def test_numbers_whose_squares_are_lost_are_refused(size, kind):
    made = None if kind == "sketch" else kind(size * X)
    if made is None:
        found, made = sl.sketch(size * X, rank=3, random_state=0), size * X
        text = refusal(InvalidInputError, sl.sqrt_lasso_path, made, Y, found, alphas=[size])
    else:
        text = refusal(InvalidInputError, sl.sqrt_lasso_path, made, Y)
    assert "numbers between 1e-100 and 1e+100 are needed" in text


def test_estimators_bring_data_of_any_size_to_unit_scale():
    plain = sl.SqrtLassoCV(random_state=0).fit(X, Y)
    huge = sl.SqrtLassoCV(random_state=0).fit(X * 2.0**500, Y)
    np.testing.assert_allclose(huge.coef_ * 2.0**500, plain.coef_, rtol=1e-9)
