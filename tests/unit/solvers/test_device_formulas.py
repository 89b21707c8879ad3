"""The formulas of sketchlasso.problem give the same on arrays and on tensors."""

from dataclasses import replace

import numpy as np
import pytest
from tests.problems import Recipe

from sketchlasso.problem import formulas
from sketchlasso.problem.dual import certify_batch, correlate, largest_penalties, null_model
from sketchlasso.problem.formulas import null_value

torch = pytest.importorskip("torch")
from sketchlasso.solvers.device import tensors  # noqa: E402


def tensor(values):
    return torch.as_tensor(np.array(values, dtype=np.float64))


def made(radius, positive, rooted=True):
    """A batch without unpenalised features, its rows as tensors, coefficients and dual points."""
    recipe = Recipe(seed=3, n=30, k=6, radius=radius, s=0.4, positive=positive, rooted=rooted)
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
        positive,
    )
    w = rng.normal(size=(batch.n_instances, batch.n_features))
    w *= (rng.random(w.shape) < 0.3) & np.isfinite(factor)
    u = rng.normal(size=batch.c.shape)
    return batch, rows, np.abs(w) if positive else w, u


@pytest.fixture(params=[(0.0, False), (0.7, False), (0.7, True)])
def problem(request):
    return made(*request.param)


def test_objectives_agree(problem):
    batch, rows, _, _ = problem
    np.testing.assert_allclose(rows.null(), null_value(batch))


def test_certificates_agree(problem):
    batch, rows, w, u = problem
    theirs = certify_batch(batch, w, u)
    anywhere = torch.full((batch.n_instances,), torch.inf, dtype=torch.float64)
    primal, dual, scale = tensors.certificate(rows, tensor(w), tensor(u), anywhere)
    np.testing.assert_allclose(primal, theirs.primal)
    np.testing.assert_allclose(dual, theirs.dual, rtol=1e-9)
    np.testing.assert_allclose(scale, theirs.scale, rtol=1e-9)
    gap = formulas.relative_gap(primal, dual, rows.null())
    np.testing.assert_allclose(gap, theirs.relative_gap, rtol=1e-9)


def test_null_models_and_largest_penalties_agree(problem):
    batch, rows, _, _ = problem
    null = null_model(batch)
    u = formulas.null_dual(rows.c, rows.s)
    np.testing.assert_allclose(u, null.dual)
    factor = tensor(batch.penalty_factor).expand_as(rows.thresholds)
    size = formulas.magnitude(rows.see(u), batch.positive)
    theirs = largest_penalties(batch, correlate(batch, null.dual))
    np.testing.assert_allclose(
        formulas.largest_penalty(size, factor, rows.radius), theirs, rtol=1e-9
    )


@pytest.mark.parametrize("size", [0.0, 1e-305])
def test_null_models_of_tiny_responses_agree(size):
    batch = made(0.7, False)[0]
    batch = replace(batch, c=size * batch.c, s=size * batch.s)
    ours = formulas.null_dual(tensor(batch.c), tensor(batch.s))
    np.testing.assert_allclose(ours, null_model(batch).dual)


def both(formula, *arrays, **options):
    """A formula on arrays; it must give the same on tensors, and keep their precision."""
    here = formula(*arrays, **options)
    there = formula(*map(tensor, arrays), **options)
    np.testing.assert_allclose(there, here, rtol=1e-13)
    single = formula(*(tensor(array).float() for array in arrays), **options)
    assert single.dtype == torch.float32
    return here


def test_formulas_give_the_same_on_arrays_and_tensors():
    rng = np.random.default_rng(7)
    x, t = rng.normal(size=(5, 9)), rng.uniform(0, 1, (5, 9))
    a, b, s = rng.uniform(0.1, 1, (3, 5))
    for flag in (False, True):
        both(formulas.magnitude, x, positive=flag)
        both(formulas.soft_threshold, x, t, positive=flag)
        both(formulas.objective, a, b, s, t[:, 0], squared=flag)
        both(formulas.dual_objective, a, b, s, squared=flag)
        both(formulas.best_on_ray, a - 0.5, b, s, squared=flag)
    both(formulas.response_length, x, s)
    both(formulas.largest_penalty, np.abs(x), t, np.array([0.0, 0.1, 1.0, 3.0, 30.0]))
    for radius in (0.0, 1e-9, 0.5):
        both(formulas.feasible_scale, np.abs(x), t, radius * b, 3.0 * a, slack=1e-6)
    for size in (1e200, np.inf):
        one, large = np.ones(1), np.array([[size, 1.0]])
        here = formulas.feasible_scale(large, np.ones((1, 2)), one, one, 1e-13)
        there = formulas.feasible_scale(
            tensor(large), tensor([[1.0, 1.0]]), tensor(one), tensor(one), 1e-13
        )
        np.testing.assert_array_equal(there, here)


def test_a_gap_that_is_no_number_is_never_closed():
    values = [
        (np.nan, 0.0, 1.0), (1.0, np.nan, 1.0), (0.0, 0.0, 0.0), (2.0, 1.0, 3.0), (0.0, -1.0, 1.0)
    ]  # fmt: skip
    gap = both(formulas.relative_gap, *np.array(values).T)
    np.testing.assert_array_equal(gap[:3], [np.nan, np.nan, 0.0])
    assert not (gap[:2] <= 1e300).any()
