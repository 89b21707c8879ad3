"""A digest of a data matrix, whatever way it is stored or cut into blocks of rows.

    sum over i, j of  mix(x_ij) a_i b_j   modulo 2^64

with odd pseudo-random a_i and b_j, and mix(x) the bits of x as a double, folded so that small whole
numbers differ in low bits too. Zeros add nothing, and blocks of rows add up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchlasso.data.storage import DenseStorage, storage_of

Words = NDArray[np.uint64]


def digest_of_rows(entries: Any, first: int) -> int:
    """Return the sum of the rows (r, n) of a block that begins at row `first` of X."""
    rows = _odd_numbers(np.arange(first, first + entries.shape[0], dtype=np.uint64))
    columns = _odd_numbers(np.arange(entries.shape[1], dtype=np.uint64) + np.uint64(2**63))
    storage, total = storage_of(entries), np.zeros(1, dtype=np.uint64)
    if isinstance(storage, DenseStorage):
        for chosen, block in storage.blocks():
            total += rows[chosen] @ np.einsum("ij,j->i", _mixed(block), columns)
    else:
        for i, j, values in storage.entries():
            total += np.sum(_mixed(values) * rows[i] * columns[j])
    return int(total[0])


def digest_words(total: int, shape: tuple[int, int]) -> str:
    """Return a digest in words: its sum and the shape of X."""
    return f"{shape[0]}x{shape[1]}-{total % 2**64:016x}"


def _mixed(values: NDArray[Any]) -> Words:
    """Return the folded bits of numbers; those of -0 are those of 0."""
    bits = np.add(values, 0.0, dtype=np.float64).view(np.uint64)
    bits ^= bits >> np.uint64(32)
    return bits


def _odd_numbers(places: Words) -> Words:
    """Return odd pseudo-random numbers, those of SplitMix64 (Steele, Lea, Flood, 2014)."""
    z = (places + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))) | np.uint64(1)
