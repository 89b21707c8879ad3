"""Graphs of columns: edges found, time, 10,000 variables, and a gene network.

Four experiments. `path`: 20 penalties of huge's range on hub_400 (huge's TIGER took 3.8 s there
and crashes at 1,000 variables). `edges`: precision, recall and F1 against graphs that are known,
for each way to choose the penalty, beside scikit-learn's GraphicalLassoCV up to `--peer-size`
variables, stopped after `--peer-limit` seconds. `wide`: one regression for
each of many variables, with its memory. `dream4`: area under the precision-recall curve of
regulators, beside correlation and random forests (GENIE3's recipe).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import average_precision_score

from benchmarks.catalogue import MissingDataError, data_file
from benchmarks.datasets import SEED
from benchmarks.harness import interleave, timed
from benchmarks.machine import peak_memory_bytes
from benchmarks.report import Report
from sketchlasso.graphs import links_of
from sketchlasso.inference import SparsePrecision, neighbourhoods, nodewise

EXPERIMENTS = ("path", "edges", "wide", "dream4")
KINDS = ("hub", "band", "scale-free", "random")
GRAPHICAL_LASSO = """
import sys, time, warnings
import numpy as np
from sklearn.covariance import GraphicalLassoCV
warnings.simplefilter("ignore")
X = np.load(sys.argv[1] + "/X.npy")
X = (X - X.mean(axis=0)) / X.std(axis=0)
start = time.perf_counter()
found = GraphicalLassoCV(n_jobs=2).fit(X).precision_
print(time.perf_counter() - start)
np.save(sys.argv[1] + "/precision.npy", found)
"""
# huge's range of penalties on hub_400, in units of 1 / sqrt(m).
HUGE_RANGE = (0.642, 0.0642, 20)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", nargs="+", choices=EXPERIMENTS, default=EXPERIMENTS)
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=KINDS, help="made graphs")
    parser.add_argument(
        "--sizes", type=int, nargs="+", help="variables (100, 400, 1000, 2000; quick: 40)"
    )
    parser.add_argument("--rows", type=int, default=400, help="samples of the simulated graphs")
    parser.add_argument("--peer-size", type=int, help="of GraphicalLassoCV (400; quick: 40)")
    parser.add_argument("--cv-size", type=int, default=1000, help="most variables for likelihood")
    parser.add_argument("--stars-size", type=int, default=100, help="most variables for StARS")
    parser.add_argument("--wide", type=int, help="variables of `wide` (10,000; quick: 500)")
    parser.add_argument("--wide-rows", type=int, help="samples of `wide` (1,000; quick: 100)")
    parser.add_argument("--trees", type=int, help="of the forests (100; quick: 5)")


def run(options: argparse.Namespace) -> None:
    report = options.report
    nodewise(
        np.random.default_rng(SEED).standard_normal((60, 20)), [3.0, 2.0, 1.0, 0.5]
    )  # compiles
    work: dict[str, Callable[[argparse.Namespace, Report], None]] = {
        "path": huge_path,
        "edges": known_graphs,
        "wide": many_variables,
        "dream4": dream4,
    }
    for name in options.only:
        try:
            work[name](options, report)
        except MissingDataError as error:
            report.note(f"{name}: skipped. {error}")


def huge_path(options: argparse.Namespace, report: Report) -> None:
    """20 penalties of huge's range on its own hub graph."""
    X, truth = hub_400()
    alphas = np.geomspace(*HUGE_RANGE) * np.sqrt(len(X))
    measured = interleave({"ours": lambda: nodewise(X, alphas)}, options.repeats, warm_up=False)[
        "ours"
    ]
    found = measured.value
    scores = []
    for number in range(len(alphas)):
        coef = found.penalty(number).coef.toarray()
        scores.append(judged(truth, coef * coef.T > 0)["F1"])
    best = int(np.argmax(scores))
    report.add(
        experiment="path",
        data="hub_400",
        rows=len(X),
        variables=X.shape[1],
        method="20 penalties of huge's range",
        seconds=measured.median,
        **{
            "worst gap": found.worst_gap,
            "unsolved": int((~found.solved).sum()),
            "F1": scores[best],
            "penalty": HUGE_RANGE[0] * 0.1 ** (best / 19),
        },
    )
    report.note("huge 1.3.5 (TIGER, the same 20 penalties): 3.8 s; F1 of `path` is the best of all")


def known_graphs(options: argparse.Namespace, report: Report) -> None:
    """Edges against the truth."""
    peer_size = options.peer_size or (40 if options.quick else 400)
    try:
        X, truth = hub_400()
        compare("hub_400", X, truth, options, peer_size, report)
    except MissingDataError as error:
        report.note(f"hub_400: skipped. {error}")
    for size in options.sizes or ([40] if options.quick else [100, 400, 1000, 2000]):
        for kind in options.kinds:
            X, truth = made_graph(kind, size, options.rows)
            compare(kind, X, truth, options, peer_size, report)


