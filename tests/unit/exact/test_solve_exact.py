"""solve_exact as a user meets it: order, shapes, statuses, interruption, messages."""

import numpy as np
import pytest
from scipy import sparse
from tests.oracles import full_problem_reference

from sketchlasso import Status, certify
from sketchlasso.engine import weighted_rows
from sketchlasso.errors import InaccurateWarning, InvalidInputError
from sketchlasso.exact import exact_alpha_max, solve_exact
from sketchlasso.instances.rows import splitter_rows
from sketchlasso.problem.terms import Terms
from sketchlasso.solvers import StopSolve


def make(seed=0, m=60, n=90, t=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n)) + 0.3
    Y = X[:, :3] @ rng.normal(size=(3, t)) + rng.normal(size=(m, t)) + 1.0
    return X, Y[:, 0] if t == 1 else Y


def test_alphas_may_come_in_any_order():
    X, y = make()
    alphas = exact_alpha_max(X, y)[0] * np.array([0.3, 0.9, 0.1, 0.5])
    found = solve_exact(X, y, alphas, tol=1e-8)
    order = np.argsort(-alphas)
    sorted_ = solve_exact(X, y, alphas[order], tol=1e-8)
    np.testing.assert_allclose(found.primal[order], sorted_.primal, rtol=1e-7)
    assert "all 4 instances solved" in found.message()


@pytest.mark.parametrize("radius", [0.0, 0.5])
def test_instances_are_row_sets_by_responses_by_alphas(radius):
    X, Y = make(t=2)
    rows = splitter_rows(3, X)
    alphas = exact_alpha_max(X, Y)[:, None] * np.array([0.5, 0.2])
    found = solve_exact(X, Y, alphas, radius=radius, rows=rows, tol=1e-8)
    assert found.coef.shape == (12, 90) and found.solved.all()
    assert found.n_iter.shape == found.intercept.shape == (12,)
    instance = 0
    for row_set in rows:
        train = row_set.train(60)
        for response in range(2):
            y = Y[train, response]
            alone = solve_exact(X[train], y, alphas[response], radius=radius, tol=1e-8)
            part = slice(instance, instance + 2)
            np.testing.assert_allclose(found.primal[part], alone.primal, rtol=1e-7)
            np.testing.assert_allclose(found.coef[part].toarray(), alone.coef.toarray(), atol=1e-5)
            np.testing.assert_allclose(found.intercept[part], alone.intercept, atol=1e-5)
            instance += 2


def test_weights_equal_repetition():
    X, y = make(2)
    counts = np.arange(60) % 3
    again = np.repeat(np.arange(60), counts)
    one = solve_exact(X, y, [3.0, 1.0], rows=weighted_rows(counts), tol=1e-9)
    other = solve_exact(X[again], y[again], [3.0, 1.0], tol=1e-9)
    np.testing.assert_allclose(one.primal, other.primal, rtol=1e-8)
    np.testing.assert_allclose(one.intercept, other.intercept, atol=1e-6)
    assert (certify(X, y, one.coef, [3.0, 1.0], sample_weight=counts).relative_gap <= 1e-8).all()


@pytest.mark.parametrize("radius", [0.0, 0.1, 2.0])
def test_alpha_max_is_where_the_first_feature_enters(radius):
    X, y = make(4)
    factor = np.ones(90)
    factor[0], factor[1], factor[2] = 0.0 if radius == 0 else 1.0, np.inf, 3.0
    for terms in (
        Terms(),
        Terms(penalty_factor=factor),
        Terms(positive=True),
        Terms(fit_intercept=False),
    ):
        largest = exact_alpha_max(X, y, radius=radius, terms=terms)[0]
        alphas = largest * np.array([1.0001, 0.98])
        found = solve_exact(X, y, alphas, radius=radius, tol=1e-9, terms=terms)
        free = 0 if terms.penalty_factor is None or radius > 0 else 1
        assert found.n_nonzero[0] == free < found.n_nonzero[1]


def test_the_largest_alpha_max_of_the_row_sets_counts():
    X, y = make(5)
    rows = splitter_rows(3, X)
    each = [exact_alpha_max(X[r.train(60)], y[r.train(60)])[0] for r in rows]
    assert exact_alpha_max(X, y, rows=rows)[0] == pytest.approx(max(each))


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_response_without_anything_to_explain(fit_intercept):
    X, _ = make()
    y = np.full(60, 2.0 if fit_intercept else 0.0)
    found = solve_exact(X, y, [1.0, 0.1], terms=Terms(fit_intercept))
    assert found.solved.all() and found.coef.nnz == 0
    np.testing.assert_allclose(found.intercept, y[0])
    assert exact_alpha_max(X, y, terms=Terms(fit_intercept))[0] == 0.0


def test_unpenalised_features_that_fit_exactly():
    X, _ = make()
    factor = np.ones(90)
    factor[:2] = 0.0
    found = solve_exact(X, 3 * X[:, 0] - X[:, 1] + 1.0, [1.0], terms=Terms(penalty_factor=factor))
    assert found.solved.all()
    np.testing.assert_allclose(found.coef.toarray()[0, :2], [3.0, -1.0], atol=1e-6)


