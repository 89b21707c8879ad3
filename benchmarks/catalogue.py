"""Data sets of the folder that SKETCHLASSO_DATA names, by name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from sketchlasso.io import Table

__all__ = ["LAYOUTS", "MissingDataError", "arrays_of", "data_file", "table_of"]


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


class Part(NamedTuple):
    """An array of an npz file; without a key, a sparse matrix, or names in lines of text."""

    file: str
    key: str | None = None


class Layout(NamedTuple):
    """How a data set lies in the folder: matrices to stack, a target, and names.

    More feature names than features: the rest name the target. `rows` says whether those with
    target 0, or with missing values, are left out.
    """

    matrix: tuple[Part, ...]
    target: Part | None = None
    feature_names: Part | None = None
    target_names: Part | None = None
    rows: Literal["all", "labelled", "complete"] = "all"


def _counts(matrix: str, target: Part | None = None, words: str | None = None) -> Layout:
    return Layout((Part(matrix),), target, None if words is None else Part(words))


def _dense(file: str, names: str | None = None, rows: Literal["all", "complete"] = "all") -> Layout:
    named = None if names is None else Part(file, names)
    return Layout((Part(file, "X"),), Part(file, "y"), named, None, rows)


_TRAIN = "news20/news20_train_"
_NEWS, _IMDB, _RCV1 = "20news_bydate/", "imdb/", "rcv1/rcv1_labels.npz"
_LIKE, _MNIST = "gisette/gisette_like_", "mnist/mnist.npz"

LAYOUTS: dict[str, Layout] = {
    "news20": _counts(f"{_TRAIN}counts.npz", Part(f"{_TRAIN}labels.npz", "y")),
    "kos": _counts("kos/kos_counts.npz", None, "kos/vocab.txt"),
    "20news_bydate": _counts(
        _NEWS + "train_counts.npz", Part(_NEWS + "labels.npz", "y_train"), _NEWS + "vocab.txt"
    ),
    "20news_bydate_test": _counts(
        _NEWS + "test_counts.npz", Part(_NEWS + "labels.npz", "y_test"), _NEWS + "vocab.txt"
    ),
    "rcv1": Layout((Part("rcv1/rcv1_X.npz"),), Part(_RCV1, "y_binary"), rows="labelled"),
    "rcv1_topics": Layout(
        (Part("rcv1/rcv1_X.npz"),), Part(_RCV1, "topics"), None, Part("rcv1/topic_codes.txt")
    ),
    "tmc2007_500": _counts(
        "tmc2007_500/tmc2007_500_X.npz",
        Part("tmc2007_500/tmc2007_500_labels.npz", "Y"),
        "tmc2007_500/vocab.txt",
    ),
    "bibtex": Layout(
        (Part("multilabel_text/bibtex_X.npz"),),
        Part("multilabel_text/bibtex_Y.npz", "Y"),
        Part("multilabel_text/bibtex_vocab.txt"),
        Part("multilabel_text/bibtex_tags.txt"),
    ),
    **{
        name: _counts(f"multilabel_text/{name}_X.npz", Part(f"multilabel_text/{name}_Y.npz", "Y"))
        for name in ("yahoo_education", "yahoo_reference")
    },
    "imdb": _counts(
        _IMDB + "train_counts.npz", Part(_IMDB + "ratings.npz", "rating_train"), _IMDB + "vocab.txt"
    ),
    "imdb_test": _counts(
        _IMDB + "test_counts.npz", Part(_IMDB + "ratings.npz", "rating_test"), _IMDB + "vocab.txt"
    ),
    "imdb_all": Layout(
        tuple(Part(f"{_IMDB}{part}_counts.npz") for part in ("train", "test", "unsup")), None,
        Part(_IMDB + "vocab.txt"),
    ),
    "nips_uci": _counts("nips/nips_uci_counts.npz", None, "nips/nips_uci_vocab.txt"),
    "nips_1987_2003": _counts(
        "nips/nips_1987_2003_counts.npz", None, "nips/nips_1987_2003_vocab.txt"
    ),
    "nytimes_headlines": _counts(
        "nytimes_headlines/counts.npz",
        Part("nytimes_headlines/labels.npz", "topic_code"),
        "nytimes_headlines/vocab.txt",
    ),
    "gisette_sample168": _dense("gisette/gisette_sample168.npz"),
    "gisette_like": _counts(_LIKE + "train_X.npz", Part(_LIKE + "labels.npz", "y_train")),
    "gisette_like_valid": _counts(_LIKE + "valid_X.npz", Part(_LIKE + "labels.npz", "y_valid")),
    "mnist": Layout((Part(_MNIST, "X_train"),), Part(_MNIST, "y_train")),
    "mnist_test": Layout((Part(_MNIST, "X_test"),), Part(_MNIST, "y_test")),
    "arcene": _dense("nips2003/arcene.npz"),
    "madelon": _dense("nips2003/madelon.npz"),
    "riboflavin": _dense("microarray/riboflavin.npz", "genes"),
    **{
        name: _dense(f"microarray/{name}.npz")
        for name in (
            "alon", "golub", "gordon", "khan", "shipp", "pomeroy", "su", "gravier", "christensen",
            "borovecki", "subramanian", "west",
        )
    },
    "gasoline_nir": _dense("regression/gasoline_nir.npz"),
    "blogfeedback": _dense("regression/blogfeedback.npz"),
    "california_housing": _dense("regression/california_housing.npz", "names", "complete"),
    "diabetes": _dense("regression/diabetes.npz", "names"),
    "prostate": _dense("regression/prostate.npz", "names"),
    "boston": _dense("regression/boston.npz", "names"),
}  # fmt: skip


def table_of(name: str) -> Table:
    """Read a data set: X as floating-point numbers, nothing centred or scaled."""
    if name not in LAYOUTS:
        raise MissingDataError(f"{name} is not a data set here; choose from {', '.join(LAYOUTS)}.")
    layout = LAYOUTS[name]
    parts = [_array(part) for part in layout.matrix]
    X: Any = parts[0] if len(parts) == 1 else sparse.vstack(parts, format="csr")
    X = X if X.dtype == np.float32 else X.astype(np.float64)
    y: Any = None if layout.target is None else _array(layout.target)
    names = None if layout.feature_names is None else _names(layout.feature_names)
    labels: Any = None if layout.target_names is None else _names(layout.target_names)
    if names is not None and len(names) == X.shape[1] + 1:
        names, labels = names[:-1], names[-1]
    if layout.rows == "labelled":
        X, y = X[y != 0], y[y != 0]
    elif layout.rows == "complete":
        kept = np.isfinite(X).all(axis=1)
        X, y = X[kept], y[kept]
    return Table(X, y, names, labels, name)


def arrays_of(name: str) -> tuple[Any, np.ndarray]:
    """X in doubles, sparse ones as CSR matrices, and the target as it is stored."""
    table = table_of(name)
    X: Any = table.X
    if not sparse.issparse(table.X):
        return np.asarray(X, dtype=np.float64), np.asarray(table.y)
    return sparse.csr_matrix(X, dtype=np.float64), np.asarray(table.y)


def _array(part: Part) -> Any:
    path = data_file(*part.file.split("/"))
    if part.key is None:
        return sparse.csr_array(sparse.load_npz(path))
    with np.load(path) as stored:
        return stored[part.key]


def _names(part: Part) -> tuple[str, ...]:
    if part.key is not None:
        return tuple(map(str, _array(part)))
    return tuple(data_file(*part.file.split("/")).read_text(encoding="utf-8").splitlines())
