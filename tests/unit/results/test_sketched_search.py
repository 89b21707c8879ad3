"""The search on a sketch against the whole grid."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import KFold

from sketchlasso import (
    Progress,
    Settings,
    SqrtLassoCV,
    Status,
    build_problems,
    cross_validate,
    sketch,
    solve,
    sqrt_lasso_path,
)
from sketchlasso.solvers import StopSolve

COUNT = 48
LOOSE = Settings(tol=1e-5, n_threads=2)
POLICIES = ["0.1*realised", "0.3*realised", "realised", "3*realised"]


def factors(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((160, 6)) @ rng.standard_normal((6, 90))
    X += rng.standard_normal(X.shape)
    return X, X[:, :4] @ [2.0, -1.0, 1.0, 1.0] + 2.0 * rng.standard_normal(160)


def words(seed):
    rng = np.random.default_rng(seed)
    rates = rng.dirichlet(0.1 * np.ones(120), 5)
    X = rng.poisson(40 * rng.dirichlet(np.ones(5), 200) @ rates).astype(float)
    y = np.sign(X[:, :10].sum(axis=1) - np.median(X[:, :10].sum(axis=1)) + 0.5)
    return sparse.csr_array(np.log1p(X)), y


def noise(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((100, 60))
    return X, 0.3 * X[:, 0] + rng.standard_normal(100)


def sketched(X, y, method="response"):
    target = y if method == "response" else None
    return sketch(X, target, method=method, rank=20, center=True, random_state=0)


def searched(X, y, method="response", **options):
    options = {"alphas": COUNT, "settings": LOOSE} | options
    return cross_validate(sketched(X, y, method), X, y, cv=4, **options)


def solved_whole(X, y, method, found):
    """Every penalty and radius of a search; the radius is found at the same penalty."""
    return cross_validate(
        sketched(X, y, method), X, y, cv=4, alphas=found.alphas[0, 0, :COUNT], radii=POLICIES,
        settings=LOOSE,
    )  # fmt: skip


@pytest.mark.parametrize("method", ["response", "randomized"])
@pytest.mark.parametrize("make", [factors, words])
def test_the_choice_is_that_of_the_whole_grid(make, method):
    X, y = make(3)
    found = searched(X, y, method)
    whole = solved_whole(X, y, method, found)
    assert np.isfinite(whole.scores["mse"]).all()
    best, mean = found.best(), whole.mean()[0]
    # Some penalties beside the best are tried, not all.
    assert mean[best.radius_index, best.alpha_index] <= 1.01 * mean.min()
    assert best.radius_index == whole.best().radius_index
    careful = found.best(rule="1se")
    assert abs(careful.alpha_index - whole.best(rule="1se").alpha_index) <= 4


@pytest.mark.parametrize("method", ["response", "randomized"])
@pytest.mark.parametrize("seed", range(4))
def test_on_noise_the_choice_is_within_a_standard_error_of_the_whole_grid(seed, method):
    # Where models are nearly empty a radius has several fixed points, and scores differ by them.
    X, y = noise(seed)
    found = searched(X, y, method)
    whole = solved_whole(X, y, method, found)
    best, lowest = found.best(), whole.best()
    costs = whole.scores["mse"][:, 0]
    apart = (
        costs[:, best.radius_index, best.alpha_index]
        - costs[:, lowest.radius_index, lowest.alpha_index]
    )
    assert apart.mean() <= costs[:, lowest.radius_index, lowest.alpha_index].std(ddof=1) / 2


def test_points_left_out_have_no_numbers():
    X, y = factors(1)
    found = searched(X, y, metrics=("r2", "mse"))
    out = found.status == Status.LEFT_OUT
    assert 0.3 < out.mean() < 0.9
    assert (out == out[0]).all()
    for values in (found.relative_gap, found.radius, *found.scores.values()):
        np.testing.assert_array_equal(np.isnan(values), out)
    np.testing.assert_array_equal(np.isnan(found.mean()), out[0])
    assert (found.n_nonzero[out] == 0).all()
    assert (found.status[~out] == Status.SOLVED).all()
    assert (found.relative_gap[~out] <= LOOSE.tol).all()


def nearly_exact(seed=1):
    """Few directions and hardly any noise: the best penalty is very small."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((150, 80))
    return X, X[:, :10] @ rng.standard_normal(10) + 1e-6 * rng.standard_normal(150)


