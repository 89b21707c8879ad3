"""A sparse precision matrix with the interface of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.covariance import EmpiricalCovariance
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from sketchlasso.data.validate import refuse_masked
from sketchlasso.errors import GridEdgeWarning, InvalidInputError, UnusableColumnsError, unaccepted
from sketchlasso.estimators.callbacks import Watcher, count_callback, unfitted_if_interrupted
from sketchlasso.graphs import Rule, graph_of
from sketchlasso.inference.checks import (
    check_enough_rows,
    column_names,
    determined_groups,
    listed,
)
from sketchlasso.inference.columns import column_rows
from sketchlasso.inference.precision_matrix import (
    PenaltyPath,
    assemble,
    penalty_path,
    select_by_cv,
    select_by_ebic,
    select_by_stars,
)
from sketchlasso.inference.regressions import ColumnSolver, Nodewise
from sketchlasso.linalg.threads import thread_count
from sketchlasso.problem.terms import check_alphas
from sketchlasso.solvers import Settings
from sketchlasso.types import FloatArray, is_number, is_whole
from sketchlasso.warn import warn_user

CHOICES = ("stars", "ebic", "cv")


@dataclass(eq=False, repr=False)
class SparsePrecision(EmpiricalCovariance):
    """Sparse inverse covariance by one square-root LASSO per column (TIGER).

    Column j is regressed on all others on the full data, at a penalty that does not depend on
    noise levels. With gamma_j the coefficients and z_j the residual,

        theta_jj = m / ||z_j||^2,     theta_jk = -gamma_jk theta_jj ,

    and both directions of a pair become one entry by `rule`. H. Liu and L. Wang, "TIGER: a
    tuning-insensitive approach for optimally estimating Gaussian graphical models", Electronic
    Journal of Statistics 11 (2017).

    Parameters
    ----------
    alpha : "pivotal", "stars", "ebic", "cv" or float
        The penalty, of columns with standard deviation one. ``"pivotal"`` needs no search, see
        :func:`pivotal_alpha`. The others choose one of `alphas`: by the stability of the edges
        between subsamples, by the extended BIC of the neighbourhoods, or by the log-likelihood of
        rows held out. With fewer rows than columns, stability selects many false edges and
        likelihood some: see the measured tables.
    rule : {"and", "or"}
        Whether an edge needs both regressions of a pair, with coefficients of the same sign, and
        gets the smaller coefficient, or needs one of them and gets the larger coefficient.
    alphas : int or array-like of shape (a,)
        Penalties to choose from, or how many to space from the smallest that leaves no edge.
    alpha_min_ratio : float
        Smallest over largest automatic penalty.
    cv : int, splitter or iterable
        Folds of ``alpha="cv"``.
    n_subsamples : int
        Of ``alpha="stars"``.
    threshold : float
        Largest instability that ``alpha="stars"`` accepts, in (0, 0.5]. It is a mean over all
        pairs, so it allows more edges with more columns.
    gamma : float
        Weight of the number of columns in ``alpha="ebic"``, from 0 (plain BIC) to 1.
    tol : float
        Relative duality gap of every regression, on the full data.
    n_jobs : int or None
        Threads: -1 for all cores, None for one.
    random_state : int, RandomState or None
        Of the subsamples.
    verbose : bool, int or callable
        Progress on a terminal; silent in pipes.

    Attributes
    ----------
    precision_ : ndarray of shape (n_features, n_features)
        Symmetric and positive definite.
    covariance_ : ndarray of shape (n_features, n_features)
        Its inverse.
    location_ : ndarray of shape (n_features,)
        Means of the columns.
    shrinkage_ : float
        Share by which all partial correlations were reduced to make `precision_` positive
        definite (its smallest eigenvalue at least 0.001, in units of the diagonal); 0 where it
        already was. The edges are not affected.
    alpha_ : float
    alphas_, criterion_ : ndarray of shape (a,)
        Penalties that were compared and instability, extended BIC or mean log-likelihood of each;
        only where alpha was chosen. NaN past the end of the search, which stops where smaller
        penalties only get worse.
    regressions_ : Nodewise
        The regressions, each with its duality gap.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    Notes
    -----
    The matrices are dense, as scikit-learn's are. For more than a few thousand columns use
    :func:`neighbourhoods`, which keeps only the edges.

    Examples
    --------
    >>> import numpy as np
    >>> from sketchlasso.inference import SparsePrecision
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 4))
    >>> X[:, 1] += X[:, 0]
    >>> X[:, 2] += X[:, 1]
    >>> list(SparsePrecision().fit(X).graph().edges)
    [('x0', 'x1'), ('x1', 'x2')]
    """

    # EmpiricalCovariance reads both as parameters; they are fixed here.
    store_precision: ClassVar[bool] = True
    assume_centered: ClassVar[bool] = False

    alpha: Any = "pivotal"
    _: KW_ONLY
    rule: Rule = "and"
    alphas: int | ArrayLike = 20
    alpha_min_ratio: float = 0.1
    cv: Any = 5
    n_subsamples: int = 20
    threshold: float = 0.05
    gamma: float = 0.5
    tol: float = 1e-6
    n_jobs: int | None = -1
    random_state: int | np.random.RandomState | None = None
    verbose: bool | int | Watcher = False

    @unfitted_if_interrupted
    def fit(self, X: Any, y: Any = None) -> SparsePrecision:
        """Regress every column on the others and join the regressions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        SparsePrecision
        """
        del y
        self._check_parameters()
        refuse_masked("X", X)
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        check_enough_rows(len(X))
        settings = Settings(tol=self.tol, n_threads=thread_count(self.n_jobs))
        columns = column_rows(X, True)
        alpha = self.alpha
        if isinstance(alpha, str) and alpha in CHOICES:
            if isinstance(self.alphas, int | np.integer):
                grid = penalty_path(columns, int(self.alphas), self.alpha_min_ratio)
            else:
                grid = check_alphas(self.alphas)
                if len(grid) < 2 or grid[-1] == 0:
                    raise InvalidInputError(
                        "alphas must be a number of penalties or at least two finite penalties "
                        f"> 0, not an array of shape {grid.shape}."
                    )
            for group in determined_groups(columns):
                names = getattr(self, "feature_names_in_", np.arange(columns.n_features))
                raise UnusableColumnsError(
                    f"columns {listed(names, group)} are exact combinations of each other, so "
                    "their precision would be infinite; leave one of them out.",
                    group[-1:],
                )
            index, self.criterion_ = self._choose(PenaltyPath(X, grid, self.rule, settings))
            if index in (0, len(grid) - 1):
                end, remedy = ("smallest", "pass smaller alphas too")
                if index == 0:
                    end, remedy = ("largest", "look for near copies, or pass larger alphas")
                warn_user(
                    GridEdgeWarning(
                        f"alpha='{alpha}' chose the {end} of its penalties ({grid[index]:.3g}), so "
                        f"that the graph may not be the best one; {remedy}."
                    )
                )
            self.alphas_, alpha = grid, float(grid[index])
        solver = ColumnSolver(settings, progress=count_callback(self.verbose))
        found = solver.solve(columns, alpha)
        found.warn_if_unsolved()
        joined = assemble(found, columns.lengths, self.rule)
        self.location_ = columns.means
        self.precision_, self.covariance_, self.shrinkage_ = joined.matrices()
        self._edges, self._partial = joined.edges, joined.partial * (1.0 - self.shrinkage_)
        self.alpha_ = float(found.alpha[0])
        self.regressions_: Nodewise = found
        return self

    def graph(self, names: Sequence[str] | None = None) -> Any:
        """Return the graph of the columns, its weights the partial correlations.

        Parameters
        ----------
        names : sequence of str, optional
            One per column; those of the data frame, or x0, x1, ..., by default.

        Returns
        -------
        networkx.Graph
            Edges have a `weight`, the absolute partial correlation, and a `sign`, 1 or -1. Needs
            the extra `graph`.
        """
        check_is_fitted(self)
        given = getattr(self, "feature_names_in_", None) if names is None else names
        known = column_names(given, self.n_features_in_)
        return graph_of(known, self._edges, self._partial, self.rule)

    def _choose(self, path: PenaltyPath) -> tuple[int, FloatArray]:
        """Return the position of the chosen penalty, and the criterion (a,) of all."""
        if self.alpha == "ebic":
            return select_by_ebic(path, float(self.gamma))
        if self.alpha == "cv":
            folds = check_cv(self.cv).split(path.X)
            return select_by_cv(path, folds, count_callback(self.verbose))
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        rng = np.random.default_rng(seed)
        return select_by_stars(
            path, rng, int(self.n_subsamples), float(self.threshold), count_callback(self.verbose)
        )

    def _check_parameters(self) -> None:
        if np.ndim(self.alpha) != 0:
            raise InvalidInputError(
                f"alpha must be one penalty, not an array of shape {np.shape(self.alpha)}."
            )
        alpha_fits = self.alpha in ("pivotal", *CHOICES)
        if not isinstance(self.alpha, str):
            alpha_fits = is_number(self.alpha) and 0 < self.alpha < np.inf
        accepted = "'pivotal', 'stars', 'ebic', 'cv' or a finite number > 0"
        count, most, gamma = self.n_subsamples, self.threshold, self.gamma
        for name, fits, values in (
            ("alpha", alpha_fits, accepted),
            ("rule", self.rule in ("and", "or"), "'or' or 'and'"),
            ("n_subsamples", is_whole(count) and count >= 2, "an integer >= 2"),
            ("threshold", is_number(most) and 0 < most <= 0.5, "a number in (0, 0.5]"),
            ("gamma", is_number(gamma) and 0 <= gamma <= 1, "a number from 0 to 1"),
        ):
            if not fits:
                raise unaccepted(name, getattr(self, name), values)
