"""Graphs of columns: edges against known graphs, time, 10,000 variables, and a gene network.

Three experiments. `edges`: precision, recall and F1 against graphs that are known,
for each way to choose the penalty, beside scikit-learn's GraphicalLassoCV up to `--peer-size`
variables, stopped after `--peer-limit` seconds. `wide`: one regression for each of many variables,
with its memory. `dream4`: area under the precision-recall curve of regulators, beside correlation
and random forests (GENIE3's recipe).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.covariance import GraphicalLassoCV
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import average_precision_score

from benchmarks.datasets import SEED, MissingDataError, data_file
from benchmarks.harness import run_limited, timed
from benchmarks.report import peak_gib
from sketchlasso.graphs import links_of
from sketchlasso.inference import SparsePrecision, neighbourhoods

KINDS = ("hub", "band", "scale-free", "random")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", nargs="+", choices=list(EXPERIMENTS), default=list(EXPERIMENTS))
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=KINDS, help="made graphs")
    parser.add_argument(
        "--sizes", type=int, nargs="+", help="variables (100, 400, 1000, 2000; quick: 40)"
    )
    parser.add_argument("--peer-size", type=int, help="of GraphicalLassoCV (400; quick: 40)")
    parser.add_argument("--wide", type=int, help="variables of `wide` (10,000; quick: 500)")


def run(options: argparse.Namespace) -> None:
    neighbourhoods(np.random.default_rng(SEED).standard_normal((60, 20)))  # compiles
    for name in options.only:
        try:
            EXPERIMENTS[name](options)
        except MissingDataError as error:
            options.report.note(f"{name}: skipped. {error}")


def known_graphs(options: argparse.Namespace) -> None:
    """Edges against the truth."""
    try:
        compare("hub_400", *hub_400(), options)
    except MissingDataError as error:
        options.report.note(f"hub_400: skipped. {error}")
    for size in options.sizes or ([40] if options.quick else [100, 400, 1000, 2000]):
        for kind in options.kinds:
            compare(kind, *made_graph(kind, size, 400), options)


def compare(name: str, X: np.ndarray, truth: np.ndarray, options: argparse.Namespace) -> None:
    """One row for each way to choose the penalty, and one for GraphicalLassoCV."""
    ways = {"pivotal, and": ("pivotal", "and"), "pivotal, or": ("pivotal", "or")}
    ways["EBIC, and"] = ("ebic", "and")
    if X.shape[1] <= 1000:
        ways["likelihood (5 folds), and"] = ("cv", "and")
    if X.shape[1] <= 100:
        ways["StARS, and"] = ("stars", "and")
    outcomes = {}
    for way, (alpha, rule) in ways.items():
        model = SparsePrecision(alpha, rule=rule, random_state=SEED)  # type: ignore[arg-type]
        outcomes[way] = timed(lambda model=model: np.asarray(model.fit(X).precision_))
    if X.shape[1] <= (options.peer_size or (40 if options.quick else 400)):
        outcomes["GraphicalLassoCV"] = run_limited(graphical_lasso, (X,), options.peer_limit)
    for way, outcome in outcomes.items():
        row = {"experiment": "edges", "data": name, "rows": len(X), "variables": X.shape[1]}
        row |= {"method": way, "seconds": outcome.seconds}
        if outcome.failure:
            options.report.add(**row, failure=outcome.failure)
        else:
            options.report.add(**row, **judged(truth, np.abs(outcome.value) > 1e-8))


def graphical_lasso(X: np.ndarray) -> Callable[[], np.ndarray]:
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return lambda: np.asarray(GraphicalLassoCV(n_jobs=2).fit(Z).precision_)


def many_variables(options: argparse.Namespace) -> None:
    """One regression per variable at the pivotal penalty, on a band graph."""
    n, m = (options.wide or 500, 100) if options.quick else (options.wide or 10_000, 1_000)
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((m, n))
    for j in range(1, n):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    before = peak_gib()
    outcome = timed(partial(neighbourhoods, X))
    edges = links_of(outcome.value.graph("and")).edges
    hits = int((np.diff(edges, axis=1).ravel() == 1).sum())
    options.report.add(
        experiment="wide",
        data="band",
        rows=m,
        variables=n,
        method="pivotal, and",
        seconds=outcome.seconds,
        **scores_of(hits, len(edges), n - 1),
        **{
            "worst gap": outcome.value.regressions.worst_gap,
            "unsolved": int((~outcome.value.regressions.solved).sum()),
            "peak GiB": peak_gib(),
        },
    )
    options.report.note(f"peak memory before `wide`: {before:.2f} GiB")


def dream4(options: argparse.Namespace) -> None:
    """Area under the precision-recall curve of directed edges."""
    X = table(data_file("dream4", "expression.tsv"), "\t").T
    gold = table(data_file("dream4", "gold_standard.tsv"), "\t")
    off = ~np.eye(len(gold), dtype=bool)
    trees = 5 if options.quick else 100
    methods: dict[str, Callable[[], Any]] = {
        "absolute correlation": lambda: np.abs(np.corrcoef(X.T)),
        "weights, pivotal penalty": lambda: np.abs(neighbourhoods(X).weights.toarray()),
        "stability, 50 half-samples, penalty 1.5": lambda: stability(X),
        f"random forests, {trees} trees": lambda: forests(X, trees),
    }
    for method, work in methods.items():
        outcome = timed(work)
        area = float(average_precision_score(gold[off] != 0, outcome.value[off]))
        options.report.add(
            experiment="dream4",
            data="dream4",
            rows=X.shape[0],
            variables=len(gold),
            method=method,
            seconds=outcome.seconds,
            area=area,
            **{"true edges": int(gold[off].sum())},
        )
    options.report.note("dream4: `area` is under the precision-recall curve")


def stability(X: np.ndarray) -> np.ndarray:
    graph = neighbourhoods(X, alpha=1.5, n_half_samples=50, random_state=SEED)
    assert graph.stability is not None
    return np.asarray(graph.stability.toarray())


def forests(X: np.ndarray, trees: int) -> np.ndarray:
    """Importances of every gene for every other one, in units of the target's variance."""
    n = X.shape[1]
    scores = np.zeros((n, n))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    for j in range(n):
        others = np.delete(np.arange(n), j)
        forest = RandomForestRegressor(trees, max_features="sqrt", n_jobs=2, random_state=SEED)
        scores[j, others] = forest.fit(Z[:, others], Z[:, j]).feature_importances_
    return scores


