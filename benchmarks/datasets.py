"""Data sets by name, from the folder that SKETCHLASSO_DATA names, and their train/test splits."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import KFold

from sketchlasso.io import Table

SEED = 0
QUICK_ROWS = 1000


class MissingDataError(Exception):
    """A data set is not on this machine; the message is one sentence for the user."""


def data_file(*parts: str) -> Path:
    """A file below SKETCHLASSO_DATA."""
    folder = os.environ.get("SKETCHLASSO_DATA")
    if not folder:
        raise MissingDataError("SKETCHLASSO_DATA is not set: it names the folder of data sets.")
    path = Path(folder).joinpath(*parts)
    if not path.exists():
        raise MissingDataError(f"{'/'.join(parts)} is not in the SKETCHLASSO_DATA folder.")
    return path


class Layout(NamedTuple):
    """How a data set lies in the folder: matrices to stack, a target, and names of features.

    A part is a file, with "#" and a key where it is an npz file of arrays; without a key it is a
    sparse matrix, or names in lines of text. One more name than features names the target.
    `rows` says whether those with target 0, or with missing values, are left out.
    """

    matrix: str
    target: str | None = None
    names: str | None = None
    rows: Literal["all", "labelled", "complete"] = "all"


def _dense(file: str, names: str | None = None, rows: Literal["all", "complete"] = "all") -> Layout:
    return Layout(f"{file}#X", f"{file}#y", f"{file}#{names}" if names else None, rows)


_IMDB = "imdb/train_counts.npz imdb/test_counts.npz imdb/unsup_counts.npz"
LAYOUTS: dict[str, Layout] = {
    "news20": Layout("news20/news20_train_counts.npz", "news20/news20_train_labels.npz#y"),
    "kos": Layout("kos/kos_counts.npz", None, "kos/vocab.txt"),
    **{
        f"20news_bydate{name}": Layout(
            f"20news_bydate/{part}_counts.npz",
            f"20news_bydate/labels.npz#y_{part}",
            "20news_bydate/vocab.txt",
        )
        for name, part in (("", "train"), ("_test", "test"))
    },
    "rcv1": Layout("rcv1/rcv1_X.npz", "rcv1/rcv1_labels.npz#y_binary", rows="labelled"),
    "tmc2007_500": Layout(
        "tmc2007_500/tmc2007_500_X.npz",
        "tmc2007_500/tmc2007_500_labels.npz#Y",
        "tmc2007_500/vocab.txt",
    ),
    **{
        name: Layout(f"multilabel_text/{name}_X.npz", f"multilabel_text/{name}_Y.npz#Y")
        for name in ("bibtex", "yahoo_education", "yahoo_reference")
    },
    **{
        f"imdb{name}": Layout(
            f"imdb/{part}_counts.npz", f"imdb/ratings.npz#rating_{part}", "imdb/vocab.txt"
        )
        for name, part in (("", "train"), ("_test", "test"))
    },
    "imdb_all": Layout(_IMDB, None, "imdb/vocab.txt"),
    "nips_uci": Layout("nips/nips_uci_counts.npz", None, "nips/nips_uci_vocab.txt"),
    "nips_1987_2003": Layout(
        "nips/nips_1987_2003_counts.npz", None, "nips/nips_1987_2003_vocab.txt"
    ),
    "nytimes_headlines": Layout(
        "nytimes_headlines/counts.npz",
        "nytimes_headlines/labels.npz#topic_code",
        "nytimes_headlines/vocab.txt",
    ),
    "gisette_like": Layout(
        "gisette/gisette_like_train_X.npz", "gisette/gisette_like_labels.npz#y_train"
    ),
    "gisette_like_valid": Layout(
        "gisette/gisette_like_valid_X.npz", "gisette/gisette_like_labels.npz#y_valid"
    ),
    "riboflavin": _dense("microarray/riboflavin.npz", "genes"),
    "gasoline_nir": _dense("regression/gasoline_nir.npz"),
    "blogfeedback": _dense("regression/blogfeedback.npz"),
    "california_housing": _dense("regression/california_housing.npz", "names", "complete"),
    "diabetes": _dense("regression/diabetes.npz", "names"),
    "prostate": _dense("regression/prostate.npz", "names"),
    "boston": _dense("regression/boston.npz", "names"),
}


def table_of(name: str) -> Table:
    """Read a data set: X as floating-point numbers, nothing centred or scaled."""
    if name not in LAYOUTS:
        raise MissingDataError(f"{name} is not a data set here; choose from {', '.join(LAYOUTS)}.")
    layout = LAYOUTS[name]
    parts = [_part(part) for part in layout.matrix.split()]
    X: Any = parts[0] if len(parts) == 1 else sparse.vstack(parts, format="csr")
    X = X if X.dtype == np.float32 else X.astype(np.float64)
    y: Any = None if layout.target is None else _part(layout.target)
    names = None if layout.names is None else tuple(map(str, _part(layout.names)))
    label = None
    if names is not None and len(names) == X.shape[1] + 1:
        names, label = names[:-1], names[-1]
    if layout.rows != "all":
        usable = y != 0 if layout.rows == "labelled" else np.isfinite(X).all(axis=1)
        X, y = X[usable], y[usable]
    return Table(X, y, names, label, name)


def _part(part: str) -> Any:
    file, _, key = part.partition("#")
    path = data_file(*file.split("/"))
    if key:
        with np.load(path) as stored:
            return stored[key]
    if path.suffix == ".txt":
        return path.read_text(encoding="utf-8").splitlines()
    return sparse.csr_array(sparse.load_npz(path))


def arrays_of(name: str) -> tuple[Any, np.ndarray]:
    """X in doubles, sparse ones as CSR matrices, and the target as it is stored."""
    table = table_of(name)
    X: Any = table.X
    if not sparse.issparse(table.X):
        return np.asarray(X, dtype=np.float64), np.asarray(table.y)
    return sparse.csr_matrix(X, dtype=np.float64), np.asarray(table.y)


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


def available(
    names: Iterable[str], load: Callable[[str], Any], note: Callable[[str], None]
) -> Iterator[Any]:
    """Load each name; missing sets are noted, and at least one must be there."""
    there = False
    for name in names:
        try:
            split = load(name)
        except MissingDataError as error:
            note(f"{name}: skipped. {error}")
            continue
        there = True
        yield split
    if not there:
        raise MissingDataError("None of the data sets is available.")


def folds(n_samples: int, count: int = 5) -> list[tuple[np.ndarray, np.ndarray]]:
    """The same (train, test) folds for every contender."""
    return list(KFold(count, shuffle=True, random_state=SEED).split(np.zeros(n_samples)))


def held_out(name: str, X: Any, y: np.ndarray) -> Split:
    """A random 75 % of the rows to train, the others to test."""
    order = np.random.default_rng(SEED).permutation(len(y))
    train, test = np.split(order, [int(0.75 * len(y))])
    return Split(name, X[train], y[train], X[test], y[test])


def signs(positive: np.ndarray) -> np.ndarray:
    """+1 where it is true, else -1."""
    return np.where(positive, 1.0, -1.0)


def weighted_counts(counts: Any, test: Any) -> tuple[Any, Any]:
    """Counts as tf-idf, rows of unit length, the weights learnt on the training rows."""
    weigh = TfidfTransformer(sublinear_tf=True).fit(counts)
    return sparse.csr_matrix(weigh.transform(counts)), sparse.csr_matrix(weigh.transform(test))


def _shuffled(name: str, X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray) -> Split:
    rng = np.random.default_rng(SEED)
    train, test = rng.permutation(len(y)), rng.permutation(len(y_test))
    return Split(name, X[train], y[train], X_test[test], y_test[test])


def _rcv1() -> Split:
    X, y = arrays_of("rcv1")
    return held_out("rcv1", X, signs(y > 0))


def _news() -> Split:
    """The groups comp.* against the others."""
    (counts, groups), (test, test_groups) = map(arrays_of, ("20news_bydate", "20news_bydate_test"))
    names = data_file("20news_bydate", "group_names.txt").read_text(encoding="utf-8").split()
    comp = [number for number, name in enumerate(names) if name.startswith("comp.")]
    y, y_test = (signs(np.isin(group, comp)) for group in (groups, test_groups))
    X, X_test = weighted_counts(counts, test)
    return _shuffled("20news", X, y, X_test, y_test)


def _imdb() -> Split:
    (counts, ratings), (test, test_ratings) = map(arrays_of, ("imdb", "imdb_test"))
    X, X_test = weighted_counts(counts, test)
    return _shuffled("imdb", X, signs(ratings > 5), X_test, signs(test_ratings > 5))


def _gisette_like() -> Split:
    (X, y), (X_test, y_test) = map(arrays_of, ("gisette_like", "gisette_like_valid"))
    X, X_test = X.toarray() / 999.0, X_test.toarray() / 999.0
    return _shuffled("gisette_like", X, signs(y > 0), X_test, signs(y_test > 0))


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
