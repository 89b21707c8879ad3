"""The largest of many dependent estimates, by multipliers drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np

from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.types import FloatArray

__all__ = ["largest_deviations"]

ENTRIES_AT_A_TIME = 2**24
FEWEST_DRAWS = 100


def largest_deviations(scores: FloatArray, n_draws: int, random_state: Any) -> FloatArray:
    """Draws (n_draws,) of max_j |sum_i s_ij g_i| / ||s_j|| with g_i independent and normal.

    Parameters
    ----------
    scores : ndarray of shape (m, c)
        s_j: the scores, times the residual where errors are robust.
    n_draws : int
    random_state : int, Generator or None
    """
    if isinstance(n_draws, bool) or not isinstance(n_draws, int | np.integer) or n_draws < 100:
        raise InvalidInputError(
            Argument("n_draws", n_draws),
            f" was given, but a whole number >= {FEWEST_DRAWS} is accepted; pass for example 1000.",
        )
    rng = np.random.default_rng(random_state)
    units = scores / np.linalg.norm(scores, axis=0)
    m, c = units.shape
    step = max(1, ENTRIES_AT_A_TIME // c)
    found = np.empty(n_draws)
    for start in range(0, n_draws, step):
        part = slice(start, min(start + step, n_draws))
        draws = rng.standard_normal((part.stop - part.start, m)) @ units
        found[part] = np.abs(draws, out=draws).max(axis=1)
    return found
