"""The bounds of stability selection against stabs."""

import pytest

from sketchlasso.errors import InvalidInputError
from sketchlasso.inference import error_control
from sketchlasso.inference.error_control import pfer_bound

# Rows of stabs::stabsel_parameters, 50 pairs: p, assumption, cutoff, q, bound to three digits.
STABS = [
    (10, "none", 0.75, 2, 0.8),
    (10, "unimodal", 0.9, 4, 0.69),
    (100, "unimodal", 0.75, 9, 0.827),
    (100, "unimodal", 0.9, 15, 0.971),
    (1000, "none", 0.75, 22, 0.968),
    (1000, "unimodal", 0.6, 19, 0.95),
]


# The same for a given q and an error rate of 1: the smallest cutoff.
STABS_CUTOFFS = [
    (100, "none", 5, 0.625, 1.0),
    (1000, "none", 30, 0.95, 1.0),
    (10000, "none", 30, 0.545, 1.0),
    (100, "unimodal", 10, 0.76, 0.98),
    (100, "unimodal", 30, 0.99, 0.706),
    (1000, "unimodal", 5, 0.52, 0.417),
    (1000, "unimodal", 30, 0.74, 0.957),
    (10000, "unimodal", 10, 0.52, 0.167),
]


@pytest.mark.parametrize(("p", "assumption", "cutoff", "q", "bound"), STABS)
def test_q_and_bound_are_those_of_stabs(p, assumption, cutoff, q, bound):
    found = error_control(p, cutoff=cutoff, pfer=1.0, assumption=assumption)
    assert found.q == q
    assert found.pfer == pytest.approx(bound, abs=5.1e-4)


@pytest.mark.parametrize(("p", "assumption", "q", "cutoff", "bound"), STABS_CUTOFFS)
def test_cutoff_and_bound_are_those_of_stabs(p, assumption, q, cutoff, bound):
    found = error_control(p, q=q, pfer=1.0, assumption=assumption)
    assert found.cutoff == pytest.approx(cutoff, abs=1e-12)
    assert found.pfer == pytest.approx(bound, rel=6e-3)


@pytest.mark.parametrize("assumption", ["none", "unimodal"])
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
        ({"q": 58, "cutoff": 0.9}, r"an integer from 1 to 57 is accepted for 100 features"),
        ({"q": 50, "pfer": 0.5}, r"q=50 with pfer=0\.5 is not possible for 100 features"),
        ({"pfer": 0.0}, "must be a number > 0 of falsely selected features, not 0.0"),
        ({"pfer": 1e-9}, "leaves no feature per half-sample"),
    ],
)
def test_sentences(options, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        error_control(100, **options)
