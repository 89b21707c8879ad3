"""What is proved in whole numbers agrees with sums of fractions."""

from fractions import Fraction

import numpy as np
import pytest

from sketchlasso.linalg.dependence import depend_exactly

RNG = np.random.default_rng(0)
A, B = RNG.standard_normal((2, 50))
COUNTS = RNG.integers(-5, 6, (2, 50)).astype(float)


def holds(columns, weights, up_to_constant):
    rows = [[Fraction(float(v)) for v in row] for row in columns]
    used = [Fraction(float(w)).limit_denominator(1000) for w in weights]
    rest = [row[-1] - sum(w * v for w, v in zip(used, row, strict=False)) for row in rows]
    return len(set(rest)) == 1 and (up_to_constant or rest[0] == 0)


@pytest.mark.parametrize("up_to_constant", [False, True])
@pytest.mark.parametrize(
    ("basis", "other", "weights", "dependent"),
    [
        ([A], A, [1.0], True),
        ([A], 4 * A, [4.0 + 1e-13], True),
        ([A], np.nextafter(A, np.inf), [1.0], False),
        ([A, B], A + B, [1.0, 1.0], False),
        ([A, B, COUNTS[0]], COUNTS[0] / 4, [0.0, 0.0, 0.25], True),
        (COUNTS, COUNTS[0] - 3 * COUNTS[1], [1.0, -3.0], True),
        (COUNTS, COUNTS[0] * 2 / 3 * 3 + COUNTS[1], [2.0, 1.0], None),
        ([A * 1e300], A * 1e300, [1.0], True),
        ([A * 2.0**-1000], A * 2.0**-1000, [1.0], True),
        ([COUNTS[0] * 2.0**200 + 0.0], COUNTS[0] * 2.0**200, [1.0], True),
        # What differs is zero modulo 2^64 times the last digit of the smallest entry.
        ([np.where(A < 0, 0, 2.0**-11)], np.where(A < 0, 2.0**53, 2.0**-11), [1.0], False),
        ([A], A, [np.pi], False),
        ([A], A, [np.nan], False),
        ([A], A, [1e9], False),
    ],
)
def test_only_exact_relations_are_proved(basis, other, weights, dependent, up_to_constant):
    columns = np.column_stack([*basis, other])
    q = columns.shape[1]
    found = depend_exactly(
        columns, np.arange(q - 1), np.array([q - 1]), np.array(weights)[:, None], up_to_constant
    )
    if np.isfinite(weights).all():
        true = holds(columns, weights, up_to_constant)
        assert found <= true
        dependent = true if dependent is None or up_to_constant else dependent
    assert found == bool(dependent)


def test_a_column_is_constant_only_if_all_its_entries_are_the_same():
    nothing, empty = np.empty(0, dtype=int), np.empty((0, 1))
    column = np.full((30, 1), 0.1)
    assert depend_exactly(column, nothing, np.array([0]), empty, True)
    assert not depend_exactly(column, nothing, np.array([0]), empty, False)
    column[7] = np.nextafter(0.1, 1)
    assert not depend_exactly(column, nothing, np.array([0]), empty, True)
