"""Results print as one screen: golden files of text and HTML, from numbers that never change."""

from pathlib import Path as File

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes

import sketchlasso as sl
from sketchlasso.engine import LinearModels, RadiusPolicy
from sketchlasso.instances.rows import RowSets, shuffled_folds, splitter_rows
from sketchlasso.problem.terms import Terms

GOLDEN = File(__file__).parent / "golden"
GIVEN = (RadiusPolicy("given", 0.0),)


def path(alphas, folds=1):
    """A path whose residuals and features follow simple rules."""
    size = folds * len(alphas)
    coef = np.tril(np.ones((len(alphas), 6)), -1)[np.tile(np.arange(len(alphas)), folds)] / 8
    penalties = np.tile(alphas, folds)
    residual = np.linspace(10.0, 6.0, size)
    primal = residual + penalties * coef.sum(axis=1)
    return sl.Path(
        LinearModels(sparse.csr_array(coef), np.zeros(size)),
        primal=primal,
        dual=primal * (1 - 9.1e-12),
        null=np.full(size, 10.0),
        n_iter=np.zeros(size, dtype=int),
        status=np.ones(size, dtype=int),
        radius=np.zeros(size),
        seconds=1.0,
        alphas=alphas[None, None],
        radii=GIVEN,
        terms=Terms(),
        proved=True,
    )


def search():
    alphas = np.array([4.0, 2.0, 1.0])
    rows = splitter_rows(shuffled_folds(2, None, False, 0), 10, np.arange(10.0))
    scores = np.array([[9.0, 5.0, 4.0], [8.0, 5.5, 4.2]]).reshape(2, 1, 1, 3)
    return sl.CrossValidation(
        path(alphas, 2), {"mse": scores, "r2": 1 - scores / 10}, rows, np.zeros((10, 1))
    )


def left_out():
    numbers = np.arange(20)
    return sl.LeaveOneOut(
        rows=numbers,
        predictions=numbers / 3,
        residuals=np.where(numbers % 2, 1.0, -2.0),
        coefficient_shift=(numbers % 7) / 100,
        features_gained=numbers % 2,
        features_lost=numbers % 3,
        radius=np.zeros(20),
        relative_gap=np.full(20, 3e-10),
        status=np.ones(20, dtype=int),
        scales_of_all_rows=False,
        seconds=1.0,
    )


def summary():
    return sl.ModelSummary(
        estimator="SqrtLassoCV",
        features=("age", "bmi", "<pressure>", "unused", "glucose"),
        responses=("0",),
        per_unit=np.array([[0.0, 510.5, -227.8, 0.0, 3.25]]),
        per_std=np.array([[0.0, 24.28, -10.83, 0.0, 32.5]]),
        fold_share=np.array([[0.2, 1.0, 0.8, 0.0, 1.0]]),
        metric="mse",
        score=np.array([3092.4]),
        score_error=np.array([83.2]),
        alpha=np.array([1.731]),
        radius=np.array([0.0]),
        gap=np.array([9.1e-12]),
    )


def classes():
    """Three classes of twenty features, more than fit on a screen."""
    coef = np.random.default_rng(0).standard_normal((3, 20)).round(2)
    return sl.ModelSummary(
        estimator="SqrtLassoClassifier",
        features=tuple(f"word {number}" for number in range(20)),
        responses=("a", "b", "c"),
        per_unit=coef,
        per_std=np.full((3, 20), np.nan),
        fold_share=None,
        metric=None,
        score=None,
        score_error=None,
        alpha=np.array([1.0, 2.0, 3.0]),
        radius=np.array([0.1, 0.1, 0.1]),
        gap=np.zeros(3),
    )


RESULTS = {
    "path": lambda: path(np.geomspace(8.0, 0.5, 30)),
    "search": search,
    "left_out": left_out,
    "summary": summary,
    "classes": classes,
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_print_as_the_golden_files(name):
    result = RESULTS[name]()
    text, html = repr(result), result._repr_html_()
    assert text == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8").rstrip("\n")
    assert html == (GOLDEN / f"{name}.html").read_text(encoding="utf-8").rstrip("\n")
    lines = text.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 100


def test_shares_explained_are_those_of_the_residuals():
    X, y = load_diabetes(return_X_y=True)
    sketch = sl.sketch(X, method="exact", center=True, scale=True)
    factor = np.linspace(0.5, 2.0, 10)
    for how in ({"sketch": None}, {"sketch": sketch, "radius": 3.0, "penalty_factor": factor}):
        found = sl.sqrt_lasso_path(X, y, alphas=5, **how)
        residuals = y[:, None] - found.models.predict(X)
        expected = 1 - np.sum(residuals**2, axis=0) / np.sum((y - y.mean()) ** 2)
        np.testing.assert_allclose(found.explained, expected, atol=1e-10)


def test_searches_of_many_points_print_as_one_screen():
    X, y = load_diabetes(return_X_y=True)
    found = sl.cross_validate(None, X, np.column_stack([y] * 9), cv=3, alphas=4)
    lines = repr(found).splitlines()
    assert len(lines) <= 24 and lines[-1] == "3 responses more"
    assert isinstance(found.rows, RowSets)
