"""Data with fixed train/test splits, and generated sketches of any size."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import ndtri
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import KFold

from sketchlasso import Sketch
from sketchlasso.engine import sketch_from_factors

Note = Callable[[str], None]
SEED = 0
QUICK_ROWS = 1000


class MissingDataError(Exception):
    """A data set is not on this machine; the message is one sentence for the user."""


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test rows; sparse X is CSR. Targets are +1/-1 unless said otherwise."""

    name: str
    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray

    def first(self, train: int, test: int) -> Split:
        """Only the first rows of each part."""
        parts = self.X[:train], self.y[:train], self.X_test[:test], self.y_test[:test]
        return Split(self.name, *parts)


def data_file(*parts: str) -> Path:
    """A file below SKETCHLASSO_DATA."""
    folder = os.environ.get("SKETCHLASSO_DATA")
    if not folder:
        raise MissingDataError("SKETCHLASSO_DATA is not set: it names the folder of data sets.")
    path = Path(folder).joinpath(*parts)
    if not path.exists():
        raise MissingDataError(f"{'/'.join(parts)} is not in the SKETCHLASSO_DATA folder.")
    return path


def load(name: str, quick: bool = False) -> Split:
    """A data set by name, rows in a fixed random order; `quick` keeps a sample of the rows."""
    if name not in LOADERS:
        raise MissingDataError(f"{name} is not a data set here; choose from {', '.join(LOADERS)}.")
    split = LOADERS[name]()
    return split.first(QUICK_ROWS, QUICK_ROWS) if quick else split


def available(names: Iterable[str], load: Callable[[str], Any], note: Note) -> Iterator[Any]:
    """What `load` returns for each name; missing sets are noted, and at least one must be there."""
    there = False
    for name in names:
        try:
            found = load(name)
        except MissingDataError as error:
            note(f"{name}: skipped. {error}")
            continue
        there = True
        yield found
    if not there:
        raise MissingDataError("None of the data sets is available.")


def folds(n_samples: int, count: int = 5) -> list[tuple[np.ndarray, np.ndarray]]:
    """The same (train, test) folds for every contender."""
    return list(KFold(count, shuffle=True, random_state=SEED).split(np.zeros(n_samples)))


def sparse_file(*parts: str) -> Any:
    """A stored sparse matrix as CSR of doubles."""
    return sparse.csr_matrix(sparse.load_npz(data_file(*parts)), dtype=np.float64)


def shuffled(name: str, X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray) -> Split:
    rng = np.random.default_rng(SEED)
    train, test = rng.permutation(len(y)), rng.permutation(len(y_test))
    return Split(name, X[train], y[train], X_test[test], y_test[test])


def held_out(name: str, X: Any, y: np.ndarray) -> Split:
    """A random 75 % of the rows to train, the others to test."""
    order = np.random.default_rng(SEED).permutation(len(y))
    train, test = np.split(order, [int(0.75 * len(y))])
    return Split(name, X[train], y[train], X[test], y[test])


def _rcv1() -> Split:
    X, labels = sparse_file("rcv1", "rcv1_X.npz"), np.load(data_file("rcv1", "rcv1_labels.npz"))
    keep = np.flatnonzero(labels["y_binary"])
    return held_out("rcv1", X[keep], labels["y_binary"][keep].astype(np.float64))


def weighted_counts(counts: Any, test: Any) -> tuple[Any, Any]:
    """Counts as tf-idf, rows of unit length, the weights learnt on the training rows."""
    weigh = TfidfTransformer(sublinear_tf=True).fit(counts)
    return sparse.csr_matrix(weigh.transform(counts)), sparse.csr_matrix(weigh.transform(test))


def _weighted_text(name: str, counts: Any, y: np.ndarray, test: Any, y_test: np.ndarray) -> Split:
    X, X_test = weighted_counts(counts, test)
    return shuffled(name, X, y, X_test, y_test)


def _news() -> Split:
    folder = "20news_bydate"
    X, X_test = (sparse_file(folder, f"{part}_counts.npz") for part in ("train", "test"))
    labels = np.load(data_file(folder, "labels.npz"))
    names = data_file(folder, "group_names.txt").read_text(encoding="utf-8").split()
    computers = [number for number, group in enumerate(names) if group.startswith("comp.")]
    y, y_test = (
        np.where(np.isin(labels[part], computers), 1.0, -1.0) for part in ("y_train", "y_test")
    )
    return _weighted_text("20news", X, y, X_test, y_test)


