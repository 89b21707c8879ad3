"""The Gram matrix of the active rows, kept up to date between Newton steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

GRAM_UPDATES = 30


@njit(cache=True, nogil=True, error_model="numpy")
def gather_rows(A: Any, chosen: Any, rows: Any) -> Any:
    """Copy the chosen rows of A to the front of `rows`; returns how many."""
    count = 0
    for j in range(A.shape[0]):
        if chosen[j]:
            rows[count] = A[j]
            count += 1
    return count


@njit(cache=True, nogil=True, error_model="numpy")
def update_gram(A: Any, y: Any, member: Any, gram: Any, rows: Any, updates: Any) -> Any:
    """Bring gram = sum of a_j a_j' over the rows with y_j != 0 up to date.

    Only rows that entered or left are touched while they are few; after GRAM_UPDATES
    such updates the sum is rebuilt, so that rounding cannot drift. Returns the count.
    """
    n = A.shape[0]
    entered = np.zeros(n, dtype=np.bool_)
    left = np.zeros(n, dtype=np.bool_)
    changed = 0
    active = 0
    for j in range(n):
        now = y[j] != 0.0
        active += now
        entered[j] = now and not member[j]
        left[j] = member[j] and not now
        changed += entered[j] or left[j]
        member[j] = now
    if changed == 0 and updates <= GRAM_UPDATES:
        return updates
    if updates >= GRAM_UPDATES or 2 * changed >= active:
        count = gather_rows(A, member, rows)
        gram[:] = 0.0
        if count > 0:
            np.dot(rows[:count].T, rows[:count], gram)
        return 0
    for sign, chosen in ((1.0, entered), (-1.0, left)):
        count = gather_rows(A, chosen, rows)
        if count > 0:
            gram += sign * np.dot(rows[:count].T, rows[:count])
    return updates + 1