def compare(
    name: str,
    X: np.ndarray,
    truth: np.ndarray,
    options: argparse.Namespace,
    peer_size: int,
    report: Report,
) -> None:
    """One row for each way to choose the penalty, and one for GraphicalLassoCV."""
    methods: dict[str, Callable[[], np.ndarray]] = {
        "pivotal, and": lambda: ours(X, "pivotal", "and"),
        "pivotal, or": lambda: ours(X, "pivotal", "or"),
        "EBIC, and": lambda: ours(X, "ebic", "and"),
    }
    if X.shape[1] <= options.cv_size:
        methods["likelihood (5 folds), and"] = lambda: ours(X, "cv", "and")
    if X.shape[1] <= options.stars_size:
        methods["StARS, and"] = lambda: ours(X, "stars", "and")
    row = {"experiment": "edges", "data": name, "rows": X.shape[0], "variables": X.shape[1]}
    for method, work in methods.items():
        done = timed(work)
        scores = judged(truth, _edges(done.value))
        report.add(**row, method=method, seconds=done.seconds, **scores)
    if X.shape[1] <= peer_size:
        found = graphical_lasso(X, options.peer_limit)
        if found is None:
            report.note(f"{name}: GraphicalLassoCV was ended after {options.peer_limit:g} s")
        else:
            precision, seconds = found
            scores = judged(truth, _edges(precision))
            report.add(**row, method="GraphicalLassoCV", seconds=seconds, **scores)


def _edges(precision: np.ndarray) -> np.ndarray:
    return (np.abs(precision) > 1e-8) & ~np.eye(len(precision), dtype=bool)


def ours(X: np.ndarray, alpha: str, rule: Any) -> np.ndarray:
    return np.asarray(SparsePrecision(alpha, rule=rule, random_state=SEED).fit(X).precision_)


def graphical_lasso(X: np.ndarray, limit: float) -> tuple[np.ndarray, float] | None:
    """Precision matrix and seconds, or None where it takes longer than the limit."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "X.npy", X)
        command = [sys.executable, "-c", GRAPHICAL_LASSO, folder]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=limit, check=True
            )
        except subprocess.TimeoutExpired:
            return None
        return np.load(Path(folder) / "precision.npy"), float(done.stdout)


def many_variables(options: argparse.Namespace, report: Report) -> None:
    """One regression per variable at the pivotal penalty, on a band graph."""
    n = options.wide or (500 if options.quick else 10_000)
    m = options.wide_rows or (100 if options.quick else 1_000)
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((m, n))
    for j in range(1, n):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    before = peak_memory_bytes()
    done = timed(lambda: neighbourhoods(X))
    found = done.value
    graph = links_of(found.graph("and"))
    near = np.diff(graph.edges, axis=1).ravel() == 1
    hits = int(near.sum())
    report.add(
        experiment="wide",
        data="band",
        rows=m,
        variables=n,
        method="pivotal, and",
        seconds=done.seconds,
        edges=len(graph.edges),
        **{
            "true edges": n - 1,
            "precision": hits / max(1, len(graph.edges)),
            "recall": hits / (n - 1),
            "F1": 2 * hits / (len(graph.edges) + n - 1),
            "worst gap": found.regressions.worst_gap,
            "unsolved": int((~found.regressions.solved).sum()),
            "peak GiB": peak_memory_bytes() / 2**30,
        },
    )
    report.note(f"peak memory before `wide`: {before / 2**30:.2f} GiB")


def dream4(options: argparse.Namespace, report: Report) -> None:
    """Area under the precision-recall curve of directed edges."""
    expression, gold = (
        _table(data_file("dream4", name), "\t") for name in ("expression.tsv", "gold_standard.tsv")
    )
    X, n = expression.T, len(gold)
    off = ~np.eye(n, dtype=bool)
    trees = options.trees or (5 if options.quick else 100)
    methods: dict[str, Callable[[], np.ndarray]] = {
        "absolute correlation": lambda: np.abs(np.corrcoef(X.T)),
        "weights, pivotal penalty": lambda: np.abs(neighbourhoods(X).weights.toarray()),
        "stability, 50 half-samples, penalty 1.5": lambda: stability(X),
        f"random forests, {trees} trees": lambda: forests(X, trees),
    }
    areas = {}
    for method, work in methods.items():
        done = timed(work)
        areas[method] = float(average_precision_score(gold[off] != 0, done.value[off]))
        report.add(
            experiment="dream4",
            data="dream4",
            rows=X.shape[0],
            variables=n,
            method=method,
            seconds=done.seconds,
            **{
                "true edges": int(gold[off].sum()),
                "area": areas[method],
            },
        )
    best = max(areas, key=lambda method: areas[method])
    report.note(f"dream4: `area` is under the precision-recall curve; the largest is of {best}")


def stability(X: np.ndarray) -> np.ndarray:
    found = neighbourhoods(X, alpha=1.5, n_half_samples=50, random_state=SEED)
    assert found.stability is not None
    return np.asarray(found.stability.toarray())


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
    folder = data_file().parent / "oracles"
    if not (folder / "hub_400.csv").exists():
        raise MissingDataError("hub_400.csv is not in the folder of oracles beside the data.")
    X, truth = (_table(folder / f"{name}.csv", ",") for name in ("hub_400", "hub_400_truth"))
    return X, truth != 0


def _table(path: Path, separator: str) -> np.ndarray:
    """Numbers of a table, less a line of names and a column of names where there are such."""
    lines = [line.split(separator) for line in path.read_text(encoding="utf-8").splitlines()]
    if not _is_number(lines[0][-1]):
        lines = lines[1:]
    if not _is_number(lines[0][0]):
        lines = [line[1:] for line in lines]
    return np.array(lines, dtype=float)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


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


def judged(truth: np.ndarray, found: np.ndarray) -> dict[str, Any]:
    """Edges found and true, precision, recall and F1."""
    above = np.triu_indices(len(truth), 1)
    real, seen = truth[above], found[above]
    hits = int((real & seen).sum())
    return {
        "edges": int(seen.sum()),
        "true edges": int(real.sum()),
        "precision": hits / max(1, int(seen.sum())),
        "recall": hits / max(1, int(real.sum())),
        "F1": 2 * hits / max(1, int(real.sum() + seen.sum())),
    }
