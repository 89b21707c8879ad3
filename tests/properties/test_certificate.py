"""For any numbers, the certificate is refused with a sentence or it holds."""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.oracles import full_problem_reference

from sketchlasso import certify, solve
from sketchlasso.errors import InvalidInputError
from sketchlasso.problem import Batch

# Rounding of products of doubles, as a share of the sums of their sizes, and of the smallest ones.
ROUNDING = Fraction(1e-11)
SMALLEST = Fraction(5e-324)

TAME = st.floats(-3, 3, allow_subnormal=False) | st.sampled_from([0.0, 1.0, -1.0, 0.5])
EXTREME = st.sampled_from(
    [5e-324, -1e-310, 2.3e-308, 1e-160, -1e-80, 1e-12, 1e9, -1e80, 1e160, 1e300, -1.7e308]
)
WILD = TAME | EXTREME | st.sampled_from([math.nan, math.inf, -math.inf])


@dataclass(frozen=True)
class Case:
    X: tuple
    y: tuple
    coef: tuple
    alpha: float
    factor: tuple
    weights: tuple | None
    fit_intercept: bool
    positive: bool
    stored: bool

    @property
    def options(self):
        return {
            "penalty_factor": np.array(self.factor),
            "sample_weight": None if self.weights is None else np.array(self.weights),
            "fit_intercept": self.fit_intercept,
            "positive": self.positive,
        }

    def proved(self):
        X = np.array(self.X)
        X = sparse.csr_array(X) if self.stored else X
        return certify(X, np.array(self.y), np.array(self.coef), self.alpha, **self.options)


@st.composite
def cases(draw):
    m, n = draw(st.integers(1, 6)), draw(st.integers(1, 4))

    def numbers(size, allow=(TAME, TAME, TAME | EXTREME, WILD)):
        values = draw(st.sampled_from(allow))
        return tuple(draw(st.lists(values, min_size=size, max_size=size)))

    def sizes(size):
        return tuple(abs(value) for value in numbers(size))

    return Case(
        X=tuple(numbers(n) for _ in range(m)),
        y=numbers(m),
        coef=numbers(n),
        alpha=sizes(1)[0],
        factor=draw(st.just((1.0,) * n) | st.just((0.0,) * n) | st.builds(sizes, st.just(n))),
        weights=draw(st.none() | st.builds(sizes, st.just(m))),
        fit_intercept=draw(st.booleans()),
        positive=draw(st.booleans()),
        stored=draw(st.booleans()),
    )


class Exact:
    """The full problem in fractions: nothing overflows, nothing is rounded but roots."""

    def __init__(self, case):
        self.case = case
        self.weights = [Fraction(v) for v in case.weights or (1.0,) * len(case.y)]
        self.X = [self._centred(column) for column in zip(*case.X, strict=True)]
        self.y = self._centred(case.y)
        self.limits = [
            None if math.isinf(f) else Fraction(case.alpha) * Fraction(f) for f in case.factor
        ]
        self.sizes = [self._length([Fraction(v) for v in c]) for c in zip(*case.X, strict=True)]

    def _centred(self, values):
        values = [Fraction(value) for value in values]
        if not self.case.fit_intercept:
            return values
        mean = sum(w * v for w, v in zip(self.weights, values, strict=True)) / sum(self.weights)
        return [value - mean for value in values]

    def _length(self, values):
        return root(sum(w * v * v for w, v in zip(self.weights, values, strict=True)))

    def objective(self, w):
        """Value at w, and how far doubles may be from it."""
        rest = [
            y - sum(x[i] * v for x, v in zip(self.X, w, strict=True)) for i, y in enumerate(self.y)
        ]
        l1 = sum((t or 0) * abs(v) for t, v in zip(self.limits, w, strict=True))
        value = self._length(rest) + l1
        parts = sum(x * abs(v) for x, v in zip(self.sizes, w, strict=True))
        whole = self._length([Fraction(v) for v in self.case.y])
        steps = SMALLEST * 10 * (1 + sum(map(abs, w))) * (1 + max(self.weights))
        return value, ROUNDING * (whole + parts + value) + steps

    def optimum(self):
        """Coefficients of an independent solver, on columns and a response of length one."""
        columns, scale = [self._length(x) for x in self.X], self._length(self.y)
        n = len(columns)
        if scale == 0:
            return [Fraction(0)] * n
        roots = [root(w) for w in self.weights]
        unit = [r * v / scale for r, v in zip(roots, self.y, strict=True)]
        Z = np.zeros((len(unit), n))
        factor = np.full(n, np.inf)
        for j, (x, length, limit) in enumerate(zip(self.X, columns, self.limits, strict=True)):
            if length > 0 and limit is not None and limit <= 2 * length:
                Z[:, j] = [float(r * v / length) for r, v in zip(roots, x, strict=True)]
                factor[j] = float(limit / length)
        if np.isinf(factor).all():
            return [Fraction(0)] * n
        y = np.array([float(v) for v in unit])
        w, _ = full_problem_reference(Z, y, 1.0, 0.0, factor, self.case.positive)
        w = np.maximum(w, 0.0) if self.case.positive else w
        return [
            Fraction(float(v)) * scale / length if length > 0 and np.isfinite(f) else Fraction(0)
            for v, length, f in zip(w, columns, factor, strict=True)
        ]


