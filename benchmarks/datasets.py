"""Data with fixed train/test splits, and generated sketches of any size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import ndtri
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import KFold

from benchmarks.catalogue import MissingDataError, arrays_of, data_file
from sketchlasso import Sketch
from sketchlasso.engine import sketch_from_factors

Note = Callable[[str], None]
SEED = 0
QUICK_ROWS = 1000


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


def shuffled(name: str, X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray) -> Split:
    rng = np.random.default_rng(SEED)
    train, test = rng.permutation(len(y)), rng.permutation(len(y_test))
    return Split(name, X[train], y[train], X_test[test], y_test[test])


def held_out(name: str, X: Any, y: np.ndarray) -> Split:
    """A random 75 % of the rows to train, the others to test."""
    order = np.random.default_rng(SEED).permutation(len(y))
    train, test = np.split(order, [int(0.75 * len(y))])
    return Split(name, X[train], y[train], X[test], y[test])


def signs(positive: np.ndarray) -> np.ndarray:
    """+1 where it is true, else -1."""
    return np.where(positive, 1.0, -1.0)


def is_comp(groups: np.ndarray) -> np.ndarray:
    """Whether numbers of the 20 Newsgroups are those of comp.* groups."""
    names = data_file("20news_bydate", "group_names.txt").read_text(encoding="utf-8").split()
    comp = [number for number, name in enumerate(names) if name.startswith("comp.")]
    return np.isin(groups, comp)


def _rcv1() -> Split:
    X, y = arrays_of("rcv1")
    return held_out("rcv1", X, signs(y > 0))


def weighted_counts(counts: Any, test: Any) -> tuple[Any, Any]:
    """Counts as tf-idf, rows of unit length, the weights learnt on the training rows."""
    weigh = TfidfTransformer(sublinear_tf=True).fit(counts)
    return sparse.csr_matrix(weigh.transform(counts)), sparse.csr_matrix(weigh.transform(test))


def _news() -> Split:
    (counts, groups), (test, test_groups) = map(arrays_of, ("20news_bydate", "20news_bydate_test"))
    X, X_test = weighted_counts(counts, test)
    return shuffled("20news", X, signs(is_comp(groups)), X_test, signs(is_comp(test_groups)))


def _imdb() -> Split:
    (counts, ratings), (test, test_ratings) = map(arrays_of, ("imdb", "imdb_test"))
    X, X_test = weighted_counts(counts, test)
    return shuffled("imdb", X, signs(ratings > 5), X_test, signs(test_ratings > 5))


def _gisette_like() -> Split:
    (X, y), (X_test, y_test) = map(arrays_of, ("gisette_like", "gisette_like_valid"))
    X, X_test = X.toarray() / 999.0, X_test.toarray() / 999.0
    return shuffled("gisette_like", X, signs(y > 0), X_test, signs(y_test > 0))


def _digits() -> Split:
    images, label = load_digits(return_X_y=True)
    return held_out("digits", images / 16.0, signs(label % 2 == 1))


LOADERS: dict[str, Callable[[], Split]] = {
    "rcv1": _rcv1,
    "20news": _news,
    "imdb": _imdb,
    "gisette_like": _gisette_like,
    "digits": _digits,
}


def centred_small(name: str) -> tuple[np.ndarray, np.ndarray]:
    """A small dense set, X and y centred so that no side needs an intercept."""
    if name not in ("gisette_sample168", "riboflavin"):
        raise MissingDataError(f"{name} is not one of gisette_sample168, riboflavin.")
    X, y = arrays_of(name)
    X = X / (999.0 if name == "gisette_sample168" else X.std(axis=0))
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
