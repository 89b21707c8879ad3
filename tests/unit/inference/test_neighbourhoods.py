"""Neighbourhoods: edges, both rules, half-samples, tests of pairs, resumable parts."""

import re

import numpy as np
import pytest
from scipy import sparse, stats

from sketchlasso.errors import DuplicateColumnWarning, InvalidInputError
from sketchlasso.graphs import links_of
from sketchlasso.inference import neighbourhoods, nodewise
from sketchlasso.inference.regressions import ColumnSolver
from sketchlasso.io import BlockMatrix


def chained(m=200, n=10, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    for j in range(1, n):
        X[:, j] += 0.7 * X[:, j - 1]
    return 2.0 + X * np.geomspace(0.1, 10.0, n)


def test_edges_are_the_regressions_of_columns_in_units_of_their_deviations():
    X = chained()
    found = neighbourhoods(X)
    own = nodewise(X)
    np.testing.assert_array_equal(found.regressions.coef.toarray(), own.coef.toarray())
    scales = X.std(axis=0)
    np.testing.assert_allclose(
        found.weights.toarray(), own.coef.toarray() * scales / scales[:, None]
    )
    table = found.table()
    assert (np.diff(np.abs(table["weight"])) <= 0).all()
    for source, target, coefficient in zip(
        table["source"], table["target"], table["coefficient"], strict=True
    ):
        assert own.coef[int(target[1:]), int(source[1:])] == coefficient
    assert set(table) == {"source", "target", "weight", "coefficient"}


def test_a_chain_is_found_under_both_rules():
    found = neighbourhoods(chained(m=400), alpha=5.0)
    for rule in ("and", "or"):
        graph = links_of(found.graph(rule))
        assert graph.edges.tolist() == [[j, j + 1] for j in range(9)]
        pairs = np.array([[found.weights[j, j + 1], found.weights[j + 1, j]] for j in range(9)])
        expected = pairs.min(axis=1) if rule == "and" else pairs.max(axis=1)
        np.testing.assert_allclose(graph.weights, expected)


def test_targets_among_regulators_keep_their_names():
    pd = pytest.importorskip("pandas")
    X = chained()
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(10)])
    found = neighbourhoods(frame, ["g3", "g4"], ["g2", "g5", "g4"])
    np.testing.assert_array_equal(found.targets, [3, 4])
    np.testing.assert_array_equal(found.predictors, [2, 5, 4])
    edges = set(zip(found.table()["source"], found.table()["target"], strict=True))
    assert {("g2", "g3"), ("g4", "g3"), ("g5", "g4")} <= edges
    # g3 is no predictor, so the reverse of g4 -> g3 was never asked for: one direction is enough.
    for rule in ("and", "or"):
        graph = found.graph(rule)
        assert list(graph) == ["g2", "g3", "g4", "g5"]
        assert set(graph.edges) == {tuple(sorted(pair)) for pair in edges}
    by_index = neighbourhoods(X, [3, 4], [2, 5, 4], names=list(frame.columns))
    np.testing.assert_allclose(by_index.weights.toarray(), found.weights.toarray(), rtol=1e-12)


def test_a_penalty_near_the_largest_leaves_strong_links_on_half_samples_too():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((100, 6))
    X[:, 1] = X[:, 0] + 0.1 * rng.standard_normal(100)
    found = neighbourhoods(X, alpha=8.0, n_half_samples=10, random_state=0)
    assert sorted(found.table()["source"]) == ["x0", "x1"]
    np.testing.assert_array_equal(found.table()["stability"], 1.0)


@pytest.mark.parametrize("m", [200, 30])
def test_columns_that_others_determine_are_named_and_have_no_p_value(m):
    X = chained(m=m, n=40, seed=2)
    X[:, 7], X[:, 30] = 1.0 - X[:, 2], 5.0 * X[:, 2]
    with pytest.warns(DuplicateColumnWarning, match="x2, x7.*no p-value") as seen:
        found = neighbourhoods(X, alpha=2.0, p_values=True)
    assert len(seen) == 1
    table = found.table()
    copies = {"x2", "x7", "x30"}
    of_copies = [
        bool({a, b} & copies) for a, b in zip(table["source"], table["target"], strict=True)
    ]
    np.testing.assert_array_equal(np.isnan(table["p_value"]), of_copies)
    assert np.isfinite(np.asarray(table["p_value"])[~np.array(of_copies)]).any()


