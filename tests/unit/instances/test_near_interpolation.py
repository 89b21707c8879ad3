"""Objectives of sketched problems keep their digits where the response is nearly fitted."""

import numpy as np
import pytest

import sketchlasso as sl


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("noise", [1e-3, 1e-5, 1e-6, 1e-7])
def test_the_objective_is_that_of_the_rows(noise, weighted, fit_intercept):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 40)) + 3.0
    y = X[:, :5].sum(axis=1) + 100.0 * fit_intercept + noise * rng.standard_normal(150)
    weights = rng.uniform(0.5, 2.0, 150) if weighted else None
    sketch = sl.sketch(X, method="exact", rank=40, center=fit_intercept).with_radius(0.0)
    alphas = np.array([1e-2, 1e-4, 1e-6])
    options = {"sample_weight": weights, "fit_intercept": fit_intercept}
    path = sl.sqrt_lasso_path(X, y, sketch, alphas=alphas, **options)
    coef = path.models.coef.toarray()
    shares = np.ones(150) if weights is None else weights
    residual = y[:, None] - X @ coef.T
    residual -= (shares @ residual / shares.sum()) if fit_intercept else 0.0
    objective = np.sqrt(shares @ residual**2) + alphas * np.abs(coef).sum(axis=1)
    assert path.primal == pytest.approx(objective, rel=1e-7)
    exact = sl.certify(X, y, coef, alphas, **options)
    assert (path.dual <= exact.primal * (1 + 1e-8)).all()


def test_the_objective_of_every_fold_is_that_of_its_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 40))
    y = X[:, :5].sum(axis=1) + 1e-6 * rng.standard_normal(150)
    sketch = sl.sketch(X, method="exact", rank=40, center=True).with_radius(0.0)
    rows = sl.splitter_rows(3, 150)
    problems = sl.build_problems(sketch, y, alphas=[1e-4], radii=[0.0], rows=rows)
    found = sl.solve(problems.batch, settings=sl.Settings(tol=1e-8))
    for row_set, w, primal in zip(rows, found.coef.toarray(), found.primal, strict=True):
        train = row_set.train(150)
        residual = y[train] - X[train] @ w
        expected = np.linalg.norm(residual - residual.mean()) + 1e-4 * np.abs(w).sum()
        assert primal == pytest.approx(expected, rel=1e-7)
