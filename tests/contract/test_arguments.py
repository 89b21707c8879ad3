"""Read-only memory is enough for all public functions, which never change what they are given."""

import numpy as np
import pytest
from scipy import sparse

import sketchlasso as sl
from sketchlasso.io import Table, read_table, write_table
from sketchlasso.topics import corpus_from_matrix, word_graph

KINDS = ("C", "F", "integer", "csr", "csc", "coo", "unsorted", "twice")


def matrix(kind):
    """A matrix (40, 6) of counts as a dense array or a sparse one, in canonical form or not."""
    rng = np.random.default_rng(0)
    X = rng.poisson(1.0, (40, 6)).astype(np.float64)
    X[np.arange(6), np.arange(6)] += 1.0
    if kind in ("C", "F"):
        return np.array(X, order=kind)
    if kind == "integer":
        return X.astype(np.int64)
    if kind in ("csr", "csc", "coo"):
        return sparse.coo_array(X).asformat(kind)
    held = sparse.csr_array(X)
    if kind == "unsorted":  # as CountVectorizer().fit_transform(documents)[:, order] is
        return held[:, [3, 0, 5, 1, 4, 2]]
    parts = np.repeat(held.data / 2, 2), np.repeat(held.indices, 2), 2 * held.indptr
    return sparse.csr_array(parts, shape=held.shape)


def arrays_of(X):
    if isinstance(X, np.ndarray):
        return [X]
    if X.format == "coo":
        return [X.data, *X.coords]
    return [X.data, X.indices, X.indptr]


def mapped(X, folder):
    """The same matrix in read-only memory maps, as joblib hands large arguments to workers."""
    places = []
    for number, part in enumerate(arrays_of(X)):
        np.save(folder / f"{number}.npy", part)
        places.append(np.load(folder / f"{number}.npy", mmap_mode="r"))
    if isinstance(X, np.ndarray):
        return places[0]
    if X.format == "coo":
        return sparse.coo_array((places[0], tuple(places[1:])), shape=X.shape)
    return type(X)(tuple(places), shape=X.shape)


def written(name):
    def write(X, y, folder):
        write_table(folder / name, Table(X, y))

    return write


def use_bag_of_words(X, y, folder):
    write_table(folder / "docword.some.txt", Table(X))


def use_topics(X, y, folder):
    model = sl.topics.TopicImager(rank=3, stop_words=None).fit(X, vocabulary=list("abcdef"))
    model.images(["a", "b"])


USES = {
    "Table": lambda X, y, folder: Table(X, y),
    "svmlight": written("table.svm"),
    "npz": written("table.npz"),
    "csv": written("table.csv"),
    "parquet": written("table.parquet"),
    "bag of words": use_bag_of_words,
    "corpus": lambda X, y, folder: corpus_from_matrix(X, list("abcdef")),
    "topics": use_topics,
    "graph": lambda X, y, folder: word_graph((X.T @ X)[:, ::-1], list("abcdef")),
    "sketch": lambda X, y, folder: sl.sketch(X, rank=3, method="randomized"),
    "fit": lambda X, y, folder: sl.SqrtLasso(sketch=None).fit(X, y).predict(X),
    "classifier": lambda X, y, folder: sl.SqrtLassoClassifier().fit(X, y > 0).predict(X),
    "search": lambda X, y, folder: sl.SqrtLassoCV(alphas=5, cv=3).fit(X, y),
    "path": lambda X, y, folder: sl.sqrt_lasso_path(X, y, alphas=5),
    "nodewise": lambda X, y, folder: sl.inference.nodewise(X, alpha=2.0),
    "desparsified": lambda X, y, folder: sl.inference.desparsified(X, y),
    "stability": lambda X, y, folder: sl.inference.StabilitySelection(n_pairs=20).fit(X, y),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", KINDS)
def test_read_only_memory_is_enough(kind, use, tmp_path):
    X, y = mapped(matrix(kind), tmp_path), np.random.default_rng(1).standard_normal(40)
    y.flags.writeable = False
    USES[use](X, y, tmp_path)


def test_a_sparse_table_with_unsorted_columns_comes_back_number_for_number(tmp_path):
    X = matrix("unsorted")
    dense = X.toarray()
    write_table(tmp_path / "t.npz", Table(X))
    np.testing.assert_array_equal(X.toarray(), dense)
    np.testing.assert_array_equal(read_table(tmp_path / "t.npz").X.toarray(), dense)
