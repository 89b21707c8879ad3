"""Robust subspace clustering: every digit written by a few others, then spectral clustering."""

from __future__ import annotations

from typing import Any

import numpy as np
from benchmarks.harness import timed
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_digits
from sklearn.linear_model import Lasso
from sklearn.metrics import normalized_mutual_info_score

import sketchlasso as sl
from reproduction.data import SEED
from reproduction.experiment import Finding, Plan, Report, Results, Sheet
from reproduction.words import count, number, percent, seconds, share
from sketchlasso.engine import Batch

TITLE = "Introduction: robust subspace clustering"

NAMES = {
    "ours": "square-root LASSO, robust",
    "non_robust": "square-root LASSO, radius 0",
    "lasso": "LASSO, one image at a time (scikit-learn)",
    "k_means": "k-means on the pixels (scikit-learn)",
    "neighbours": "spectral clustering of nearest neighbours (scikit-learn)",
}
QUOTED = "named, not shown"


def settings(plan: Plan) -> Results:
    """How many digits, and how sparse each may be written."""
    return {
        "quick": plan.quick,
        "images": 200 if plan.quick else 1797,
        "clusters": 10,
        "rank": 20,
        "penalty": 0.3,
        "kept": 10,
        "seed": SEED,
    }


def compute(chosen: Results, report: Report) -> Results:
    """Clusterings by every method, judged by the true digits."""
    images, digit = load_digits(return_X_y=True)
    rows = np.random.default_rng(chosen["seed"]).permutation(len(digit))[: chosen["images"]]
    X, truth = images[rows], digit[rows]
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    # Digits in columns: each is a feature that the others explain.
    sketched = sl.sketch(unit.T, rank=chosen["rank"], random_state=chosen["seed"])
    exact = sl.sketch(unit.T, method="exact", rank=min(unit.shape))
    methods: dict[str, Any] = {
        "ours": lambda: _clustered(_written(sketched, sketched.radius, chosen), chosen),
        "non_robust": lambda: _clustered(_written(exact, 0.0, chosen), chosen),
        "lasso": lambda: _clustered(_one_by_one(unit, chosen["penalty"]), chosen),
        "k_means": lambda: KMeans(
            chosen["clusters"], n_init=10, random_state=chosen["seed"]
        ).fit_predict(X),
        "neighbours": lambda: SpectralClustering(
            chosen["clusters"], affinity="nearest_neighbors", random_state=chosen["seed"]
        ).fit_predict(X),
    }
    found = {}
    for name, run in methods.items():
        timing = timed(run)
        found[name] = {
            "accuracy": _accuracy(truth, timing.value),
            "information": float(normalized_mutual_info_score(truth, timing.value)),
            "seconds": timing.seconds,
        }
        report(f"{name}: {100 * found[name]['accuracy']:.1f} %")
    solving, purity = _purity(sketched, truth, chosen)
    return {
        "methods": found,
        "images": len(truth),
        "radius": sketched.radius,
        "same_digit": purity,
        "chance": float(np.max(np.bincount(truth)) / len(truth)),
        "solve_seconds": solving,
    }


def _written(made: sl.Sketch, radius: float, chosen: Results) -> np.ndarray:
    """Coefficients (images, images): every image by the others."""
    energies = np.ones(made.n_features)  # of unit length, all of them
    problems = sl.feature_problems(
        made, energies, alphas=1, radius=radius, alpha_min_ratio=chosen["penalty"]
    )
    penalties = chosen["penalty"] * problems.batch.alpha
    batch = _at(problems.batch, penalties)
    return np.abs(sl.solve(batch).coef.toarray())


def _at(batch: Batch, penalties: np.ndarray) -> Batch:
    """The same problems at other penalties."""
    return Batch.build(
        batch.P,
        batch.c,
        batch.s,
        alpha=penalties,
        radius=batch.radius,
        excluded=batch.excluded,
    )


def _one_by_one(unit: np.ndarray, share_of_largest: float) -> np.ndarray:
    """The same idea by an independent implementation, at the same share of the largest penalty."""
    weights = np.zeros((len(unit), len(unit)))
    for i, image in enumerate(unit):
        others = np.delete(np.arange(len(unit)), i)
        largest = float(np.abs(unit[others] @ image).max()) / len(image)
        model = Lasso(alpha=share_of_largest * largest, fit_intercept=False, max_iter=5000)
        weights[i, others] = model.fit(unit[others].T, image).coef_
    return np.abs(weights)