def root(value):
    """Square root of a fraction to 60 digits."""
    value = Fraction(value)
    if value == 0:
        return Fraction(0)
    shift = max(0, 200 - value.numerator.bit_length() + value.denominator.bit_length())
    shift += shift % 2
    return Fraction(math.isqrt((value.numerator << shift) // value.denominator), 1 << shift // 2)


@given(cases())
# The square of the column is no double.
@example(
    Case(((0.0,), (0.0,), (1e160,)), (0.0, 0.0, 1.0), (0.0,), 1.0, (1.0,), None, *3 * (False,))
)
# Nor is the sum of these weights, without which no point is centred.
@example(
    Case(
        X=((1.0,), (2.0,), (4.0,)),
        y=(1e-150, 3e-150, 0.0),
        coef=(1e-150,),
        alpha=1e150,
        factor=(1.0,),
        weights=(1e308, 1e308, 1.7e308),
        fit_intercept=True,
        positive=False,
        stored=False,
    )
)
# What the column sees of the shortest point with its sign underflows.
@example(
    Case(((3.0,),), (1e9,), (1.0,), 5e-324, (1.0,), (1e-40,), *3 * (False,)),
)
# A column without a penalty overflows once its rows are weighted.
@example(
    Case(
        X=((0.0, -1.7e308), (0.0, 0.0)),
        y=(0.0, 0.0),
        coef=(0.0, 0.0),
        alpha=0.0,
        factor=(1.0, 1.0),
        weights=(1e9, 1.0),
        fit_intercept=False,
        positive=False,
        stored=False,
    )
)
# The penalty times its factor underflows to zero.
@example(Case(((1.0,),), (1.0,), (0.0,), 5e-324, (0.5,), None, *3 * (False,)))
# And here it overflows.
@example(Case(((0.0,),), (0.0,), (0.0,), 1.7e308, (3.0,), None, *3 * (False,)))
# The square of the column underflows, and its rounding exceeds the penalty.
@example(Case(((1.6e-226,),), (1.0,), (0.0,), 5e-324, (1.0,), None, *3 * (False,)))
@settings(max_examples=300)
def test_a_certificate_holds_against_an_independent_optimum_or_is_refused(case):
    try:
        found = case.proved()
    except InvalidInputError as refused:
        assert len(str(refused)) > 20
        return
    gap = found.gap[0]
    assert np.isfinite([gap, found.relative_gap[0], found.primal[0], found.dual[0]]).all()
    assert found.relative_gap[0] >= 0
    exact = Exact(case)
    given_value, unsure = exact.objective([Fraction(v) for v in case.coef])
    assert abs(Fraction(found.primal[0]) - given_value) <= unsure
    for other in (exact.optimum(), [Fraction(0)] * len(case.coef)):
        value, more = exact.objective(other)
        assert given_value - value <= Fraction(gap) + unsure + more


@dataclass(frozen=True)
class Close:
    """Two unpenalised columns that differ by little, and a penalised one."""

    seed: int
    m: int
    difference: float
    noise: float
    penalty: float
    coef: tuple
    fit_intercept: bool

    def data(self):
        rng = np.random.default_rng(self.seed)
        a, e, z, rest = rng.standard_normal((4, self.m))
        X = np.column_stack([a, a + self.difference * e, z])
        return X, a + (X[:, 1] - X[:, 0]) / self.difference + self.noise * rest


def least_squares(columns, y):
    """Length of the residual of a fit by columns of fractions, by orthogonalisation."""
    kept = []
    for column in [*columns, y]:
        for other in kept:
            share = dot(column, other) / dot(other, other)
            column = [c - share * o for c, o in zip(column, other, strict=True)]
        kept.append(column)
    return root(dot(kept[-1], kept[-1]))


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


CLOSE = st.builds(
    Close,
    seed=st.integers(0, 2**31),
    m=st.integers(5, 12),
    difference=st.sampled_from([1e-13, 1e-12, 1e-10, 1e-8, 1e-6, 1e-3]),
    noise=st.sampled_from([0.0, 1e-9, 1e-6, 1e-3, 1.0]),
    penalty=st.sampled_from([0.0, 1.0]),
    coef=st.sampled_from([(1.0, 0.0, 0.0), (0.0, 0.0, 0.0), (1 - 1e12, 1e12, 0.0)]),
    fit_intercept=st.booleans(),
)


@given(CLOSE)
@example(Close(0, 20, 1e-12, 0.0, 1.0, (1.0, 0.0, 0.0), True))
@example(Close(0, 20, 1e-12, 0.0, 0.0, (1.0, 0.0, 0.0), True))
@example(Close(0, 20, 1e-12, 0.0, 1.0, (1 - 1e12, 1e12, 0.0), False))
@settings(max_examples=100)
def test_no_bound_ignores_how_unpenalised_columns_differ(case):
    X, y = case.data()
    options = {"penalty_factor": [0.0, 0.0, 1.0], "fit_intercept": case.fit_intercept}
    found = certify(X, y, case.coef, case.penalty, **options)
    columns = [[Fraction(v) for v in column] for column in X.T[:2]]
    if case.fit_intercept:
        columns.insert(0, [Fraction(1)] * case.m)
    fitted = float(least_squares(columns, [Fraction(v) for v in y]))
    assert found.dual[0] <= fitted + 1e-12 * np.linalg.norm(y)
    if case.difference >= 1e-6 and case.noise == 1.0:
        best = np.append(np.linalg.lstsq(X[:, :2] - X[:, :2].mean(0), y - y.mean())[0], 0.0)
        assert certify(X, y, best, 1e3, **options | {"fit_intercept": True}).relative_gap[0] <= 1e-6


@dataclass(frozen=True)
class Little:
    """Two columns that differ by little, a third, and penalties near the rounding of columns."""

    seed: int
    difference: float
    exponents: tuple
    noise: float
    fit_intercept: bool
    positive: bool = False

    def data(self):
        rng = np.random.default_rng(self.seed)
        a, e, z, rest = rng.standard_normal((4, 8))
        X = np.column_stack([a, a + self.difference * e, z])
        y = a + z + e + self.noise * rest
        return X, y, [0.0 if e is None else 10.0**e for e in self.exponents]

    def case(self):
        X, y, factor = self.data()
        return Case(
            X=tuple(map(tuple, X)),
            y=tuple(y),
            coef=(0.0,) * 3,
            alpha=0.5,
            factor=tuple(factor),
            weights=None,
            fit_intercept=self.fit_intercept,
            positive=self.positive,
            stored=False,
        )


def best_fit(exact):
    """Least objective, in fractions, of the least-squares fits of some columns."""
    values = []
    for chosen in itertools.chain.from_iterable(
        itertools.combinations(range(len(exact.X)), k) for k in range(len(exact.X) + 1)
    ):
        w = [Fraction(0)] * len(exact.X)
        for j, value in zip(chosen, fit_of([exact.X[j] for j in chosen], exact.y), strict=True):
            w[j] = value
        if not (exact.case.positive and min(w) < 0):
            values.append(exact.objective(w)[0])
    return min(values)


def fit_of(columns, y):
    """Least-squares coefficients of columns of fractions, by elimination; zeros if they depend."""
    lines = [[dot(a, b) for b in columns] + [dot(a, y)] for a in columns]
    for k, line in enumerate(lines):
        if line[k] == 0:
            return [Fraction(0)] * len(lines)
        for i, other in enumerate(lines):
            if i != k:
                share = other[k] / line[k]
                lines[i] = [a - share * b for a, b in zip(other, line, strict=True)]
    return [line[-1] / line[k] for k, line in enumerate(lines)]


EXPONENTS = st.none() | st.integers(-19, -9) | st.just(0)


@given(
    st.builds(
        Little,
        seed=st.integers(0, 2**31),
        difference=st.sampled_from([1e-16, 1e-15, 1e-14, 1e-12, 1e-10, 1e-6, 1.0]),
        exponents=st.tuples(EXPONENTS, EXPONENTS, EXPONENTS),
        noise=st.sampled_from([0.0, 1e-9, 1e-3, 1.0]),
        fit_intercept=st.booleans(),
        positive=st.booleans(),
    )
)
@example(Little(447, 1e-15, (-17, -19, -12), 1e-3, True))
@example(Little(485, 1e-15, (None, -18, -15), 1e-9, False))
@example(Little(17, 1e-15, (-19, None, -13), 1e-3, False))
@settings(max_examples=100)
def test_no_bound_is_false_where_penalties_are_near_the_rounding_of_columns(little):
    X, y, factor = little.data()
    exact = Exact(little.case())
    best = float(best_fit(exact))
    options = {"penalty_factor": factor, "fit_intercept": little.fit_intercept}
    shape = X - X.mean(axis=0) if little.fit_intercept else X
    fit = np.linalg.lstsq(shape, y, rcond=None)[0]
    for coef in (np.zeros(3), np.maximum(fit, 0.0) if little.positive else fit):
        found = certify(X, y, coef, 0.5, positive=little.positive, **options)
        assert found.dual[0] <= best + 1e-12 * np.linalg.norm(y)


def in_fractions(columns):
    return [[Fraction(v) for v in column] for column in columns]


def last_digits(column, rng):
    """The column with the last digit of some entries changed."""
    changed = np.nextafter(column, np.where(rng.random(len(column)) < 0.5, -np.inf, np.inf))
    return np.where(rng.random(len(column)) < 0.7, changed, column)


ALIKE = {
    "last digits": lambda a, b, rng: [a, last_digits(a, rng)],
    "rounded sum": lambda a, b, rng: [a, b, a + 0.3 * b],
    "nearly constant": lambda a, b, rng: [a, last_digits(np.full(len(a), 0.7), rng)],
    "last digits far from zero": lambda a, b, rng: [a + 1e9, last_digits(a + 1e9, rng)],
    "twice": lambda a, b, rng: [a, -2 * a],
    "constant": lambda a, b, rng: [a, np.full(len(a), 0.7), np.full(len(a), 0.7)],
    "all levels": lambda a, b, rng: [a, *np.eye(3)[rng.integers(0, 3, len(a))].T, 1 + 0 * a],
}
DEPENDENT = ("twice", "constant", "all levels")


@given(
    seed=st.integers(0, 2**31),
    m=st.integers(8, 14),
    kind=st.sampled_from(sorted(ALIKE)),
    fit_intercept=st.booleans(),
    weighted=st.booleans(),
)
@settings(max_examples=100)
def test_columns_alike_up_to_rounding_are_told_from_dependent_ones(
    seed, m, kind, fit_intercept, weighted
):
    rng = np.random.default_rng(seed)
    a, b, z, y = rng.standard_normal((4, m))
    X = np.column_stack([*ALIKE[kind](a, b, rng), z])
    weights = 4.0 ** rng.integers(-2, 3, m) if weighted else np.ones(m)
    options = {
        "penalty_factor": [0.0] * (X.shape[1] - 1) + [1.0],
        "fit_intercept": fit_intercept,
        "sample_weight": weights,
    }
    # At this penalty z has no part in the optimum, a fit of the other columns.
    free, ones = X[:, :-1], np.ones((m, int(fit_intercept)))
    roots = np.sqrt(weights)  # powers of two, so that products with them are exact
    exact = [c for c in in_fractions((roots[:, None] * np.hstack([ones, free])).T) if any(c)]
    best = float(least_squares(independent(exact), [Fraction(v) for v in roots * y]))
    shape = free - np.average(free, axis=0, weights=weights) if fit_intercept else free
    shift = np.average(y, weights=weights) if fit_intercept else 0.0
    fit = np.linalg.lstsq(roots[:, None] * shape, roots * (y - shift), rcond=1e-13)[0]
    for coef in (np.zeros(X.shape[1]), np.append(fit, 0.0)):
        found = certify(X, y, coef, 1e3, **options)
        assert found.dual[0] <= best * (1 + 1e-12)
    if kind in DEPENDENT:
        assert found.relative_gap[0] <= 1e-11


def independent(columns):
    """Those of some columns of fractions that do not depend on the ones before them."""
    kept = []
    for column in columns:
        rest = column
        for other in kept:
            share = dot(rest, other) / dot(other, other)
            rest = [c - share * o for c, o in zip(rest, other, strict=True)]
        if any(rest):
            kept.append(rest)
    return kept


@given(
    seed=st.integers(0, 2**31),
    difference=st.sampled_from([0.0, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-8, 1e-6, 1e-3]),
    unit=st.sampled_from([1.0, 1e-14, 1e14]),
    s=st.sampled_from([0.0, 1.0]),
)
@example(seed=0, difference=1e-13, unit=1.0, s=1.0)
@settings(max_examples=60)
def test_no_bound_of_a_sketch_ignores_how_its_unpenalised_rows_differ(seed, difference, unit, s):
    rng = np.random.default_rng(seed)
    a, b, z, rest = rng.standard_normal((4, 6))
    P = np.array([a, unit * (a + difference * b), z])
    P[1] += difference * unit * b  # twice, so that the difference is not below the rounding
    c = a + b + 1e-3 * rest
    # Only rows that are known up to rounding may be taken for dependent.
    options = {"alpha": 1e3, "penalty_factor": [0.0, 0.0, 1.0], "rounded": difference == 0}
    batch = Batch.build(P, c, s, **options)
    free = [in_fractions(P)[0]] if difference == 0 else in_fractions(P[:2])
    exact = least_squares(free, [Fraction(v) for v in c])
    best = float(root(exact**2 + Fraction(s) ** 2))
    found = solve(batch)
    assert found.dual[0] <= best * (1 + 1e-12)
    if difference in (0.0, 1e-3):
        assert found.relative_gap[0] <= 1e-6