def test_the_grid_goes_on_where_the_best_is_at_its_end():
    X, y = nearly_exact()
    found = searched(X, y)
    count = found.alphas.shape[2]
    assert count > COUNT
    steps = np.diff(np.log(found.alphas[0, 0]))
    np.testing.assert_allclose(steps, steps[0])
    assert found.best().alpha_index >= COUNT
    same = searched(X, y, alpha_min_ratio=1e-3)
    assert same.alphas.shape[2] == COUNT
    np.testing.assert_allclose(found.alphas[0, 0, :COUNT], same.alphas[0, 0])
    short = searched(X, y, alpha_min_ratio=0.1)
    assert short.alphas.shape[2] == COUNT
    assert np.nanmin(found.mean()) < np.nanmin(short.mean())


def test_results_do_not_depend_on_the_number_of_threads():
    X, y = factors(4)
    one, two = (searched(X, y, settings=Settings(tol=1e-5, n_threads=t)) for t in (1, 2))
    np.testing.assert_array_equal(one.status, two.status)
    np.testing.assert_allclose(one.predictions, two.predictions, rtol=0, atol=1e-9)


def test_several_responses_have_their_own_search():
    X, y = factors(1)
    Y = np.c_[y, noise(1)[1].repeat(2)[:160]]
    found = searched(X, Y, "randomized")
    alone = searched(X, Y[:, 0], "randomized")
    tried = np.isfinite(found.mean())
    assert (tried[0] != tried[1]).any()
    assert found.best(response=0).alpha == pytest.approx(alone.best().alpha)


def test_progress_never_falls_and_ends_at_its_total():
    X, y = factors(1)
    answer: list[Progress] = []
    searched(X, y, settings=Settings(tol=1e-5, n_threads=2, callback=answer.append))
    solved = np.array([progress.solved for progress in answer])
    assert (np.diff(solved) >= 0).all()
    assert answer[-1].solved == answer[-1].total


@pytest.mark.filterwarnings("ignore::sketchlasso.errors.InaccurateWarning")
def test_a_callback_that_stops_ends_the_search_with_what_it_has():
    X, y = factors(1)
    calls = []

    def stop(progress):
        calls.append(progress)
        raise StopSolve

    found = searched(X, y, settings=Settings(n_threads=1, callback=stop))
    assert (found.status == Status.INTERRUPTED).any()
    assert np.isfinite(found.mean()[0][found.best().radius_index, found.best().alpha_index])


@pytest.mark.filterwarnings("ignore::sketchlasso.errors.GridEdgeWarning")
def test_grids_of_different_lengths_are_filled_up():
    X, y = nearly_exact()
    easy = np.c_[y, noise(1)[1].repeat(2)[:150]]
    options = {"sketch": "response", "rank": 20, "random_state": 0, "alphas": COUNT}
    model = SqrtLassoCV(**options, cv=KFold(5), standardize=False).fit(X, easy)
    count = model.alphas_.shape[1]
    assert model.mse_path_.shape == (2, count, 5)
    assert count > COUNT
    assert np.isnan(model.mse_path_[1, -1]).all()
    np.testing.assert_allclose(
        np.diff(np.log(model.alphas_[1])), np.log(model.alphas_[1, 1] / model.alphas_[1, 0])
    )


def test_the_radius_of_a_fold_is_a_number_that_all_its_penalties_share():
    X, y = factors(0)
    found = searched(X, y)
    for fold in range(4):
        used = [set(line[np.isfinite(line)].round(12)) for line in found.radius[fold, 0]]
        assert [len(values) for values in used] == [1, 1, 1, 1]
        (unit,) = used[2]
        np.testing.assert_allclose(
            [values.pop() for values in used], np.array([0.1, 0.3, 1.0, 3.0]) * unit
        )


def test_a_sketch_of_all_rows_and_of_the_response_is_used_as_it_is():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 40))
    y = X[:, 0] + rng.standard_normal(60)
    made = sketch(X, y, rank=10, method="response", center=True, random_state=0)
    again = sketch(X, y, rank=10, method="response", center=True, random_state=0)
    options = {"alphas": [3.0, 1.0], "radius": 0.1, "settings": Settings(tol=1e-10)}
    path = sqrt_lasso_path(X, y, made, **options)
    batch = build_problems(again, y, alphas=[3.0, 1.0], radii=0.1).batch
    np.testing.assert_allclose(path.primal, solve(batch, settings=Settings(tol=1e-10)).primal)
