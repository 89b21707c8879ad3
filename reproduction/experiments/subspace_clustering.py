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
from reproduction.experiment import Finding, Plan, Say, Section, Sheet, judged
from reproduction.words import count, number, percent, seconds, share
from sketchlasso.engine import Batch

TITLE = "Introduction: robust subspace clustering"

CLUSTERS, RANK, PENALTY, STRONGEST = 10, 20, 0.3, 10
OURS, LASSO = "square-root LASSO, robust", "LASSO, one image at a time (scikit-learn)"
K_MEANS = "k-means on the pixels (scikit-learn)"


def run(plan: Plan, say: Say) -> Section:
    """Clusterings by every method, judged by the true digits."""
    images, digit = load_digits(return_X_y=True)
    rows = np.random.default_rng(SEED).permutation(len(digit))[: 200 if plan.quick else 1797]
    X, truth = images[rows], digit[rows]
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    # Digits in columns: each is a feature that the others explain.
    sketched = sl.sketch(unit.T, rank=RANK, random_state=SEED)
    exact = sl.sketch(unit.T, method="exact", rank=min(unit.shape))
    neighbours = SpectralClustering(CLUSTERS, affinity="nearest_neighbors", random_state=SEED)
    methods: dict[str, Any] = {
        OURS: lambda: _clustered(_written(sketched, sketched.radius)),
        "square-root LASSO, radius 0": lambda: _clustered(_written(exact, 0.0)),
        LASSO: lambda: _clustered(_one_by_one(unit)),
        K_MEANS: lambda: KMeans(CLUSTERS, n_init=10, random_state=SEED).fit_predict(X),
        "nearest neighbours, spectral (scikit-learn)": lambda: neighbours.fit_predict(X),
    }
    accuracy, table = {}, []
    for name, work in methods.items():
        outcome = timed(work)
        accuracy[name] = _accuracy(truth, outcome.value)
        information = float(normalized_mutual_info_score(truth, outcome.value))
        table.append((name, percent(accuracy[name]), share(information), seconds(outcome.seconds)))
        say(f"{name}: {100 * accuracy[name]:.1f} %")
    solve = timed(lambda: _written(sketched, sketched.radius))
    same = truth[:, None] == truth[None, :]
    purity = float(np.sum(solve.value * same) / np.sum(solve.value))
    best = max((name for name in accuracy if name != OURS), key=lambda name: accuracy[name])
    finding = Finding(
        "robust subspace clustering of digits",
        "named, not shown",
        f"accuracy {percent(accuracy[OURS])}; scikit-learn's LASSO {percent(accuracy[LASSO])}, "
        f"k-means {percent(accuracy[K_MEANS])}",
        judged(False, accuracy[OURS] > accuracy[K_MEANS] and accuracy[OURS] >= accuracy[LASSO]),
        f"{percent(purity)} of the weight lies on images of the same digit, where the most "
        f"frequent digit is {percent(np.bincount(truth).max() / len(truth))} of all. The best "
        f"other method is {best}: {percent(accuracy[best])}. All regressions take "
        f"{seconds(solve.seconds)}.",
    )
    columns = ("method", "accuracy", "normalised mutual information", "time")
    title = f"Clusterings of digits (radius of the robust model {number(sketched.radius)})"
    return Section(
        f"{count(len(truth))} of scikit-learn's digits, scaled to unit length. Every image is "
        f"regressed on all others by the square-root LASSO, one batch over one sketch of rank "
        f"{RANK} with its spectral radius, at {PENALTY:g} of each image's own largest penalty; the "
        f"{STRONGEST} strongest weights of each, symmetrised, go to spectral clustering with "
        f"{CLUSTERS} clusters. Accuracy is under the best naming of the clusters. Labels are used "
        "for nothing else.",
        "The paper names this use and shows no results. Beside it: the same without robust term "
        "on all pixels, scikit-learn's LASSO one image at a time as an independent implementation "
        "of the idea, and k-means and nearest-neighbour clustering.",
        [finding],
        [Sheet(title, columns, table)],
        results=[{"accuracy": accuracy, "purity": purity}],
    )


def _written(made: sl.Sketch, radius: float) -> np.ndarray:
    """Coefficients (images, images): every image by the others."""
    energies = np.ones(made.n_features)  # of unit length, all of them
    problems = sl.feature_problems(made, energies, alphas=1, radius=radius, alpha_min_ratio=PENALTY)
    batch = problems.batch
    batch = Batch.build(
        batch.P,
        batch.c,
        batch.s,
        alpha=PENALTY * batch.alpha,
        radius=batch.radius,
        excluded=batch.excluded,
    )
    return np.abs(sl.solve(batch).coef.toarray())


def _one_by_one(unit: np.ndarray) -> np.ndarray:
    """The same idea by an independent implementation, at the same share of the largest penalty."""
    weights = np.zeros((len(unit), len(unit)))
    for i, image in enumerate(unit):
        others = np.delete(np.arange(len(unit)), i)
        largest = float(np.abs(unit[others] @ image).max()) / len(image)
        model = Lasso(alpha=PENALTY * largest, fit_intercept=False, max_iter=5000)
        weights[i, others] = model.fit(unit[others].T, image).coef_
    return np.abs(weights)


def _clustered(weights: np.ndarray) -> np.ndarray:
    """Spectral clustering of the symmetrised weights, the strongest of each image kept."""
    least = np.sort(weights, axis=1)[:, -STRONGEST][:, None]
    strong = np.where(weights >= least, weights, 0.0)
    strong = strong / np.maximum(strong.max(axis=1, keepdims=True), 1e-12)
    affinity = strong + strong.T + 1e-6  # connected, as spectral clustering wants it
    model = SpectralClustering(CLUSTERS, affinity="precomputed", random_state=SEED)
    return np.asarray(model.fit_predict(affinity))


def _accuracy(truth: np.ndarray, labels: np.ndarray) -> float:
    """Share of images right under the best naming of the clusters."""
    table = np.zeros((truth.max() + 1, labels.max() + 1))
    np.add.at(table, (truth, labels), 1)
    rows, columns = linear_sum_assignment(-table)
    return float(table[rows, columns].sum() / len(truth))
