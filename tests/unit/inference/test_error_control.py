"""The bounds of stability selection against stabs, a looser twin, and their own definition."""

import csv
from math import ceil

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

from sketchlasso.errors import InvalidInputError
from sketchlasso.inference import error_control
from sketchlasso.inference.error_control import _tail, pfer_bound

# Rows of stabs::stabsel_parameters, 50 pairs: p, assumption, cutoff, q, bound to three digits.
STABS = [
    (10, "none", 0.75, 2, 0.8),
    (10, "unimodal", 0.9, 4, 0.69),
    (10, "r-concave", 0.6, 2, 0.557),
    (10, "r-concave", 0.9, 4, 0.25),
    (100, "unimodal", 0.75, 9, 0.827),
    (100, "unimodal", 0.9, 15, 0.971),
    (100, "r-concave", 0.75, 17, 0.951),
    (1000, "none", 0.75, 22, 0.968),
    (1000, "unimodal", 0.6, 19, 0.95),
    (1000, "r-concave", 0.6, 31, 0.94),
]


def close(found, published):
    """Whether a number equals one that was published with three digits."""
    return abs(found - published) <= 0.00051 * max(1.0, 10.0 ** np.floor(np.log10(published) + 1))


@pytest.fixture
def tables(real_file):
    """Return a reader of the tables of stabs."""

    def read(name):
        path = real_file(f"../oracles/stability/{name}")
        return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))

    return read


@pytest.mark.parametrize(("p", "assumption", "cutoff", "q", "bound"), STABS)
def test_q_and_bound_are_those_of_stabs(p, assumption, cutoff, q, bound):
    found = error_control(p, cutoff=cutoff, pfer=1.0, assumption=assumption)
    assert found.q == q
    assert close(found.pfer, bound)


def loose_tail(mean, least, size, r):
    """The tail bound as stabs computes it: searched over a, inside the intervals, to eps^(1/4).

    The largest value lies at the end of an interval of about that length, which such a search
    does not reach.
    """
    steps = np.arange(size + 2)
    first = ceil(2 * mean - 1e-9) + 1
    if least < first:
        return 1.0

    def excess(a, k):
        weights = (a + steps[: k + 1]) ** (1 / r)
        return weights @ steps[: k + 1] / weights.sum() - mean

    def tail(a, k):
        weights = (a + steps[: k + 1]) ** (1 / r)
        num = (k + 1 - mean) * ((a + steps[:least]) ** (1 / r)).sum()
        return num / ((k + 1 - steps[: k + 1]) @ weights) - 1

    ends = [brentq(excess, 1e-5, 1e5, args=(k,), xtol=1e-14) for k in range(first, size + 1)]
    option = {"xatol": np.finfo(float).eps ** 0.25}
    return max(
        -minimize_scalar(tail, bounds=(low, high), args=(k,), method="bounded", options=option).fun
        for k, high, low in zip(range(first, size), ends, ends[1:], strict=False)
    )


def loose_bound(p, q, cutoff, pairs):
    step = round(cutoff * 2 * pairs)
    return p * min(
        loose_tail((q / p) ** 2 * pairs, step - pairs, pairs, -0.5),
        loose_tail(q / p * 2 * pairs, step, 2 * pairs, -0.25),
    )


def test_tables_of_cutoffs(tables):
    """r-concave bounds of stabs stop short of their own maximum by up to a percent."""
    for row in tables("stabs_cutoff.csv"):
        p, q, cutoff = int(row["p"]), int(row["q"]), float(row["cutoff"])
        found = error_control(
            p, cutoff=cutoff, pfer=float(row["PFER_asked"]), assumption=row["assumption"]
        )
        published = float(row["PFER"])
        if row["assumption"] != "r-concave":
            assert (found.q, close(found.pfer, published)) == (q, True), row
            continue
        exact, loose = pfer_bound(p, q, cutoff, 50, "r-concave"), loose_bound(p, q, cutoff, 50)
        assert close(loose, published), row
        assert loose * (1 - 1e-6) <= exact <= 1.01 * loose
        assert found.q == (q if exact <= 1.0 else q - 1), row
        assert found.pfer <= 1.0


