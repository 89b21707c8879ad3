"""Sparse inverse covariance by neighbourhood regressions, checked against a known graph."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from benchmarks.harness import timed
from sklearn.covariance import GraphicalLassoCV, graphical_lasso
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.metrics import f1_score, precision_score, recall_score

import sketchlasso as sl
from reproduction.data import SEED
from reproduction.drawing import PALETTE, drawn, tidy
from reproduction.experiment import Finding, Plan, Results, Say, Section, Sheet, judged
from reproduction.words import count, number, percent, seconds, share

TITLE = "Introduction: sparse inverse covariance"

REAL = {"wine": load_wine, "breast_cancer": load_breast_cancer}
EDGES_PER_FEATURE, MARGIN = 1.5, 0.02
# Share of common edges, of all that either has, from which on both count as the same.
SAME_STORY = 0.5
SCORES = {"f1": f1_score, "precision": precision_score, "recall": recall_score}


def run(plan: Plan, say: Say) -> Section:
    """Both estimates on samples of graphs that are known, and on real data."""
    n, m, graphs = (20, 300, 2) if plan.quick else (60, 600, 5)
    rows: list[Results] = []
    for place in range(graphs):
        X, truth = _sample(n, m, SEED + place)
        ours, theirs = timed(partial(_neighbourhoods, X)), timed(partial(GraphicalLassoCV().fit, X))
        precision = theirs.value.precision_
        real, mine, peer = (
            _edges(graph) for graph in (truth, ours.value, np.abs(precision) > 1e-8)
        )
        row: Results = {"edges": int(real.sum()), "ours": int(mine.sum()), "peer": int(peer.sum())}
        row |= {"agreement": float(np.mean(mine == peer))}
        row |= {"ours seconds": ours.seconds, "peer seconds": theirs.seconds}
        for name, score in SCORES.items():
            row |= {
                f"ours {name}": float(score(real, mine)),
                f"peer {name}": float(score(real, peer)),
            }
        rows.append({**row, "truth": np.triu(truth, 1), "graph": np.triu(ours.value, 1)})
        say(f"graph {place + 1}: F1 {row['ours f1']:.3f}")
    names, penalties = (["wine"], 8) if plan.quick else (list(REAL), 20)
    known = [_on_real_data(name, penalties) for name in names]
    heads = (
        "graph", "true edges", "edges, ours", "F1, ours", "edges, GraphicalLassoCV",
        "F1, GraphicalLassoCV", "pairs on which both agree",
    )  # fmt: skip
    table = [
        (place, row["edges"], row["ours"], share(row["ours f1"]), row["peer"],
         share(row["peer f1"]), share(row["agreement"]))
        for place, row in enumerate(rows, start=1)
    ]  # fmt: skip
    columns = (
        "data", "size", "edges, ours", "edges, graphical LASSO", "in common, of all",
        "largest correlation",
    )  # fmt: skip
    real_table = [
        (row["data"], row["size"], row["ours"], row["peer"], percent(row["common"]),
         number(row["correlation"]))
        for row in known
    ]  # fmt: skip
    caption = "First graph: true edges above the diagonal, edges of the estimate below it."
    return Section(
        f"{graphs} random graphs of {n} features with {EDGES_PER_FEATURE:g} edges per feature and "
        f"random signs; {m} normal samples each. Every feature is regressed on all others by the "
        "square-root LASSO in one batch over an exact sketch, at the pivotal penalty, which needs "
        "neither noise level nor graph; an edge needs both directions. Beside it scikit-learn's "
        "GraphicalLassoCV. On real data, whose graph is unknown, our edges are compared with those "
        "of scikit-learn's graphical LASSO at the penalty that gives most nearly as many.",
        "The paper names this use and shows no results. An exact sketch with radius 0 is used: "
        "the data are small, and a graph of single features is what a low-rank sketch loses first.",
        _findings(rows, known),
        [Sheet("Edges of known graphs", heads, table), Sheet("Real data", columns, real_table)],
        [drawn(lambda figure: _draw(figure, rows[0], n), (3.6, 3.6), caption)],
        [{key: row[key] for key in row if key not in ("truth", "graph")} for row in rows],
    )


def _sample(n: int, m: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Standardised normal rows (m, n), and the adjacency (n, n) of their precision matrix."""
    rng = np.random.default_rng(seed)
    pairs = np.argwhere(np.triu(np.ones((n, n)), 1))
    edges = pairs[rng.choice(len(pairs), int(EDGES_PER_FEATURE * n), replace=False)]
    precision = np.zeros((n, n))
    for i, j in edges:
        precision[i, j] = precision[j, i] = rng.choice([-1.0, 1.0]) * rng.uniform(0.3, 0.6)
    # Diagonally dominant, so positive definite.
    np.fill_diagonal(precision, np.abs(precision).sum(axis=1) + 0.3)
    X = rng.multivariate_normal(np.zeros(n), np.linalg.inv(precision), m)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, (precision != 0) & ~np.eye(n, dtype=bool)


