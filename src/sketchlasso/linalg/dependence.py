"""Proves in whole numbers that columns of doubles depend on each other exactly.

A singular value of the size of rounding has two causes: columns that depend on each other (a
column twice, all levels of a factor beside an intercept), and columns that differ in their last
digits. Only the first kind may be left out of a basis of their span. Every double is a whole number
times a power of two, so a relation with small whole coefficients can be checked without rounding.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from sketchlasso.types import FloatArray, IntArray

# A relation's coefficients are sought among fractions of at most this denominator.
LARGEST_DENOMINATOR = 1000
# And as whole numbers, over their common denominator, up to this one.
LARGEST_COEFFICIENT = 1 << 20
# Bits of a double's whole number, and of the numbers it is checked with.
DIGITS = 53
WORD = 64


def depend_exactly(
    columns: FloatArray,
    basis: IntArray,
    others: IntArray,
    weights: FloatArray,
    up_to_constant: bool,
) -> bool:
    """Whether other columns (c,) of (m, q) are proved to be combinations of those of a basis (r,).

    The weights (r, c) are the combinations up to rounding, columns[:, others] = columns[:, basis]
    @ weights, and perhaps up to one constant per column. False also where a relation is too
    complicated to be found.
    """
    for place, other in enumerate(others):
        coefficients = _whole_numbers(np.append(-weights[:, place], 1.0))
        if coefficients is None:
            return False
        used = np.flatnonzero(coefficients)
        part = columns[:, np.append(basis, other)[used]]
        if not _vanishes(part, coefficients[used], up_to_constant):
            return False
    return True


def _whole_numbers(values: FloatArray) -> IntArray | None:
    """Values (q,) times their common denominator, or None where that takes large numbers."""
    if not (np.abs(values) <= LARGEST_COEFFICIENT).all():
        return None
    fractions = [Fraction(float(v)).limit_denominator(LARGEST_DENOMINATOR) for v in values]
    common = math.lcm(*(fraction.denominator for fraction in fractions))
    whole = [int(fraction * common) for fraction in fractions]
    if max(map(abs, whole)) > LARGEST_COEFFICIENT:
        return None
    return np.array(whole, dtype=np.int64)


def _vanishes(columns: FloatArray, coefficients: IntArray, up_to_constant: bool) -> bool:
    """Whether columns @ coefficients is exactly zero, or constant, on all rows.

    The sums are computed modulo 2^64, in units of the last digit of any entry. They are zero if
    they are so modulo 2^64 and rounded sums show that they are smaller than that.
    """
    mantissas, exponents = np.frexp(columns)
    digits = np.ldexp(mantissas, DIGITS).astype(np.int64).view(np.uint64)
    exponents = exponents.astype(np.int64) - DIGITS
    if not columns.any():
        return True
    unit = int(exponents[columns != 0].min())
    shifts = np.where(columns != 0, exponents - unit, 0)
    # A shift by the whole word is not defined.
    kept = shifts < WORD
    entries = np.where(kept, digits << np.where(kept, shifts, 0).astype(np.uint64), 0)
    sums = (entries * coefficients.view(np.uint64)).sum(axis=1, dtype=np.uint64)
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = columns @ coefficients
        sizes = np.abs(columns) @ np.abs(coefficients)
        if up_to_constant:
            sums, rounded, sizes = sums - sums[0], rounded - rounded[0], sizes + sizes[0]
        unsure = 2.0 * (len(coefficients) + 2) * np.finfo(np.float64).eps * sizes
        small = np.abs(rounded) + unsure < math.ldexp(1.0, min(unit + WORD, 1023))
    return bool((sums == 0).all() and small.all())