def test_sparse_and_dense_and_types_agree():
    X, y = make(6)
    X *= np.random.default_rng(0).random(X.shape) < 0.3
    kinds = (
        X,
        np.asfortranarray(X),
        sparse.csr_array(X),
        sparse.csc_matrix(X),
        sparse.coo_array(X),
    )
    primal = [solve_exact(kind, y, [2.0, 0.7], tol=1e-9).primal for kind in kinds]
    for other in primal[1:]:
        np.testing.assert_allclose(other, primal[0], rtol=1e-8)
    single = solve_exact(X.astype(np.float32), y, [2.0, 0.7], tol=1e-6)
    np.testing.assert_allclose(single.primal, primal[0], rtol=1e-5)


def test_a_callback_that_stops_keeps_what_is_solved():
    X, y = make()
    answer = []

    def stop(progress):
        answer.append(progress)
        if progress.solved == 2:
            raise StopSolve

    folds = splitter_rows(2, X)
    found = solve_exact(X, y, [4.0, 2.0, 1.0], rows=folds, n_threads=1, callback=stop)
    assert [p.total for p in answer] == [6, 6] and answer[-1].worst_gap <= 1e-4
    interrupted = [Status.INTERRUPTED] * 4
    assert found.status.tolist() == [Status.SOLVED, Status.SOLVED, *interrupted]
    assert found.primal[2] == pytest.approx(np.linalg.norm(y[30:] - y[30:].mean()))
    assert found.primal[5] == pytest.approx(np.linalg.norm(y[:30] - y[:30].mean()))
    assert (found.relative_gap[2:] == 1.0).all()
    with pytest.warns(InaccurateWarning, match="4 of 6 instances were interrupted"):
        found.warn_if_unsolved()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"alphas": [1.0, 0.0]},
            "penalties without a sketch must be finite and > 0, but one is 0",
        ),
        ({"alphas": np.ones((2, 3))}, r"alphas has shape \(2, 3\); pass \(a,\) or \(1, a\)"),
        ({"alphas": []}, "alphas has shape"),
        (
            {"terms": Terms(penalty_factor=np.ones(3))},
            r"penalty_factor has shape \(3,\) but X has 90 features; pass .*, \(90,\)",
        ),
        (
            {"terms": Terms(penalty_factor=-np.ones(90))},
            "penalty_factor must hold numbers .*, not NaN or negative ones",
        ),
        ({"tol": 0.0}, "tol must be a positive number .*, not 0.0"),
        ({"max_rounds": 0}, "max_rounds must be at least 1, not 0"),
        ({"radius": -1.0}, "radius must be one finite number >= 0 without a sketch, not -1.0"),
        ({"rows": splitter_rows(2, 10)}, "the row sets are for 10 rows but X has 60"),
        ({"y": np.ones(7)}, r"y has shape \(7,\)"),
        ({"X": np.full((60, 90), np.nan)}, "every entry must be finite"),
    ],
)
def test_bad_input_is_one_sentence(change, message):
    X, y = make()
    parts = {"X": X, "y": y, "alphas": [1.0]} | change
    with pytest.raises(InvalidInputError, match=message):
        solve_exact(parts.pop("X"), parts.pop("y"), parts.pop("alphas"), **parts)


def test_folds_that_hold_out_all_of_a_column_equal_refits():
    X, y = make(7)
    rows = splitter_rows(3, X)
    for fold, row_set in enumerate(rows):
        column = np.zeros(60)
        column[row_set.test] = 1e6
        X[:, fold] = column + 1e-6 * X[:, fold]
    for data in (X, sparse.csr_array(X)):
        found = solve_exact(data, y, [3.0, 1.0], rows=rows, tol=1e-8)
        assert found.solved.all(), found.message()
        for fold, row_set in enumerate(rows):
            train = row_set.train(60)
            alone = solve_exact(X[train], y[train], [3.0, 1.0], tol=1e-8)
            np.testing.assert_allclose(
                found.primal[2 * fold : 2 * fold + 2], alone.primal, rtol=1e-7
            )


def test_unpenalised_columns_that_depend_on_each_other_and_on_the_intercept_are_no_obstacle():
    rng = np.random.default_rng(0)
    age, born = rng.integers(20, 70, 80), rng.integers(1950, 1990, 80)
    groups = np.eye(4)[rng.integers(0, 4, 80)]
    X = np.column_stack([age, born, age + born, groups, rng.standard_normal((80, 6))])
    y = X @ rng.standard_normal(X.shape[1]) + rng.standard_normal(80)
    terms = Terms(penalty_factor=np.repeat([0.0, 1.0], [7, 6]))
    found = solve_exact(X, y, np.array([0.5]), tol=1e-8, terms=terms)
    assert found.solved.all(), found.message()


@pytest.mark.parametrize("little", [1e-3, 1e-6])
@pytest.mark.parametrize("shape", [(60, 20), (30, 60)])
def test_little_penalties_are_solved_and_proved(little, shape):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal(shape)
        y = X[:, :4] @ [2.0, -1.0, 1.0, 3.0] + rng.standard_normal(shape[0])
        factor = np.ones(shape[1])
        factor[[0, 1, 2, 5]] = little
        terms = Terms(penalty_factor=factor)
        alphas = min(exact_alpha_max(X, y, terms=terms)[0], 20.0) * np.geomspace(1.0, 0.05, 10)
        found = solve_exact(X, y, alphas, tol=1e-7, terms=terms)
        assert found.solved.all(), found.message()
        _, best = full_problem_reference(X - X.mean(0), y - y.mean(), alphas[4], 0.0, factor)
        assert found.dual[4] <= best * (1 + 1e-7)
        assert found.primal[4] <= best * (1 + 1e-7)