def hub_400() -> tuple[np.ndarray, np.ndarray]:
    """Huge's hub graph: rows (100, 400) and adjacency (400, 400)."""
    X, truth = (
        table(data_file("..", "oracles", f"{name}.csv"), ",")
        for name in ("hub_400", "hub_400_truth")
    )
    return X, truth != 0


def table(path: Path, delimiter: str) -> np.ndarray:
    """Numbers of a table below its line of names, without a column of names."""
    values = np.genfromtxt(path, delimiter=delimiter, skip_header=1)
    return values[:, ~np.isnan(values).all(axis=0)]


def made_graph(kind: str, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Normal rows (m, n) and adjacency (n, n) of a graph, made as huge makes its own."""
    rng = np.random.default_rng(SEED)
    truth = np.zeros((n, n), dtype=bool)
    if kind == "hub":
        for start in range(0, n, 20):
            truth[start, start + 1 : start + 20] = True
    elif kind == "band":
        truth[np.arange(n - 1), np.arange(1, n)] = True
    elif kind == "scale-free":
        ends = [0, 1]
        truth[0, 1] = True
        for node in range(2, n):
            other = int(rng.choice(ends))
            truth[other, node] = True
            ends += [other, node]
    else:
        truth = np.triu(rng.random((n, n)) < 3.0 / n, 1)
    truth |= truth.T
    precision = 0.3 * truth
    precision += (abs(float(np.linalg.eigvalsh(precision).min())) + 0.2) * np.eye(n)
    covariance = np.linalg.inv(precision)
    scale = np.sqrt(np.diag(covariance))
    root = np.linalg.cholesky(covariance / np.outer(scale, scale))
    return rng.standard_normal((m, n)) @ root.T, truth


def judged(truth: np.ndarray, graph: np.ndarray) -> dict[str, Any]:
    """Edges above the diagonal, against the true ones."""
    above = np.triu_indices(len(truth), 1)
    real, seen = truth[above], graph[above]
    return scores_of(int((real & seen).sum()), int(seen.sum()), int(real.sum()))


def scores_of(hits: int, edges: int, real: int) -> dict[str, Any]:
    return {
        "edges": edges,
        "true edges": real,
        "precision": hits / max(1, edges),
        "recall": hits / max(1, real),
        "F1": 2 * hits / max(1, real + edges),
    }


EXPERIMENTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "edges": known_graphs,
    "wide": many_variables,
    "dream4": dream4,
}
