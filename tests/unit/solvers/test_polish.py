"""Solutions that fit the response exactly do not depend on where the solver stopped."""

import sys

import numpy as np
import pytest

from sketchlasso.problem import Batch, alpha_max
from sketchlasso.problem.dual import certify_batch
from sketchlasso.problem.objective import residual
from sketchlasso.solvers import Settings, Status, solve
from sketchlasso.solvers.polish import polished


def interpolating(radius=0.0, share=0.02, positive=False, seed=0):
    """A batch whose optimum has no residual: rank 10, 60 features, s = 0."""
    rng = np.random.default_rng(seed)
    P = rng.standard_normal((60, 10))
    c = np.abs(rng.standard_normal(4)) @ P[:4]
    options = {"radius": radius, "positive": positive}
    largest = alpha_max(Batch.build(P, c, 0.0, alpha=1.0, **options))
    return Batch.build(P, c, 0.0, alpha=share * largest, **options)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("radius", [0.0, 1e-13])
def test_a_loose_tolerance_fits_as_exactly_as_a_tight_one(radius, positive):
    batch = interpolating(radius, positive=positive)
    tight = solve(batch, settings=Settings(tol=1e-12))
    for tol in (1e-4, 1e-5, 1e-6, 1e-8):
        loose = solve(batch, settings=Settings(tol=tol))
        assert loose.solved.all()
        assert np.linalg.norm(residual(batch, loose.coef)) <= 1e-13 * np.linalg.norm(batch.c)
        np.testing.assert_allclose(loose.coef.toarray(), tight.coef.toarray(), atol=1e-12)


def test_the_certificate_belongs_to_the_polished_coefficients():
    batch = interpolating()
    found = solve(batch, settings=Settings(tol=1e-5))
    proof = certify_batch(batch, found.coef, found.dual_point)
    np.testing.assert_allclose(found.primal, proof.primal, rtol=1e-14)
    assert (found.relative_gap <= 1e-5).all()


def test_a_fit_that_is_not_exact_stays_as_it_is():
    batch = interpolating(share=0.7)
    found = solve(batch, settings=Settings(tol=1e-4))
    assert np.linalg.norm(residual(batch, found.coef)) > 0.01 * np.linalg.norm(batch.c)
    assert polished(batch, found, 1e-4) is found


def test_a_point_with_the_wrong_signs_is_left_alone():
    batch = interpolating()
    found = solve(batch, settings=Settings(tol=1e-8))
    other = found.coef.copy()
    other.data[0] *= -1e-9
    wrong = type(found)(**{**vars(found), "coef": other})
    assert polished(batch, wrong, 1e-8) is wrong


def test_what_the_polish_proves_counts_as_solved():
    batch = interpolating()
    found = solve(batch, settings=Settings(tol=1e-8))
    near = found.coef.copy()
    near.data *= 1.0 + 1e-7
    short = type(found)(
        **{
            **vars(found),
            "coef": near,
            "primal": certify_batch(batch, near, found.dual_point).primal,
            "status": np.array([Status.STALLED]),
        }
    )
    assert not short.relative_gap[0] <= 1e-8
    better = polished(batch, short, 1e-8)
    assert better.solved.all()
    np.testing.assert_allclose(better.coef.toarray(), found.coef.toarray(), atol=1e-12)


def test_a_loose_tolerance_does_not_make_a_poor_fit_nearly_exact(monkeypatch):
    batch = interpolating(share=0.7)
    found = solve(batch, settings=Settings(tol=1e-2))
    loss = np.linalg.norm(residual(batch, found.coef)) / np.linalg.norm(batch.c)
    assert 0.01 < loss < 1.0
    monkeypatch.setattr(sys.modules[polished.__module__], "exact_fit", None)
    assert polished(batch, found, 1e-2) is found
