"""Desparsified estimates: against R's hdi, against least squares, and on data of known truth."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import t as student

from sketchlasso.errors import InvalidInputError, UncertainIntervalWarning
from sketchlasso.inference import desparsified, nodewise
from sketchlasso.inference.estimates import adjusted_p_values
from sketchlasso.inference.regressions import ColumnSolver
from sketchlasso.io import BlockMatrix

HDI_NOISE = 0.3862513


@pytest.fixture(scope="module")
def hdi(real_file):
    """hdi::lasso.proj on 100 genes: X, y, its scores, and its table."""

    def read(name):
        path = real_file(f"../oracles/hdi_riboflavin100/{name}.csv")
        return np.genfromtxt(path, delimiter=",", skip_header=1)

    return read("x"), read("y"), read("Z"), read("result")[:, 1:]


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(2)
    X = 3.0 + rng.standard_normal((60, 90)) * np.geomspace(0.1, 10, 90)
    y = 5.0 + (X[:, [0, 4]] / X[:, [0, 4]].std(axis=0)) @ [2.0, -2.0] + rng.standard_normal(60)
    return X, y


@pytest.fixture(scope="module")
def found(wide):
    return desparsified(*wide)


def test_scores_estimate_and_noise_of_hdi_give_its_results(hdi):
    X, y, Z, table = hdi
    # The penalties of some of hdi's scores are larger than ours would be.
    with pytest.warns(UncertainIntervalWarning, match="11 of 100 intervals"):
        found = desparsified(X, y, scores=Z, initial=table[:, 6], noise=HDI_NOISE)
    assert found.flagged.sum() == 11
    np.testing.assert_allclose(found.estimate, table[:, 0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.standard_error, table[:, 1], rtol=1e-6)
    np.testing.assert_allclose(found.p_value, table[:, 2], atol=1e-6)
    np.testing.assert_allclose(found.adjusted("holm"), table[:, 3], atol=1e-6)
    np.testing.assert_allclose(found.interval(0.95), table[:, 4:6].T, atol=1e-6)


def test_the_formula_is_the_published_one(wide, found):
    X, y = wide
    A, c = X - X.mean(axis=0), y - y.mean()
    r = c - A @ found.initial
    for j in range(0, X.shape[1], 10):
        z = found.scores[:, j]
        expected = found.initial[j] + z @ r / (z @ A[:, j])
        free = 59 - np.count_nonzero(found.initial)
        error = np.linalg.norm(r) / np.sqrt(free) * np.linalg.norm(z) / abs(z @ A[:, j])
        assert found.estimate[j] == pytest.approx(expected, rel=1e-10)
        assert found.standard_error[j] == pytest.approx(error, rel=1e-10)
        others = np.delete(A / A.std(axis=0), j, axis=1)
        bound = np.abs(z @ others).max() / np.linalg.norm(z)
        assert found.bias_bound[j] == pytest.approx(bound, rel=1e-10)


def least_squares(X, y):
    """Coefficients, errors, and White's errors with HC1's correction, of the columns of X."""
    m, n = X.shape
    inverse = np.linalg.pinv(np.column_stack([np.ones(m), X]))
    coef = inverse @ y
    r = y - coef[0] - X @ coef[1:]
    errors = np.sqrt(r @ r / (m - n - 1)) * np.linalg.norm(inverse, axis=1)
    white = np.sqrt(inverse**2 @ r**2 * m / (m - n - 1))
    return coef[1:], errors[1:], white[1:]


@pytest.mark.parametrize(("m", "n"), [(1500, 5), (100, 30), (41, 30)])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, "blocks"])
def test_with_enough_rows_the_result_is_that_of_least_squares(m, n, kind):
    """Correlated columns of unequal scale, far from zero."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((m, n)) + 3.0 * rng.standard_normal((m, 1))
    X = 10.0 + X * np.geomspace(0.1, 10, n)
    y = X[:, 0] - X[:, 1] + rng.standard_normal(m) * np.abs(X[:, 0])
    data = BlockMatrix.from_arrays([X[:30], X[30:]]) if kind == "blocks" else kind(X)
    coef, errors, white = least_squares(X, y)
    found = desparsified(data, y)
    np.testing.assert_allclose(found.estimate, coef, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.standard_error, errors, rtol=1e-7)
    half = student.ppf(0.975, m - n - 1) * errors
    np.testing.assert_allclose(found.interval(), [coef - half, coef + half], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(
        found.p_value, 2 * student.sf(np.abs(coef / errors), m - n - 1), rtol=1e-5
    )
    assert not found.flagged.any() and found.bias_bound.max() < 1e-6
    robust = desparsified(data, y, errors="robust", features=[3, 0])
    np.testing.assert_allclose(robust.estimate, coef[[3, 0]], rtol=1e-7)
    np.testing.assert_allclose(robust.standard_error, white[[3, 0]], rtol=1e-7)


def test_nearly_equal_columns_far_from_zero_have_the_errors_of_least_squares():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((200, 4))
    X[:, 3] = X[:, 0] + 1e-5 * rng.standard_normal(200)
    y = X[:, 0] + rng.standard_normal(200)
    coef, errors, _ = least_squares(X, y)
    np.testing.assert_allclose(desparsified(X, y).z_value, coef / errors, rtol=1e-4)
    moved = X[:, :3] + np.array([1e9, 0.0, 1e7])
    coef, errors, _ = least_squares(moved - np.array([1e9, 0.0, 1e7]), y)
    found = desparsified(moved, y)
    np.testing.assert_allclose(found.estimate, coef, atol=1e-6 * errors.max())
    np.testing.assert_allclose(found.standard_error, errors, rtol=1e-6)
    assert not found.flagged.any()


def correlated_rows(rng, m, n, correlation):
    return np.sqrt(1 - correlation) * rng.standard_normal((m, n)) + np.sqrt(
        correlation
    ) * rng.standard_normal((m, 1))


@pytest.mark.parametrize(("m", "n"), [(300, 10), (40, 30), (40, 50)])
def test_intervals_of_correlated_columns_cover(m, n):
    """One coefficient and all of them at a time, where nothing is flagged."""
    covered, simultaneous, rejected = [], [], []
    beta = np.zeros(n)
    beta[[0, 3]] = 1.0, -1.0
    for number in range(40):
        rng = np.random.default_rng(number)
        X = correlated_rows(rng, m, n, 0.8)
        Y = (X @ beta)[:, None] + rng.standard_normal((m, 5))
        found = desparsified(X, Y)
        assert not found.flagged.any()
        lower, upper = found.interval(0.95)
        covered.append((lower <= beta[:, None]) & (beta[:, None] <= upper))
        lower, upper = found.simultaneous(0.9, n_draws=200, random_state=0)
        simultaneous.append(((lower <= beta[:, None]) & (beta[:, None] <= upper)).all(axis=0))
        rejected.append(found.group_test(np.arange(4, n), n_draws=200, random_state=0) < 0.1)
    shares = np.concatenate(covered, axis=1).mean(axis=1)
    assert shares.min() >= 0.88 and shares.mean() >= 0.93
    assert np.mean(simultaneous) >= 0.85
    assert np.mean(rejected) <= 0.15


def test_intervals_are_not_too_wide_where_columns_are_few():
    rng = np.random.default_rng(0)
    X = correlated_rows(rng, 60, 12, 0.8)
    beta = np.ones(12)
    found = desparsified(X, (X @ beta)[:, None] + rng.standard_normal((60, 400)))
    lower, upper = found.interval(0.9)
    assert 0.88 <= ((lower < 1) & (upper > 1)).mean() <= 0.92
    lower, upper = found.simultaneous(0.9, random_state=0)
    assert 0.85 <= ((lower < 1) & (upper > 1)).all(axis=0).mean() <= 0.95


@pytest.mark.parametrize("errors", ["equal", "robust"])
def test_dense_truths_on_few_rows_of_correlated_columns_are_flagged(errors):
    rng = np.random.default_rng(3)
    X = correlated_rows(rng, 50, 100, 0.8)
    Y = np.column_stack([X @ np.full(100, 0.2), X[:, 0]]) + rng.standard_normal((50, 2))
    with pytest.warns(UncertainIntervalWarning, match="the intervals of 1 responses") as seen:
        found = desparsified(X, Y, errors=errors)
    assert "of 100 columns to explain 50 rows" in str(seen[0].message)
    assert found.flagged[:, 0].all() and not found.flagged[:, 1].any()
    assert found.table()["flagged"][:100].all()
    # What the initial estimate misses counts as noise, so the intervals are wide.
    lower, upper = found.interval()
    assert np.mean((lower[:, 0] < 0.2) & (upper[:, 0] > 0.2)) > 0.9


def test_columns_that_rows_cannot_tell_apart_are_flagged_and_named():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 60))
    X[:, 7] = X[:, 2] + 0.01 * rng.standard_normal(40)
    y = X[:, 0] + rng.standard_normal(40)
    with pytest.warns(UncertainIntervalWarning, match=r"2 of 60 intervals \(x2, x7\)"):
        found = desparsified(X, y)
    assert np.flatnonzero(found.flagged).tolist() == [2, 7]