def _imdb() -> Split:
    X, X_test = (sparse_file("imdb", f"{part}_counts.npz") for part in ("train", "test"))
    labels = np.load(data_file("imdb", "ratings.npz"))
    y, y_test = (labels[part].astype(np.float64) for part in ("y_train", "y_test"))
    return _weighted_text("imdb", X, y, X_test, y_test)


def _gisette_like() -> Split:
    X, X_test = (
        sparse_file("gisette", f"gisette_like_{part}_X.npz").toarray() / 999.0
        for part in ("train", "valid")
    )
    labels = np.load(data_file("gisette", "gisette_like_labels.npz"))
    y, y_test = (labels[part].astype(np.float64) for part in ("y_train", "y_valid"))
    return shuffled("gisette_like", X, y, X_test, y_test)


def _digits() -> Split:
    images, label = load_digits(return_X_y=True)
    return held_out("digits", images / 16.0, np.where(label % 2 == 1, 1.0, -1.0))


LOADERS: dict[str, Callable[[], Split]] = {
    "rcv1": _rcv1,
    "20news": _news,
    "imdb": _imdb,
    "gisette_like": _gisette_like,
    "digits": _digits,
}


def centred_small(name: str) -> tuple[np.ndarray, np.ndarray]:
    """A small dense set, X and y centred so that no side needs an intercept."""
    if name == "gisette_sample168":
        stored = np.load(data_file("gisette", "gisette_sample168.npz"))
        X, y = stored["X"].astype(np.float64) / 999.0, stored["y"].astype(np.float64)
    elif name == "riboflavin":
        stored = np.load(data_file("microarray", "riboflavin.npz"))
        X, y = stored["X"].astype(np.float64), stored["y"].astype(np.float64)
        X = X / X.std(axis=0)
    else:
        raise MissingDataError(f"{name} is not one of gisette_sample168, riboflavin.")
    return np.asfortranarray(X - X.mean(axis=0)), y - y.mean()


@dataclass(frozen=True, eq=False)
class Generated:
    """A sketch of a low-rank matrix plus noise that is never formed.

    For X = (Q B' + E) D, with noise E of deviation sigma and features of size D, X'Q is
    D (B plus noise of that deviation), ||E D|| is at most about sigma (sqrt(m) max D + ||D||),
    and the part of column j that Q cannot reach has energy (sigma D_j)^2 chi^2(m - k).
    """

    sketch: Sketch
    y: np.ndarray
    energies: np.ndarray


def generated(m: int, n: int, k: int, noise: float = 0.3, seed: int = SEED) -> Generated:
    """A sketch of m samples and n features, and a response of ten large features.

    Sizes of features are log-normal quantiles, as those of words nearly are; singular values
    fall like 1 / sqrt(j); `noise` is ||E D|| over the k-th of them, and the radius is ||E D||.
    P hardly changes with m, so that only the size of the work does.
    """
    for_rows, for_features = np.random.default_rng(seed).spawn(2)
    Q = np.linalg.qr(for_rows.standard_normal((m, k)))[0]
    sizes = np.exp(ndtri((np.arange(n) + 0.5) / n))[::-1]
    sizes *= np.sqrt(n / np.sum(sizes**2))
    values = 1.0 / np.sqrt(np.arange(1.0, k + 1.0))
    radius = noise * values[-1]
    sigma = radius / (np.sqrt(m) * sizes[0] + np.sqrt(n))
    deviation = np.sqrt(values**2 / n + sigma**2)
    P = for_features.standard_normal((n, k)) * deviation * sizes[:, None]
    hidden = (sigma * sizes) ** 2 * for_rows.chisquare(m - k, size=n)
    causes = np.linspace(0, n // 50, 10, dtype=int)
    signal = Q @ P[causes].sum(axis=0)
    y = signal + np.std(signal) * for_rows.standard_normal(m)
    energies = np.sum(P**2, axis=1) + hidden
    return Generated(sketch_from_factors(P, Q, radius=radius), y, energies)