def _clustered(weights: np.ndarray, chosen: Results) -> np.ndarray:
    """Spectral clustering of the symmetrised weights, the strongest of each image kept."""
    size = min(chosen["kept"], len(weights) - 1)
    least = np.sort(weights, axis=1)[:, -size][:, None]
    strong = np.where(weights >= least, weights, 0.0)
    strong = strong / np.maximum(strong.max(axis=1, keepdims=True), 1e-12)
    affinity = strong + strong.T + 1e-6  # connected, as spectral clustering wants it
    return SpectralClustering(
        chosen["clusters"], affinity="precomputed", random_state=chosen["seed"]
    ).fit_predict(affinity)


def _purity(made: sl.Sketch, truth: np.ndarray, chosen: Results) -> tuple[float, float]:
    """Seconds of the solve, and the share of weight that lies on images of the same digit."""
    timing = timed(lambda: _written(made, made.radius, chosen))
    weights, same = timing.value, truth[:, None] == truth[None, :]
    return timing.seconds, float(np.sum(weights * same) / np.sum(weights))


def _accuracy(truth: np.ndarray, labels: np.ndarray) -> float:
    """Share of images right under the best naming of the clusters."""
    table = np.zeros((truth.max() + 1, labels.max() + 1))
    np.add.at(table, (truth, labels), 1)
    rows, columns = linear_sum_assignment(-table)
    return float(table[rows, columns].sum() / len(truth))


def protocol(stored: Results) -> str:
    """What was done."""
    chosen, found = stored["settings"], stored["results"]
    return (
        f"{count(found['images'])} of scikit-learn's digits, scaled to unit length. Every image is "
        "regressed on all others by the square-root LASSO, one batch over one sketch of rank "
        f"{chosen['rank']} with its spectral radius, at {chosen['penalty']:g} of each image's own "
        f"largest penalty; the {chosen['kept']} strongest weights of each, symmetrised, go to "
        f"spectral clustering with {chosen['clusters']} clusters. Accuracy is under the best "
        "naming of the clusters. Labels are used for nothing else."
    )


def differs(stored: Results) -> str:
    """What is not as in the paper."""
    return (
        "The paper names this use and shows no results. Beside it: the same without robust term "
        "on all pixels, scikit-learn's LASSO one image at a time as an independent implementation "
        "of the idea, and k-means and nearest-neighbour clustering."
    )


def findings(stored: Results) -> list[Finding]:
    """Accuracy against k-means and the independent implementation."""
    found = stored["results"]
    accuracy = {name: one["accuracy"] for name, one in found["methods"].items()}
    best = max((name for name in accuracy if name != "ours"), key=lambda name: accuracy[name])
    above_lasso = accuracy["ours"] >= accuracy["lasso"]
    above_means = accuracy["ours"] > accuracy["k_means"]
    return [
        Finding(
            "robust subspace clustering of digits",
            QUOTED,
            f"accuracy {percent(accuracy['ours'])}; scikit-learn's LASSO "
            f"{percent(accuracy['lasso'])}, "
            f"k-means {percent(accuracy['k_means'])}",
            "reproduced" if above_means and above_lasso else "not reproduced",
            f"{percent(found['same_digit'])} of the weight lies on images of the same digit, where "
            f"the most frequent digit is {percent(found['chance'])} of all. "
            + (
                f"{NAMES[best][0].upper() + NAMES[best][1:]} is better still: "
                f"{percent(accuracy[best])}."
                if accuracy[best] > accuracy["ours"]
                else "No other method tried is better."
            )
            + f" All regressions take {seconds(found['solve_seconds'])}.",
        )
    ]


def tables(stored: Results) -> list[Sheet]:
    """One row per method."""
    rows = tuple(
        (NAMES[name], percent(one["accuracy"]), share(one["information"]), seconds(one["seconds"]))
        for name, one in stored["results"]["methods"].items()
    )
    columns = ("method", "accuracy", "normalised mutual information", "time")
    radius = number(stored["results"]["radius"])
    return [Sheet(f"Clusterings of digits (radius of the robust model {radius})", columns, rows)]
