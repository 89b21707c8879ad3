"""Clusters of points near a few subspaces: each point is a combination of a few others."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import spectral_clustering
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from sketchlasso.data.validate import refuse_masked
from sketchlasso.estimators.callbacks import Watcher, count_callback, unfitted_if_interrupted
from sketchlasso.inference.checks import check_parameters
from sketchlasso.inference.column_problems import ColumnProblems, ColumnRows, largest_products
from sketchlasso.inference.nodewise import solve_columns
from sketchlasso.linalg.rows import stack_rows
from sketchlasso.linalg.threads import thread_count
from sketchlasso.solvers import Settings
from sketchlasso.types import FloatArray, is_number, is_whole

# Weight of the links between separate parts; spectral clustering needs a connected graph.
FAINT = 1e-6


@dataclass(eq=False, repr=False)
class SparseSubspaceClustering(ClusterMixin, BaseEstimator):
    """Sparse subspace clustering by the square-root LASSO.

    Every point, scaled to length one, is expressed by a few others,

        minimise over w   || x_i - sum_j w_j x_j ||_2  +  alpha_i ||w||_1 ,    w_i = 0 ,

    because points of its own subspace need the fewest and smallest weights. Spectral clustering
    of the absolute weights gives the clusters. Subspaces contain the origin, and x and -x lie in
    the same one, so centre the data first only if that is intended. E. Elhamifar and
    R. Vidal, "Sparse subspace clustering: algorithm, theory, and applications", IEEE Transactions
    on Pattern Analysis and Machine Intelligence 35 (2013).

    Parameters
    ----------
    n_clusters : int
    penalty : float
        alpha_i as a share of the smallest penalty at which point i has no weights, in (0, 1).
    n_neighbors : int, optional
        Strongest weights of each point that are kept; all with None.
    tol : float
        Relative duality gap of every regression.
    n_jobs : int or None
        Threads: -1 for all cores, None for one.
    random_state : int, RandomState or None
        Of the spectral clustering.
    verbose : bool, int or callable
        Progress on a terminal; silent in pipes.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    coef_ : csr_array of shape (n_samples, n_samples)
        Row i has the weights of the other points, all of length one, that express point i.
    affinity_matrix_ : csr_array of shape (n_samples, n_samples)
        Symmetric: kept absolute weights, the largest of each point one, plus their transpose.
    relative_gap_ : ndarray of shape (n_samples,)
        Proved gap of every regression.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> from sketchlasso.inference import SparseSubspaceClustering
    >>> rng = np.random.default_rng(0)
    >>> lines = rng.standard_normal((2, 5))
    >>> X = np.repeat(lines, 20, axis=0) * rng.standard_normal((40, 1))
    >>> labels = SparseSubspaceClustering(2, random_state=0).fit_predict(X)
    >>> len(set(labels[:20])), len(set(labels[20:])), bool(labels[0] != labels[20])
    (1, 1, True)
    """

    n_clusters: int = 8
    _: KW_ONLY
    penalty: float = 0.3
    n_neighbors: int | None = 10
    tol: float = 1e-6
    n_jobs: int | None = -1
    random_state: int | np.random.RandomState | None = None
    verbose: bool | int | Watcher = False

    @unfitted_if_interrupted
    def fit(self, X: Any, y: Any = None) -> SparseSubspaceClustering:
        """Express every point by the others, and cluster the weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        SparseSubspaceClustering
        """
        del y
        refuse_masked("X", X)
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=3)
        self._check_parameters(len(X))
        points = _points(X)
        # The smallest penalties without weights; 0 for a point orthogonal to all others.
        largest = largest_products(points.P)
        alpha = self.penalty * np.where(largest > 0, largest, 1.0)[:, None]
        found = solve_columns(
            ColumnProblems(points, alpha),
            Settings(tol=self.tol, n_threads=thread_count(self.n_jobs)),
            count_callback(self.verbose),
        )
        found.warn_if_unsolved()
        self.coef_ = found.coef
        self.relative_gap_ = found.relative_gap
        self.affinity_matrix_ = _affinities(found.coef, self.n_neighbors)
        self.labels_ = spectral_clustering(
            _connected(self.affinity_matrix_),
            n_clusters=int(self.n_clusters),
            random_state=check_random_state(self.random_state),
        ).astype(np.intp)
        return self

    def _check_parameters(self, m: int) -> None:
        count, kept = self.n_clusters, self.n_neighbors
        check_parameters(
            self,
            (
                "n_clusters",
                is_whole(count) and 1 <= count <= m,
                f"a whole number from 1 to the n_samples={m} points",
            ),
            (
                "penalty",
                is_number(self.penalty) and 0 < self.penalty < 1,
                "a share strictly between 0 and 1",
            ),
            (
                "n_neighbors",
                kept is None or (is_whole(kept) and kept >= 1),
                "a whole number >= 1 or None",
            ),
        )


def _points(X: FloatArray) -> ColumnRows:
    """Points (m, n) of length one as the columns of a problem without means and scales."""
    largest = np.abs(X).max(axis=1, keepdims=True)
    X = X / np.where(largest > 0, largest, 1.0)
    lengths = np.linalg.norm(X, axis=1)
    unit = X / np.where(lengths > 0, lengths, 1.0)[:, None]
    m, n = unit.shape
    # Few points of many features: their inner products fit into m dimensions.
    P = unit if n <= m else np.asarray(np.linalg.qr(unit.T, mode="r")).T
    return ColumnRows(np.ascontiguousarray(P), np.zeros(m), np.ones(m), lengths == 0, 1.0, n, False)


def _affinities(coef: Any, kept: int | None) -> Any:
    """The strongest absolute weights of each row, the largest scaled to one, plus the transpose."""
    rows = []
    for i in range(coef.shape[0]):
        part = slice(coef.indptr[i], coef.indptr[i + 1])
        strong = np.abs(coef.data[part])
        order = np.argsort(-strong, kind="stable")[:kept]
        largest = max(strong.max(initial=0.0), np.finfo(float).tiny)
        rows.append((coef.indices[part][order], strong[order] / largest))
    half: Any = stack_rows(rows, coef.shape[1])
    return sparse.csr_array(half + half.T)


def _connected(affinity: Any) -> Any:
    """Return affinities as scikit-learn takes them, with faint links between separate parts."""
    count, part = connected_components(affinity, directed=False)
    first = np.unique(part, return_index=True)[1]
    size = affinity.shape[0]
    links = np.full(count - 1, FAINT)
    chain: Any = sparse.csr_array((links, (first[:-1], first[1:])), shape=(size, size))
    joined = sparse.csr_matrix(affinity + chain + chain.T)
    # ARPACK's solvers take 32-bit indices only.
    joined.indices, joined.indptr = joined.indices.astype(np.int32), joined.indptr.astype(np.int32)
    return joined
