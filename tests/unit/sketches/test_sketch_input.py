"""Bad input is one sentence, with what came and what is accepted."""

import numpy as np
import pytest
from scipy import sparse

from sketchlasso.errors import InvalidInputError
from sketchlasso.sketches import extend_sketch, sketch

X = np.random.default_rng(0).standard_normal((9, 6))
SPOILED = np.where(np.arange(54).reshape(9, 6) == 26, np.inf, X)
RESPONSE = {"y": X[:, 0], "method": "response", "rank": 5}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"X": sparse.csc_array(SPOILED)}, "X contains NaN or infinity in column 2"),
        ({"rank": 7}, r"rank must be an integer from 1 to 6 for X of shape \(9, 6\), not 7"),
        ({"method": ["power"]}, r"method must be one of 'power', .*, not \['power'\]"),
        ({"tol": 0.1, "radius": 0.5}, "tol=0.1 cannot be combined with radius=0.5"),
        ({"rank": 2, "tol": 1e-3}, r"a sketch of rank 2 has a radius of 0\.\d+ times \|\|X\|\|"),
        ({"radius": "tight"}, "radius must be 'spectral', .* or a finite number >= 0, not 'tight'"),
        ({"y": np.ones(9), "method": "power"}, "y was given with method='power'"),
        ({"method": "response"}, "y was left out with method='response'"),
        ({"method": "exact", "n_iter": 3}, "method='exact' does not use it; leave n_iter out"),
        ({"method": "krylov", "oversampling": -1}, "oversampling must be an integer >= 0, not -1"),
        (RESPONSE | {"y": np.full(9, 2.5)}, "y is constant, but directions start from its"),
        (RESPONSE | {"y": X, "response_rank": 3}, "y holds 6 responses, but only 3 directions"),
        (RESPONSE | {"response_rank": 6}, "response_rank must be at most the rank, 5, not 6"),
    ],
)
def test_bad_input_is_one_sentence(change, words):
    arguments = {"X": X, "y": None, "random_state": 0, **change}
    with pytest.raises(InvalidInputError, match=words):
        sketch(arguments.pop("X"), arguments.pop("y"), **arguments)


def test_extensions_fit_the_sketch():
    base = sketch(X, rank=3, random_state=0)
    with pytest.raises(InvalidInputError, match=r"X has shape \(7, 6\), but the sketch given is"):
        extend_sketch(base, X[:7], X[:7, 0])
    with pytest.raises(InvalidInputError, match="directions must be an integer >= 1, not 0"):
        extend_sketch(base, X, X[:, 0], directions=0)
