"""The bounds of stability selection against stabs."""

import csv

import numpy as np
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


def test_tables_of_cutoffs(tables):
    for row in tables("stabs_cutoff.csv"):
        if row["assumption"] == "r-concave":
            continue
        found = error_control(
            int(row["p"]),
            cutoff=float(row["cutoff"]),
            pfer=float(row["PFER_asked"]),
            assumption=row["assumption"],
        )
        assert (found.q, close(found.pfer, float(row["PFER"]))) == (int(row["q"]), True), row


def test_tables_of_q(tables):
    for row in tables("stabs_q.csv"):
        p, q = int(row["p"]), int(row["q"])
        published, assumption = float(row["PFER"]), row["assumption"]
        if assumption == "r-concave":
            continue
        if published > float(row["PFER_asked"]):
            # stabs returns a cutoff that misses the error rate; here that is refused.
            assert close(pfer_bound(p, q, 1.0, 50, assumption), published)
            with pytest.raises(InvalidInputError, match="is not possible"):
                error_control(p, q=q, pfer=1.0, assumption=assumption)
            continue
        found = error_control(p, q=q, pfer=1.0, assumption=assumption)
        assert found.cutoff == pytest.approx(float(row["cutoff"]), abs=1e-12), row
        assert found.pfer == pytest.approx(published, rel=6e-3), row


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
        ({"cutoff": 0.5, "assumption": "none"}, r"a share above 0\.5 to 1 is accepted"),
        ({"cutoff": 1.1}, r"cutoff=1\.1 was given"),
        ({"q": 58, "cutoff": 0.9}, r"an integer from 1 to 57 is accepted for 100 features"),
        ({"q": 101, "cutoff": 0.9, "assumption": "none"}, "an integer from 1 to 100 is accepted"),
        ({"q": 2.5}, r"q=2\.5 was given, but an integer"),
        ({"q": 50, "pfer": 0.5}, r"q=50 with pfer=0\.5 is not possible for 100 features"),
        ({"pfer": 0.0}, "must be a number > 0 of falsely selected features, not 0.0"),
        ({"pfer": np.complex128(1.0)}, "must be a number > 0 of falsely selected features"),
        ({"pfer": 1e-9}, "leaves no feature per half-sample"),
        ({"n_pairs": 1}, "n_pairs must be an integer >= 2, not 1"),
        ({"assumption": "bimodal"}, "must be one of 'none', 'unimodal', not 'bimodal'"),
    ],
)
def test_sentences(options, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        error_control(100, **options)