def test_stability_is_the_share_of_half_samples_with_an_edge():
    X = chained(m=60, n=8, seed=3)
    found = neighbourhoods(X, alpha=1.2, n_half_samples=6, random_state=5)
    assert found.n_half_samples == 6
    rng = np.random.default_rng(5)
    counts, joined = np.zeros((8, 8)), {"and": np.zeros((8, 8)), "or": np.zeros((8, 8))}
    for _ in range(3):
        order = rng.permutation(60)
        for rows in (order[:30], order[30:]):
            coef = nodewise(X[np.sort(rows)], 1.2 / np.sqrt(2)).coef.toarray()
            counts += coef != 0
            joined["or"] += (coef != 0) | (coef.T != 0)
            joined["and"] += coef * coef.T > 0
    np.testing.assert_allclose(found.stability.toarray(), counts / 6)
    table = found.table()
    for source, target, share in zip(
        table["source"], table["target"], table["stability"], strict=True
    ):
        assert share == pytest.approx(counts[int(target[1:]), int(source[1:])] / 6)
    for rule in ("and", "or"):
        graph = found.graph(rule)
        shares = {pair: graph.edges[pair]["stability"] for pair in graph.edges}
        for (a, b), share in shares.items():
            assert share == pytest.approx(joined[rule][int(a[1:]), int(b[1:])] / 6)
        assert len(set(shares.values())) > 1
        stable = found.graph(rule, min_stability=0.9)
        assert set(stable.edges) == {pair for pair, share in shares.items() if share >= 0.9}
    blocks = BlockMatrix.from_arrays([X[:7], X[7:40], X[40:]])
    again = neighbourhoods(blocks, alpha=1.2, n_half_samples=6, random_state=5)
    np.testing.assert_array_equal(again.stability.toarray(), found.stability.toarray())


def test_without_a_penalty_the_tests_are_those_of_partial_correlations():
    X = chained(m=80, n=5, seed=1)
    found = neighbourhoods(X, alpha=1e-6, tol=1e-8, p_values=True)
    precision = np.linalg.inv(np.cov(X.T))
    size = np.sqrt(np.diag(precision))
    partial = -precision / np.outer(size, size)
    expected = 2 * stats.norm.sf(np.sqrt(80) * np.abs(partial))
    off = ~np.eye(5, dtype=bool)
    np.testing.assert_allclose(found.p_values.toarray()[off], expected[off], rtol=1e-4)
    graph = found.graph()
    for a, b, p_value in graph.edges(data="p_value"):
        assert p_value == pytest.approx(expected[int(a[1:]), int(b[1:])], rel=1e-4)


def test_tests_of_absent_edges_are_as_large_as_chance():
    values = []
    for seed in range(30):
        X = np.random.default_rng(seed).standard_normal((500, 12))
        # A small penalty, so that almost every pair is chosen and none by its size.
        found = neighbourhoods(X, alpha=0.02, p_values=True)
        tested = sparse.triu(found.p_values).tocoo().data
        assert len(tested) > 58
        values.append(tested)
    assert stats.kstest(np.concatenate(values), "uniform").statistic < 0.05


def test_an_interrupted_call_continues_where_it_ended(tmp_path, monkeypatch):
    monkeypatch.setattr("sketchlasso.inference.regressions.TARGETS_PER_PART", 4)
    X, path = chained(m=60), tmp_path / "genes"
    options = {"n_half_samples": 2, "random_state": 7}
    whole = neighbourhoods(X, **options)
    calls = []

    def stop(done, total):
        calls.append((done, total))
        if len(calls) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        neighbourhoods(X, **options, checkpoint=path, progress=stop)
    assert calls == [(4, 30), (8, 30), (10, 30), (14, 30)]
    kept = sorted(file.name for file in (tmp_path / "genes.parts").glob("*.part"))
    assert len(kept) == 4
    # A damaged part is solved again.
    damaged = tmp_path / "genes.parts" / kept[1]
    damaged.write_bytes(damaged.read_bytes()[:-3])
    solved = []
    solve = ColumnSolver._solve_part
    monkeypatch.setattr(
        ColumnSolver, "_solve_part", lambda *given: solved.append(1) or solve(*given)
    )
    found = neighbourhoods(X, **options, checkpoint=path)
    assert len(solved) == 9 - 3
    np.testing.assert_array_equal(found.weights.toarray(), whole.weights.toarray())
    np.testing.assert_array_equal(found.stability.toarray(), whole.stability.toarray())
    np.testing.assert_array_equal(found.regressions.status, whole.regressions.status)
    assert not (tmp_path / "genes.parts").exists()


def test_parts_of_other_data_are_not_used(tmp_path):
    X, path = chained(m=60), tmp_path / "genes"

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        neighbourhoods(X, checkpoint=path, progress=stop)
    for other in ({"X": X + np.eye(60, 10)}, {"X": X, "alpha": 2.0}, {"X": X, "targets": [1]}):
        with pytest.raises(InvalidInputError, match="parts of another data set or other settings"):
            neighbourhoods(**other, checkpoint=path)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"n_half_samples": 3}, "n_half_samples must be an even number >= 0, not 3"),
        (
            {"alpha": [1.0, 2.0]},
            "alpha must be 'pivotal' or one number > 0, not an array of shape (2,);",
        ),
        ({"alpha": None}, "alpha=None was given, but 'pivotal', a finite number > 0"),
        ({"targets": ["x1", "y1"]}, "targets names 'y1', which is not a column of X"),
    ],
)
def test_bad_options_get_one_sentence(options, says):
    with pytest.raises(InvalidInputError, match=re.escape(says)):
        neighbourhoods(chained(), **options)


def test_few_rows_and_unknown_rules_are_refused():
    few = chained(m=15)
    with pytest.raises(InvalidInputError, match="at least 10"):
        neighbourhoods(few[:9])
    with pytest.raises(InvalidInputError, match="half-samples need at least 20"):
        neighbourhoods(few, n_half_samples=2)
    with pytest.raises(InvalidInputError, match=r"min_stability=0\.5"):
        neighbourhoods(chained()).graph(min_stability=0.5)
