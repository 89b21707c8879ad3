"""The formulas on tensors against those of sketchlasso.problem, their one home."""

from dataclasses import replace

import numpy as np
import pytest
from tests.problems import Recipe

from sketchlasso.kernels import shrink as kernels
from sketchlasso.problem.dual import certify_batch, correlate, soft_threshold
from sketchlasso.problem.objective import null_value, primal_value, relative_gap
from sketchlasso.problem.penalty_max import largest_penalties, null_model

torch = pytest.importorskip("torch")
from sketchlasso.solvers.device import tensors  # noqa: E402


def tensor(values):
    return torch.as_tensor(np.array(values, dtype=np.float64))


def made(radius, nonnegative, rooted=True):
    """A batch without unpenalised features, its rows as tensors, coefficients and dual points."""
    recipe = Recipe(seed=3, n=30, k=6, radius=radius, s=0.4, nonnegative=nonnegative, rooted=rooted)
    batch = recipe.batch()
    rng = np.random.default_rng(1)
    factor = rng.uniform(0.5, 2.0, batch.n_features)
    factor[4] = np.inf
    batch = replace(batch, penalty_factor=factor)
    rows = tensors.Rows(
        tensor([batch.rows(b, np.arange(batch.n_features)) for b in range(batch.n_instances)]),
        tensor([batch.thresholds(b) for b in range(batch.n_instances)]),
        tensor(batch.c),
        tensor(batch.s),
        tensor(batch.radius),
        nonnegative,
    )
    w = rng.normal(size=(batch.n_instances, batch.n_features))
    w *= (rng.random(w.shape) < 0.3) & np.isfinite(factor)
    u = rng.normal(size=batch.c.shape)
    return batch, rows, np.abs(w) if nonnegative else w, u


@pytest.fixture(params=[(0.0, False), (0.7, False), (0.7, True)])
def problem(request):
    return made(*request.param)


def test_objectives_agree(problem):
    batch, rows, w, _ = problem
    np.testing.assert_allclose(tensors.primal_value(rows, tensor(w)), primal_value(batch, w))
    np.testing.assert_allclose(rows.null(), null_value(batch))


def test_correlations_and_soft_thresholds_agree(problem):
    batch, rows, _, u = problem
    seen = correlate(batch, u)
    np.testing.assert_allclose(rows.see(tensor(u)), seen, atol=1e-12)
    ours = tensors.shrink(rows.see(tensor(u)), rows.thresholds, batch.nonnegative)
    theirs = [
        soft_threshold(seen[b], batch.thresholds(b), batch.nonnegative)
        for b in range(batch.n_instances)
    ]
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_certificates_agree(problem):
    batch, rows, w, u = problem
    theirs = certify_batch(batch, w, u)
    anywhere = torch.full((batch.n_instances,), torch.inf, dtype=torch.float64)
    primal, dual, scale = tensors.certificate(rows, tensor(w), tensor(u), anywhere)
    np.testing.assert_allclose(primal, theirs.primal)
    np.testing.assert_allclose(dual, theirs.dual, rtol=1e-9)
    np.testing.assert_allclose(scale, theirs.scale, rtol=1e-9)
    gap = tensors.relative_gap(primal, dual, rows.null())
    np.testing.assert_allclose(gap, theirs.relative_gap, rtol=1e-9)


def test_null_models_and_largest_penalties_agree(problem):
    batch, rows, _, _ = problem
    null = null_model(batch)
    u = tensors.null_dual(rows.c, rows.s)
    np.testing.assert_allclose(u, null.dual)
    by_factor = replace(rows, thresholds=tensor(batch.penalty_factor).expand_as(rows.thresholds))
    theirs = largest_penalties(batch, correlate(batch, null.dual))
    np.testing.assert_allclose(tensors.largest_penalties(by_factor, u), theirs, rtol=1e-9)


@pytest.mark.parametrize("size", [0.0, 1e-305])
def test_null_models_of_tiny_responses_agree(size):
    batch = made(0.7, False)[0]
    batch = replace(batch, c=size * batch.c, s=size * batch.s)
    ours = tensors.null_dual(tensor(batch.c), tensor(batch.s))
    np.testing.assert_allclose(ours, null_model(batch).dual)


def scales(size, factor, alpha, radius, largest):
    """The feasible scale of the kernel, and that on tensors."""
    buffer = np.empty((2, len(size)))
    kernel = kernels.feasible_scale(size, factor, alpha, radius, False, largest, buffer)
    rows = tensor([size]), tensor([alpha * factor]), tensor([radius]), tensor([largest])
    return kernel, float(tensors.feasible_scale(*rows, 1e-13)[0])


@pytest.mark.parametrize("seed", range(50))
def test_feasible_scales_agree_however_small_the_radius(seed):
    rng = np.random.default_rng(seed)
    size = np.abs(rng.normal(size=4)) * 10 ** rng.uniform(-8, 8)
    alpha, radius, largest = 10 ** rng.uniform([-10, -22, -3], [3, 3, 3])
    kernel, device = scales(size, rng.uniform(0.1, 2, 4), alpha, radius, largest)
    assert kernel > 0 and device == pytest.approx(kernel, rel=1e-14)


@pytest.mark.parametrize("size", [1e200, np.inf])
def test_feasible_scales_agree_on_numbers_that_overflow(size):
    kernel, device = scales(np.array([size, 1.0]), np.ones(2), 1.0, 1.0, 1.0)
    assert device == kernel


def test_a_gap_that_is_no_number_is_never_closed():
    values = [
        (np.nan, 0.0, 1.0), (1.0, np.nan, 1.0), (0.0, 0.0, 0.0), (2.0, 1.0, 3.0), (0.0, -1.0, 1.0)
    ]  # fmt: skip
    primal, dual, null = np.array(values).T
    ours = relative_gap(primal, dual, null)
    np.testing.assert_array_equal(ours[:3], [np.nan, np.nan, 0.0])
    assert not (ours[:2] <= 1e300).any()
    on_device = tensors.relative_gap(tensor(primal), tensor(dual), tensor(null))
    np.testing.assert_array_equal(on_device, ours)
