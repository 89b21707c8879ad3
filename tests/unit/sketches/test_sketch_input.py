"""Bad input is one sentence, with what came and what is accepted."""

import re

import numpy as np
import pytest
from scipy import sparse

from sketchlasso.errors import InvalidInputError
from sketchlasso.sketches import sketch

X = np.random.default_rng(0).standard_normal((9, 6))
SPOILED = np.where(np.arange(54).reshape(9, 6) == 26, np.inf, X)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"X": SPOILED}, "X contains NaN or infinity in column 2"),
        ({"X": sparse.csc_array(SPOILED)}, "X contains NaN or infinity in column 2"),
        ({"X": np.ones(54)}, r"X has shape \(54,\), but a matrix"),
        ({"X": sparse.csr_array((0, 6))}, r"X is empty \(shape \(0, 6\)\)"),
        ({"X": [[1.0, 2.0], [3.0]]}, "its rows differ in length"),
        ({"X": X.astype(complex)}, "real numbers are needed; convert it with X.real"),
        ({"rank": 7}, r"rank must be an integer from 1 to 6 for X of shape \(9, 6\), not 7"),
        ({"rank": True}, "rank must be an integer .*, not True"),
        ({"method": ["power"]}, r"method must be one of 'power', .*, not \['power'\]"),
        ({"tol": 1}, r"tol must be a number above 0 and below 1, .*, not 1\."),
        ({"tol": 0.1, "radius": 0.5}, "tol=0.1 cannot be combined with radius=0.5"),
        ({"rank": 2, "tol": 1e-3}, r"a sketch of rank 2 has a radius of 0\.\d+ times \|\|X\|\|"),
        ({"radius": "tight"}, "radius must be 'spectral', .* or a finite number >= 0, not 'tight'"),
        ({"radius": np.nan}, "radius must be .*, not nan"),
        ({"y": np.ones(9), "method": "power"}, "y was given, but method='power' does not use"),
        ({"random_state": -1}, "random_state must be an integer >= 0, or a Generator"),
        ({"center": "yes"}, "center must be True or False, not 'yes'"),
        (
            {"method": "power", "axis": "rows"},
            "accepts only 'n_iter' or 'oversampling'",
        ),
        ({"method": "exact", "n_iter": 3}, "method='exact' accepts no option; leave n_iter out"),
        ({"method": "power", "n_iter": 0}, "n_iter must be an integer >= 1, not 0"),
        ({"method": "krylov", "oversampling": -1}, "oversampling must be an integer >= 0, not -1"),
        ({"method": "sampling", "axis": "both"}, "axis must be 'rows' or 'columns', not 'both'"),
    ],
)
def test_bad_input_is_one_sentence(change, words):
    arguments = {"X": X, "y": None, "random_state": 0, **change}
    with pytest.raises(InvalidInputError, match=words) as caught:
        sketch(arguments.pop("X"), arguments.pop("y"), **arguments)
    said = str(caught.value)
    assert said.endswith(".") and "\n" not in said and not re.search(r"[.!?]\s+[A-Z]", said)