def _neighbourhoods(X: np.ndarray) -> np.ndarray:
    """Every feature regressed on all others in one batch; an edge needs both directions."""
    made = sl.sketch(X, method="exact", radius=0)
    alpha = sl.pivotal_alpha(X, slack=1.0, failure=0.05)
    problems = sl.feature_problems(made, np.sum(X**2, axis=0), alphas=[alpha], radius=0.0)
    selected = sl.solve(problems.batch).coef.toarray() != 0
    return np.asarray(selected & selected.T)


def _edges(graph: np.ndarray) -> np.ndarray:
    return graph[np.triu_indices(len(graph), 1)]


def _on_real_data(name: str, penalties: int) -> Results:
    """Our edges, and those of the graphical LASSO at the penalty with the nearest number."""
    X = np.asarray(REAL[name](return_X_y=True)[0], dtype=np.float64)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    ours, covariance = _edges(_neighbourhoods(X)), X.T @ X / len(X)
    tried = [
        np.abs(_edges(graphical_lasso(covariance, float(penalty), max_iter=500)[1])) > 1e-8
        for penalty in np.geomspace(0.7, 0.1, penalties)
    ]
    peer = min(tried, key=lambda edges: abs(int(edges.sum()) - int(ours.sum())))
    return {
        "data": name,
        "size": f"{X.shape[0]:,} x {X.shape[1]:,}",
        "ours": int(ours.sum()),
        "peer": int(peer.sum()),
        "correlation": float(np.max(np.abs(_edges(covariance)))),
        "common": float(np.sum(ours & peer) / max(np.sum(ours | peer), 1)),
    }


def _findings(rows: list[Results], known: list[Results]) -> list[Finding]:
    """Edges of both, against the truth and against each other."""
    mean = {
        f"{who} {what}": float(np.mean([row[f"{who} {what}"] for row in rows]))
        for who in ("ours", "peer")
        for what in (*SCORES, "seconds")
    }
    gap, least = mean["ours f1"] - mean["peer f1"], min(known, key=lambda row: row["common"])
    return [
        Finding(
            "sparse inverse covariance by neighbourhood regressions",
            "named, not shown",
            f"F1 of edges {share(mean['ours f1'])}, GraphicalLassoCV {share(mean['peer f1'])}",
            judged(gap > 0, gap >= -MARGIN),
            f"Precision {share(mean['ours precision'])} against {share(mean['peer precision'])} "
            f"and recall {share(mean['ours recall'])} against {share(mean['peer recall'])}: "
            "GraphicalLassoCV chooses its penalty for likelihood, not for edges. "
            f"{seconds(mean['ours seconds'])} against {seconds(mean['peer seconds'])}.",
        ),
        Finding(
            "the same edges as the graphical LASSO on real data",
            "named, not shown",
            f"{percent(least['common'])} of the edges in common, at least",
            judged(False, least["common"] >= SAME_STORY),
            f"With nearly as many edges each ({count(least['ours'])} and {count(least['peer'])}), "
            f"fewest in common on {least['data']}, where features are correlated up to "
            f"{number(least['correlation'])}: among near copies each method chooses others.",
        ),
    ]


def _draw(figure: Any, row: Results, n: int) -> None:
    ax = figure.add_subplot()
    ax.plot(*np.argwhere(row["truth"]).T[::-1], "s", markersize=3, color="0.5", label="true")
    ax.plot(*np.argwhere(row["graph"]).T, "s", markersize=3, color=PALETTE[0], label="estimate")
    ax.plot([-0.5, n - 0.5], [-0.5, n - 0.5], color="0.5", linewidth=0.6)
    ax.set_aspect("equal")
    ax.set_xlim(-1, n)
    ax.set_ylim(n, -1)
    tidy(ax, "feature", "feature", whole=True)
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.grid(False)
    figure.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=2)
