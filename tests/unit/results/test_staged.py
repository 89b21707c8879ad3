"""The search in stages against the search of the whole grid."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import KFold

from sketchlasso import Progress, Settings, SqrtLassoCV, Status, cross_validate, sketch
from sketchlasso.errors import GridEdgeWarning
from sketchlasso.results import stage_parts
from sketchlasso.results.choices import closer_looks, decided
from sketchlasso.results.fitting import FoldBases, Guide, Task
from sketchlasso.results.radius_policy import RadiusPolicy
from sketchlasso.results.sketched import sketch_training_rows
from sketchlasso.results.staged import search
from sketchlasso.solvers import StopSolve, solve_or_raise

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
    """Every penalty and radius of a search."""
    return cross_validate(
        sketched(X, y, method), X, y, cv=4, alphas=found.alphas[0, 0], radii=POLICIES,
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
    # A minimum that is flat may lie one penalty beside, for a radius is found to a tenth only.
    assert mean[best.radius_index, best.alpha_index] <= 1.002 * mean.min()
    assert best.radius_index == whole.best().radius_index
    assert abs(best.alpha_index - whole.best().alpha_index) <= 2
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


@pytest.mark.parametrize("make", [factors, words])
@pytest.mark.parametrize("seed", range(3))
def test_the_best_has_neighbours_or_a_closer_look_would_win_little(make, seed):
    found = searched(*make(seed))
    best = found.best()
    costs = found.scores["mse"][:, 0, best.radius_index]
    mean, spread = costs.mean(axis=0), costs[:, best.alpha_index].std(ddof=1) / 2
    tried = np.flatnonzero(np.isfinite(mean))
    place = int(np.searchsorted(tried, best.alpha_index))
    assert 0 < place < len(tried) - 1
    left, middle, right = tried[place - 1 : place + 2]
    # What a parabola through the three could fall below the best.
    further = (mean[left] + mean[right] - 2 * mean[middle]) / 8
    assert right - left == 2 or further <= 0.1 * spread


def test_smaller_radii_are_left_out_where_a_larger_one_is_clearly_better():
    """Every feature matters a little, so that the largest radius is best in every fold."""
    rng = np.random.default_rng(0)
    X = rng.poisson(1.0, (400, 400)).astype(float)
    y = X @ rng.standard_normal(400) + 10.0 * rng.standard_normal(400)
    found = searched(sparse.csr_array(X), y)
    tried = np.isfinite(found.mean()[0]).any(axis=1)
    np.testing.assert_array_equal(tried, [False, False, True, True])
    assert found.best().radius_index == 3
    errors = found.scores["mse"][:, 0]
    lowest = [errors[:, radius, np.nanargmin(errors[:, radius].mean(axis=0))] for radius in (2, 3)]
    assert (lowest[1] < lowest[0]).all()


def test_closer_looks_are_not_misled_by_jumps():
    places = np.array([0, 8, 16, 20, 24, 28, 32])
    valley = 1e-2 * (places - 22.0) ** 2
    jumps = 0.02 * np.array([0, 0, 0, -1, 1, 0, 0])
    folds = np.array([-1.0, 0.0, 1.0])[:, None]
    for height, wanted in ((1.0, True), (0.01, False)):
        costs = height * valley + jumps + 0.1 * folds
        between, _ = closer_looks(costs, places, reach=8)
        # A tenth of the standard error is 0.006. The parabola through the best and its two
        # neighbours alone would promise 0.008 also where all but the jumps is flat.
        assert between[2] == between[3] == wanted


def test_held_out_predictions_are_those_of_the_models():
    X, y = words(0)
    found = searched(X, y, metrics=("accuracy", "mse"))
    best = found.best("accuracy")
    at = (slice(None), 0, best.radius_index, best.alpha_index)
    fold = 1
    number = np.ravel_multi_index(
        (fold, 0, best.radius_index, best.alpha_index), found.status.shape
    )
    test = found.rows[fold].test
    predicted = found.models.predict(X[test], np.array([number]))[:, 0]
    np.testing.assert_allclose(found.predictions[test, 0], predicted)
    np.testing.assert_allclose(
        found.scores["mse"][fold][at[1:]], np.mean((predicted - y[test]) ** 2)
    )
    assert found.n_nonzero[fold][at[1:]] == np.count_nonzero(found.models.coef[[number]].toarray())


def test_small_models_are_chosen_among_those_solved():
    X, y = factors(2)
    found = searched(X, y)
    few = found.best(max_nonzero=3)
    at = (0, few.radius_index, few.alpha_index)
    assert np.isfinite(found.mean()[at])
    assert found.n_nonzero[:, *at].mean() <= 3


def test_penalties_that_are_given_are_all_solved():
    X, y = factors(0)
    found = cross_validate(sketched(X, y), X, y, alphas=np.geomspace(20, 0.02, 40), settings=LOOSE)
    assert np.isfinite(found.scores["mse"]).all()
    assert (found.status == Status.SOLVED).all()


def test_smaller_penalties_are_left_out_once_the_search_is_decided():
    X, y = noise(5)
    found = searched(X, y)
    tried = np.isfinite(found.mean()[0])
    last = [np.flatnonzero(line)[-1] for line in tried if line.any()]
    assert found.alphas.shape[2] == COUNT
    assert min(last) < COUNT - 8


def nearly_exact(seed=0):
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
    # Larger radii have their best at larger penalties, within the grid.
    assert COUNT <= np.nanargmin(found.mean()[0, 2]) < count - 1
    same = searched(X, y, alpha_min_ratio=1e-3)
    assert same.alphas.shape[2] == COUNT
    np.testing.assert_allclose(found.alphas[0, 0, :COUNT], same.alphas[0, 0])
    short = searched(X, y, alpha_min_ratio=1e-2)
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
    told: list[Progress] = []
    searched(X, y, settings=Settings(tol=1e-5, n_threads=2, callback=told.append))
    solved = np.array([progress.solved for progress in told])
    assert (np.diff(solved) >= 0).all()
    assert told[-1].solved == told[-1].total


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_ends_the_search(threads):
    X, y = factors(1)

    def interrupt(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        searched(X, y, settings=Settings(n_threads=threads, callback=interrupt))


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


def test_decided_needs_the_given_number_of_penalties():
    line = np.array([3.0, 1.0, 2.0, 2.5])
    cost = line + 0.01 * np.arange(5)[:, None]
    assert decided(cost, 2)
    assert not decided(cost, 3)


@pytest.mark.filterwarnings("error::sketchlasso.errors.GridEdgeWarning")
def test_no_warning_where_the_longer_grid_has_the_best_inside():
    X, y = nearly_exact()
    options = {"sketch": "response", "rank": 20, "random_state": 0, "alphas": COUNT}
    options |= {"cv": KFold(4), "standardize": False}
    model = SqrtLassoCV(**options).fit(X, y)
    assert len(model.alphas_) > COUNT
    assert model.mse_path_.shape == model.n_nonzero_path_.shape == (len(model.alphas_), 4)
    with pytest.warns(GridEdgeWarning, match="lower alpha_min_ratio"):
        SqrtLassoCV(**options, alpha_min_ratio=0.1).fit(X, y)


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


def another_response(X, seed):
    used = X[:, [5, 40]].toarray().sum(axis=1)
    return np.sign(used - 2 + np.random.default_rng(seed).random(len(used)))


# The last response is all but noise, and its best penalty is among the largest.
@pytest.mark.parametrize(("seed", "share"), [(0, 0.8), (1, 0.8), (2, 1.5)])
def test_a_guided_search_ends_where_an_unguided_one_does(seed, share):
    X, y = words(seed)
    other = another_response(X, seed)
    alone = searched(X, other)
    task = Task(X, other[:, None], weights=None, alphas=COUNT, settings=LOOSE)
    task = replace(task, guide=searched(X, y).guide(0), bases=FoldBases())
    guided = search(task, sketched(X, other), alone.rows, ("mse",))
    solved = guided.status != Status.LEFT_OUT
    assert solved.sum() < share * (alone.status != Status.LEFT_OUT).sum()
    assert (guided.relative_gap[solved] <= LOOSE.tol).all()
    best, error = alone.best(), alone.standard_error()[0]
    lowest = alone.mean()[0, best.radius_index, best.alpha_index]
    assert np.nanmin(guided.mean()) <= lowest + error[best.radius_index, best.alpha_index]


def test_radii_that_are_off_by_a_factor_are_off_once(monkeypatch):
    """The first point shows by how much; the others begin with that in mind."""
    X, y = words(0)
    alone = searched(X, y)
    guide = replace(alone.guide(0), radius=2.0 * alone.guide(0).radius)
    task = Task(X, y[:, None], weights=None, alphas=COUNT, settings=LOOSE, guide=guide)
    solved = []

    def counted(batch, *arguments):
        solved.append(batch.n_instances)
        return solve_or_raise(batch, *arguments)

    monkeypatch.setattr(stage_parts, "solve_or_raise", counted)
    guided = search(task, sketched(X, y), alone.rows, ("mse",))
    points = (guided.status != Status.LEFT_OUT).sum()
    assert sum(solved) <= 1.25 * points


def test_a_guide_is_blind_to_what_was_not_tried():
    errors = np.array([[np.nan, np.nan, np.nan], [3.0, 1.0, np.nan], [2.0, np.nan, 4.0]])
    guide = Guide.of(errors, np.where(np.isnan(errors), np.nan, 0.5))
    assert guide.best == 1
    assert guide.penalty.tolist() == [-1, 1, 0]


def test_folds_share_what_does_not_know_the_response():
    X, y = words(0)
    folds, bases = searched(X, y).rows, FoldBases()
    first, second = sketched(X, y), sketched(X, np.roll(y, 3))
    shared = bases.of(0, first, X, folds[0])
    assert bases.of(0, second, X, folds[0]) is shared
    policies = (RadiusPolicy("realised"),)
    task = Task(X, np.roll(y, 3)[:, None], weights=None, alphas=COUNT)
    own = sketch_training_rows(task, second, folds[0], policies)
    again = sketch_training_rows(task, second, folds[0], policies, shared)
    np.testing.assert_allclose(again.sketch.P @ again.sketch.Q.T, own.sketch.P @ own.sketch.Q.T,
                               atol=1e-10)  # fmt: skip