@pytest.mark.parametrize("errors", ["equal", "robust"])
def test_several_responses_are_as_each_alone(wide, errors):
    X, y = wide
    Y = np.column_stack([y, np.random.default_rng(0).standard_normal(60)])
    both = desparsified(X, Y, errors=errors, tol=1e-9)
    assert both.estimate.shape == (90, 2) and both.interval().shape == (2, 90, 2)
    for number in range(2):
        alone = desparsified(X, Y[:, number], errors=errors, scores=both.scores, tol=1e-9)
        np.testing.assert_allclose(both.estimate[:, number], alone.estimate, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(both.standard_error[:, number], alone.standard_error, rtol=1e-6)
        np.testing.assert_allclose(both.adjusted()[:, number], alone.adjusted(), atol=1e-5)
    table = both.table()
    assert len(table["estimate"]) == 180
    np.testing.assert_allclose(np.asarray(table["estimate"])[90:], both.estimate[:, 1])


def test_units_shift_and_storage_do_not_matter(wide, found):
    X, y = wide
    units = np.geomspace(1e-4, 1e4, X.shape[1])
    other = desparsified(sparse.csr_array(X * units), 1e3 * y - 7.0)
    np.testing.assert_allclose(other.z_value, found.z_value, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(other.standard_error * units, 1e3 * found.standard_error, rtol=1e-5)


def test_ready_scores_are_judged_by_their_bias(wide):
    X, y = wide
    regressions = nodewise(X, 1.7)
    ready = desparsified(X, y, scores=regressions.residuals(X))
    expected = X - X @ regressions.coef.T.toarray()
    np.testing.assert_allclose(ready.scores, expected - expected.mean(axis=0), atol=1e-10)
    # Worse regressions, such as those of a sketch, show in the bias bound.
    with pytest.warns(UncertainIntervalWarning):
        worse = desparsified(X, y, scores=X - 0.5 * X @ regressions.coef.T.toarray())
    assert worse.bias_bound.max() > 1.2 * ready.bias_bound.max()


def test_columns_that_others_explain_keep_something_of_their_own():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((15, 400))
    X[:, 1] = X[:, 0] + 1e-3 * rng.standard_normal(15)
    with pytest.warns(UncertainIntervalWarning, match="400 of 400 intervals"):
        found = desparsified(X, rng.standard_normal(15), tol=1e-8)
    length = np.linalg.norm(X - X.mean(axis=0), axis=0)
    inner = np.abs(np.sum(found.scores * X, axis=0))
    inflation = np.linalg.norm(found.scores, axis=0) * length / inner
    assert np.isfinite(found.standard_error).all() and inflation.max() <= 5.0


def test_intervals_cover_and_tests_keep_their_level():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((100, 120))
    beta = np.zeros(120)
    beta[:3] = 1.0, -0.5, 0.2
    Y = X @ beta[:, None] + rng.standard_normal((100, 200))
    found = desparsified(X, Y)
    lower, upper = found.interval(0.9)
    hits = (lower < beta[:, None]) & (beta[:, None] < upper)
    assert 0.87 <= hits[3:].mean() <= 0.94
    assert 0.85 <= hits[:3].mean() <= 0.97
    # Holm: at most one response in twenty with any false discovery, and chance on top of that.
    assert np.mean((found.adjusted("holm")[3:] < 0.05).any(axis=0)) <= 0.09


def test_simultaneous_intervals_hold_at_once():
    rng = np.random.default_rng(9)
    X = 0.8 * rng.standard_normal((100, 1)) + 0.6 * rng.standard_normal((100, 60))
    Y = rng.standard_normal((100, 300))
    found = desparsified(X, Y)
    lower, upper = found.simultaneous(0.9, random_state=0)
    covered = ((lower < 0) & (upper > 0)).all(axis=0).mean()
    assert 0.85 <= covered <= 0.96
    single, bonferroni = found.interval(0.9), found.interval(1 - 0.1 / 60)
    width = upper - lower
    assert np.all(width > single[1] - single[0])
    assert np.all(width < bonferroni[1] - bonferroni[0])
    # Group tests reject as often as they should when nothing is there.
    values = found.group_test(np.arange(10), random_state=0)
    assert values.shape == (300,) and 0.05 <= np.mean(values < 0.1) <= 0.15


@pytest.mark.parametrize("errors", ["equal", "robust"])
def test_group_tests_find_the_group_that_matters(wide, errors):
    X, y = wide
    found = desparsified(X, y, errors=errors)
    assert found.group_test([0, 1, 2], random_state=0) < 0.01
    assert found.group_test(np.arange(90) >= 10, random_state=0) > 0.05
    again = found.group_test([0, 1, 2], random_state=0)
    assert again == found.group_test([2, 1, 0], random_state=0)
    one = found.simultaneous(0.95, group=[7], n_draws=40_000, random_state=0)
    np.testing.assert_allclose(one[:, 0], found.interval(0.95)[:, 7], rtol=0.05, atol=1e-3)


def test_noise_that_depends_on_a_feature_needs_robust_errors():
    rng = np.random.default_rng(12)
    X = rng.standard_normal((200, 50))
    Y = rng.standard_normal((200, 300)) * np.abs(X[:, [0]])
    equal = desparsified(X, Y, features=[0])
    robust = desparsified(X, Y, features=[0], errors="robust", scores=equal.scores)
    assert np.mean(equal.p_value < 0.05) > 0.15
    assert np.mean(robust.p_value < 0.05) < 0.09


def test_adjustments_are_the_textbook_ones():
    p = np.array([0.01, 0.04, 0.03, 0.005, 0.5])
    np.testing.assert_allclose(adjusted_p_values(p, "holm"), [0.04, 0.09, 0.09, 0.025, 0.5])
    np.testing.assert_allclose(
        adjusted_p_values(p, "benjamini-hochberg"), [0.025, 0.05, 0.05, 0.025, 0.5]
    )
    harmonic = sum(1 / k for k in range(1, 6))
    np.testing.assert_allclose(
        adjusted_p_values(p, "benjamini-yekutieli"),
        np.minimum(1, harmonic * np.array([0.025, 0.05, 0.05, 0.025, 0.5])),
    )


def test_scores_continue_after_an_interruption(tmp_path, monkeypatch):
    monkeypatch.setattr("sketchlasso.inference.regressions.TARGETS_PER_PART", 25)
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((40, 70)), rng.standard_normal(40)
    seen = []

    def stop(done, total):
        if done == 50:
            raise KeyboardInterrupt

    path = tmp_path / "scores"
    with pytest.raises(KeyboardInterrupt):
        desparsified(X, y, checkpoint=path, progress=stop)
    solve = ColumnSolver._solve_part
    monkeypatch.setattr(
        ColumnSolver, "_solve_part", lambda *given: (seen.append(len(given[4])), solve(*given))[1]
    )
    found = desparsified(X, y, checkpoint=path)
    assert seen == [20]
    expected = desparsified(X, y)
    np.testing.assert_array_equal(found.estimate, expected.estimate)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"score_alpha": "small"}, "score_alpha must be 'auto' or a number > 0, not 'small'"),
        ({"score_alpha": 1e-9}, "larger score_alpha"),
        ({"initial": np.zeros(89)}, r"initial has shape \(89,\)"),
        ({"noise": -1.0}, "noise must be a finite number > 0, not -1.0"),
        ({"scores": np.ones((60, 3))}, r"scores has shape \(60, 3\)"),
        ({"errors": "hc3"}, "'hc3'"),
        ({"feature_names": ["a", "b", "c"]}, "3 names were given"),
    ],
)
def test_bad_options_are_refused_in_one_sentence(wide, options, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        desparsified(*wide, **options)


def test_data_without_an_answer_are_refused_in_one_sentence(wide):
    X, y = wide
    copied = np.column_stack([X[:, :7], 5.0 - 3.0 * X[:, 2]])
    summed = np.column_stack([X[:, :8], X[:, 1] + X[:, 4]])
    blocks = BlockMatrix.from_arrays([copied[:30], copied[30:]])
    for data, response, says in (
        (X[:9], y[:9], "X has 9 samples"),
        (np.where(np.arange(90) == 3, 1.0, X), y, "column x3 is constant"),
        (np.column_stack([X, X[:, 2]]), y, "columns x2, x90 are exact combinations"),
        (sparse.csr_array(copied), y, "columns x2, x7 are exact combinations"),
        (blocks, y, "columns x2, x7 are exact combinations"),
        (summed, y, "columns x1, x4, x8 are exact combinations"),
        (copied + 1e8, y, "columns x2, x7 are exact combinations"),
        (X, np.ones(60), "y is constant"),
    ):
        with pytest.raises(InvalidInputError, match=says):
            desparsified(data, response)
    for method, argument in (("interval", 95), ("simultaneous", 0.0), ("group_test", [90])):
        with pytest.raises(InvalidInputError):
            getattr(desparsified(X[:, :5], y), method)(argument)


@pytest.mark.parametrize("shape", [(200, 12), (40, 50)])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_blocks_give_the_same_as_the_whole(shape, kind):
    """Two responses, on tall and on wide data with large means and unequal columns."""
    rng = np.random.default_rng(5)
    m, n = shape
    X = 50.0 + rng.standard_normal(shape) * np.geomspace(0.1, 10, n)
    Y = (X[:, :2] / X[:, :2].std(axis=0)) @ [[2.0, 0.0], [-2.0, 1.0]]
    Y = 5.0 + Y + rng.standard_normal((m, 2))
    blocks = BlockMatrix.from_arrays([kind(X[:15]), kind(X[15:])])
    here, there = (desparsified(data, Y, tol=1e-10) for data in (X, blocks))
    np.testing.assert_allclose(there.initial, here.initial, atol=1e-7 * np.abs(here.initial).max())
    np.testing.assert_allclose(there.noise, here.noise, rtol=1e-6)
    np.testing.assert_allclose(
        there.estimate / here.standard_error, here.estimate / here.standard_error, atol=1e-5
    )
    np.testing.assert_allclose(there.standard_error, here.standard_error, rtol=1e-5)
    np.testing.assert_allclose(there.bias_bound, here.bias_bound, rtol=1e-4, atol=1e-7)


def test_frames_of_numbers_and_truth_values_are_matrices(wide):
    pandas = pytest.importorskip("pandas")
    X, y = wide
    X = np.column_stack([X[:, :7], np.arange(60) % 3 == 0])
    frame = pandas.DataFrame(X[:, :7], columns=list("abcdefg")).assign(third=X[:, 7] > 0)
    found = desparsified(frame, y)
    np.testing.assert_array_equal(found.estimate, desparsified(X, y).estimate)
    assert found.table()["feature"] == [*"abcdefg", "third"]
    np.testing.assert_array_equal(nodewise(frame).coef.toarray(), nodewise(X).coef.toarray())
    words = frame.assign(city="Oslo", street="main")
    with pytest.raises(InvalidInputError, match=r"'city', 'street'.*OneHotEncoder"):
        desparsified(words, y)
