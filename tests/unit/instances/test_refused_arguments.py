"""Mistaken rows, folds and penalties are refused in one sentence that names them."""

import numpy as np
import pytest

from sketchlasso import certify, leave_one_out, sketch, splitter_rows, sqrt_lasso_path
from sketchlasso.errors import InvalidInputError

X = np.random.default_rng(0).normal(size=(20, 6))
Y = X[:, 0]
FOUND = sketch(X, rank=4, center=True)


@pytest.mark.parametrize("rows", ["a", 3, [1.5, 2.0], [np.nan], [[1, 2]], ["a"]])
def test_only_numbers_of_rows_are_left_out(rows):
    with pytest.raises(InvalidInputError, match="rows must hold numbers of rows"):
        leave_one_out(FOUND, X, Y, alpha=1.0, rows=rows)


def test_whole_numbers_of_rows_may_be_floating():
    assert leave_one_out(FOUND, X, Y, alpha=1.0, rows=[1.0, 3.0]).rows.tolist() == [1, 3]


@pytest.mark.parametrize("cv", ["a", -1, True, np.nan, 1j, object()])
def test_what_is_no_splitter_is_refused(cv):
    with pytest.raises(InvalidInputError, match="cv must be a splitter"):
        splitter_rows(cv, X)


@pytest.mark.parametrize("factor", ["a", {}, 1j, ["a"], [[1, 2], [3]]])
def test_penalty_factors_of_a_path_are_numbers(factor):
    with pytest.raises(InvalidInputError, match="penalty_factor must be numbers >= 0"):
        sqrt_lasso_path(X, Y, FOUND, alphas=[1.0], penalty_factor=factor)


def test_ragged_penalties_are_refused():
    with pytest.raises(InvalidInputError, match="alpha must be numbers >= 0"):
        certify(X, Y, np.zeros(6), [[1, 2], [3]])