def test_tables_of_q(tables):
    for row in tables("stabs_q.csv"):
        p, q = int(row["p"]), int(row["q"])
        published, assumption = float(row["PFER"]), row["assumption"]
        if published > float(row["PFER_asked"]):
            # stabs returns a cutoff that misses the error rate; here that is refused.
            assert close(pfer_bound(p, q, 1.0, 50, assumption), published)
            with pytest.raises(InvalidInputError, match="is not possible"):
                error_control(p, q=q, pfer=1.0, assumption=assumption)
            continue
        found = error_control(p, q=q, pfer=1.0, assumption=assumption)
        assert found.cutoff == pytest.approx(float(row["cutoff"]), abs=1e-12), row
        assert found.pfer == pytest.approx(published, rel=6e-3), row


def test_the_tail_bounds_every_r_concave_distribution():
    """Weights (a + i)^(1/r) on 0..k are r-concave: none of them may exceed the bound."""
    size, mean, r = 30, 2.0, -0.5
    steps = np.arange(size + 1)
    tightest = np.inf
    for k in range(6, size + 1):
        here = steps <= k
        a = brentq(
            lambda a, here=here: (
                ((a + steps) ** (1 / r) * here) @ steps / ((a + steps) ** (1 / r) * here).sum()
                - mean
            ),
            1e-6,
            1e6,
        )
        weights = (a + steps) ** (1 / r) * here
        weights /= weights.sum()
        for least in range(6, size + 1):
            bound = _tail(mean, least, size, r)
            assert weights[least:].sum() <= bound * (1 + 1e-9)
            tightest = min(tightest, bound - weights[least:].sum())
    assert tightest <= 1e-9


@pytest.mark.parametrize("assumption", ["none", "unimodal", "r-concave"])
def test_two_decide_the_third_and_agree(assumption):
    by_cutoff = error_control(300, cutoff=0.8, pfer=2.0, assumption=assumption)
    assert by_cutoff.pfer <= 2.0
    assert pfer_bound(300, by_cutoff.q + 1, 0.8, 50, assumption) > 2.0
    by_both = error_control(300, cutoff=0.8, q=by_cutoff.q, assumption=assumption)
    assert by_both == by_cutoff
    by_q = error_control(300, q=by_cutoff.q, pfer=by_cutoff.pfer, assumption=assumption)
    assert by_q.cutoff <= 0.8 + 1e-12
    assert by_q.pfer <= by_cutoff.pfer * (1 + 1e-12)


def test_defaults_fill_what_is_missing():
    assert error_control(100) == error_control(100, cutoff=0.75, pfer=1.0)
    assert error_control(100, q=5) == error_control(100, q=5, pfer=1.0)
    assert error_control(100, cutoff=0.9) == error_control(100, cutoff=0.9, pfer=1.0)
    assert error_control(100, pfer=2.0) == error_control(100, cutoff=0.75, pfer=2.0)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"cutoff": 0.7, "q": 5, "pfer": 1.0}, "any two of them decide the third; leave one out"),
        ({"cutoff": 0.5}, r"a share from 0\.52 to 1 is accepted"),
        ({"cutoff": 0.5, "assumption": "none"}, r"a share above 0\.5 to 1 is accepted"),
        ({"cutoff": 1.1}, r"cutoff=1\.1 was given"),
        ({"q": 58, "cutoff": 0.9}, r"an integer from 1 to 57 is accepted for 100 features"),
        ({"q": 50, "cutoff": 0.9, "assumption": "r-concave"}, "below half of the features"),
        ({"q": 101, "cutoff": 0.9, "assumption": "none"}, "an integer from 1 to 100 is accepted"),
        ({"q": 2.5}, r"q=2\.5 was given, but an integer"),
        ({"q": 50, "pfer": 0.5}, r"q=50 with pfer=0\.5 is not possible for 100 features"),
        ({"pfer": 0.0}, "must be a number > 0 of falsely selected features, not 0.0"),
        ({"pfer": np.complex128(1.0)}, "must be a number > 0 of falsely selected features"),
        ({"pfer": 1e-9}, "leaves no feature per half-sample"),
        ({"n_pairs": 1}, "n_pairs must be an integer >= 2, not 1"),
        (
            {"assumption": "bimodal"},
            "must be one of 'none', 'unimodal', 'r-concave', not 'bimodal'",
        ),
    ],
)
def test_sentences(options, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        error_control(100, **options)
