"""A sparse precision matrix with the interface of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from sklearn.covariance import EmpiricalCovariance, empirical_covariance, log_likelihood
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from sketchlasso.data.validate import refuse_masked
from sketchlasso.errors import GridEdgeWarning, InvalidInputError, UnusableColumnsError, unaccepted
from sketchlasso.estimators.base import Watcher, count_callback, unfitted_if_interrupted
from sketchlasso.graphs import Rule, graph_of, join_directions
from sketchlasso.inference.checks import (
    check_enough_rows,
    column_names,
    determined_groups,
    listed,
)
from sketchlasso.inference.columns import ColumnRows, column_rows
from sketchlasso.inference.regressions import ColumnSolver, Nodewise, Progress
from sketchlasso.linalg.threads import single_blas_thread, thread_count
from sketchlasso.problem.terms import check_alphas
from sketchlasso.solvers import Settings
from sketchlasso.types import FloatArray, IntArray, is_number, is_whole
from sketchlasso.warn import warn_user

CHOICES = ("stars", "ebic", "cv")


@dataclass(eq=False, repr=False)
class SparsePrecision(EmpiricalCovariance):
    """Sparse inverse covariance by one square-root LASSO per column (TIGER).

    Column j is regressed on all others on the full data, at a penalty that does not depend on
    noise levels. With gamma_j the coefficients and z_j the residual,

        theta_jj = m / ||z_j||^2,     theta_jk = -gamma_jk theta_jj ,

    and both directions of a pair become one entry by `rule`. The matrices are dense; for more than
    a few thousand columns use :func:`neighbourhoods`.

    H. Liu and L. Wang, "TIGER", Electronic Journal of Statistics 11 (2017).

    Parameters
    ----------
    alpha : "pivotal", "stars", "ebic", "cv" or float
        The penalty, of columns with standard deviation one. ``"pivotal"`` needs no search, see
        :func:`pivotal_alpha`. The others choose one of `alphas`: by the stability of the edges
        between subsamples, by the extended BIC of the neighbourhoods, or by the log-likelihood of
        rows held out.
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
        Largest instability that ``alpha="stars"`` accepts, in (0, 0.5].
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
        definite; 0 where it already was. The edges are not affected.
    alpha_ : float
    alphas_, criterion_ : ndarray of shape (a,)
        Penalties that were compared and instability, extended BIC or mean log-likelihood of each;
        only where alpha was chosen. NaN past the end of the search.
    regressions_ : Nodewise
        The regressions, each with its duality gap.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

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
        diagonal, self._edges, partial = join_regressions(found, columns.lengths, self.rule)
        self.precision_, self.shrinkage_ = positive_definite(diagonal, self._edges, partial)
        self._partial = partial * (1.0 - self.shrinkage_)
        self.covariance_ = _inverse(self.precision_)
        self.location_ = columns.means
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


def join_regressions(
    found: Nodewise, lengths: FloatArray, rule: Rule
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Join the regressions of all columns, one penalty each, as TIGER does.

    The estimate is D (I - R) D with D = diag(sqrt(diagonal)). Returns its diagonal (n,) and the
    edges (e, 2) and partial correlations (e,) of R. `lengths` (n,) are those of the centred
    columns. A column that is constant, or fitted exactly by others, is refused.
    """
    if (lengths == 0).any():
        raise InvalidInputError(
            f"column {int(np.argmin(lengths))} of X is constant, but a precision matrix needs "
            "columns that vary; drop it."
        )
    exact = found.fits_exactly(lengths)
    if exact.any():
        j = int(np.argmax(exact))
        raise InvalidInputError(
            f"column {j} of X is fitted exactly by others at alpha={found.alpha[j]:.3g}, so that "
            "its precision would be infinite; drop copies and sums of other columns, or use a "
            "larger alpha."
        )
    row = np.repeat(found.targets, np.diff(found.coef.indptr))
    column = found.coef.indices
    # gamma_jk sqrt(theta_jj / theta_kk)
    partial = found.coef.data * found.residual_norm[column] / found.residual_norm[row]
    edges, joined = join_directions(row, column, partial, len(lengths), rule)
    return found.n_samples / found.residual_norm**2, edges, joined


def positive_definite(
    diagonal: FloatArray, edges: IntArray, partial: FloatArray
) -> tuple[FloatArray, float]:
    """Precision D (I - R) D, and the share that was taken off the partial correlations R.

    Where the smallest eigenvalue of I - R falls below 0.001, R is multiplied by the largest number
    that keeps it there: the graph and the diagonal do not change.
    """
    n, most, share = len(diagonal), 1.0 - 1e-3, 0.0
    R = np.zeros((n, n))
    R[edges[:, 0], edges[:, 1]] = partial
    R += R.T
    try:
        linalg.cholesky(most * np.eye(n) - R, lower=True)
    except linalg.LinAlgError:
        largest = float(linalg.eigvalsh(R, subset_by_index=[n - 1, n - 1])[0])
        share = 1.0 - most / largest
        R *= most / largest
    root = np.sqrt(diagonal)
    return (np.eye(n) - R) * np.outer(root, root), share


def _inverse(precision: FloatArray) -> FloatArray:
    """Its inverse, symmetric, by the correlations: columns may have any units."""
    root = np.sqrt(np.diag(precision))
    scale = np.outer(root, root)
    factor = linalg.cho_factor(precision / scale, lower=True)
    covariance = linalg.cho_solve(factor, np.eye(len(root))) / scale
    return np.asarray(0.5 * (covariance + covariance.T))


@dataclass(frozen=True, eq=False)
class PenaltyPath:
    """Data and decreasing penalties (a,) to choose from, of columns with standard deviation one."""

    X: FloatArray
    alphas: FloatArray
    rule: Rule
    settings: Settings

    def solve(self, X: FloatArray, alphas: FloatArray) -> tuple[ColumnRows, Nodewise]:
        """All columns of some rows of X; penalties over the root of their number stay the same."""
        columns = column_rows(X, True)
        own = alphas * np.sqrt(len(X) / len(self.X))
        return columns, ColumnSolver(self.settings).solve(columns, own)


def penalty_path(columns: ColumnRows, count: int, ratio: float) -> FloatArray:
    """Penalties (count,) from the smallest that leaves no edge, evenly spaced in log scale."""
    if not (is_whole(count) and count >= 2 and is_number(ratio) and 0 < ratio < 1):
        raise InvalidInputError(
            f"alphas={count!r} and alpha_min_ratio={ratio!r} were given, but at least 2 penalties "
            "and a ratio strictly between 0 and 1 are accepted; pass these, or the penalties."
        )
    largest = columns.largest_products().max() / np.sqrt(columns.n_samples)
    return np.asarray(max(largest, 1e-12) * np.geomspace(1.0, ratio, int(count)))


def select_by_stars(
    path: PenaltyPath,
    rng: np.random.Generator,
    n_subsamples: int,
    threshold: float,
    on_progress: Progress | None,
) -> tuple[int, FloatArray]:
    """The smallest penalty whose edges hardly change between subsamples (StARS).

    The instability is the mean of 2 p (1 - p) over all pairs of columns, p the share of subsamples
    with that edge, and never falls along the path. H. Liu, K. Roeder and L. Wasserman (2010).
    """
    m, n = path.X.shape
    size = int(0.8 * m) if m <= 144 else int(10 * np.sqrt(m))
    rows = [np.sort(rng.choice(m, size, replace=False)) for _ in range(n_subsamples)]
    criterion = np.full(len(path.alphas), np.nan)
    highest = 0.0
    for part in gen_batches(len(path.alphas), 4):
        seen: list[list[IntArray]] = [[] for _ in range(part.stop - part.start)]
        for number, chosen in enumerate(rows):
            _, found = path.solve(path.X[chosen], path.alphas[part])
            for i, keys in enumerate(seen):
                own = found.penalty(i)
                row = np.repeat(own.targets, np.diff(own.coef.indptr))
                # Signs decide the "and", sizes do not.
                signs = np.sign(own.coef.data)
                edges, _ = join_directions(row, own.coef.indices, signs, n, path.rule)
                keys.append(edges[:, 0] * n + edges[:, 1])
            if on_progress is not None:
                on_progress(part.start * n_subsamples + number + 1, len(path.alphas) * n_subsamples)
        for i, keys in enumerate(seen, part.start):
            shares = np.unique(np.concatenate(keys), return_counts=True)[1] / n_subsamples
            instability = float(np.sum(2 * shares * (1 - shares))) / max(1, n * (n - 1) / 2)
            highest = criterion[i] = max(highest, instability)
        if highest > threshold:
            break
    below = np.flatnonzero(criterion <= threshold)
    return int(below[-1]) if len(below) else 0, criterion


def _descend(path: PenaltyPath, value: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Values (a,) of decreasing penalties, NaN once they stay below the best."""
    values = np.full(len(path.alphas), np.nan)
    for part in gen_batches(len(path.alphas), 4):
        values[part] = value(path.alphas[part])
        if part.start > 0 and int(np.nanargmax(values)) < part.start:
            break
    return values


def select_by_ebic(path: PenaltyPath, gamma: float) -> tuple[int, FloatArray]:
    """The penalty with the smallest extended BIC of its neighbourhoods.

    The sum over columns of m log(||z_j||^2 / m) + s_j (log m + 2 gamma log(n - 1)), z_j what least
    squares on the s_j columns of the support leaves of column j. J. Chen and Z. Chen (2008).
    """
    m, n = path.X.shape

    def value(alphas: FloatArray) -> FloatArray:
        columns, found = path.solve(path.X, alphas)
        sizes = np.diff(found.coef.indptr)
        with single_blas_thread():
            squares = np.array([_refitted(columns, found, i) for i in range(len(sizes))])
        lengths = np.sum(columns.P**2, axis=1)[found.targets]
        with np.errstate(divide="ignore"):
            fit = m * np.log(np.where(squares > 1e-12 * lengths, squares, 0.0) / m)
        total = fit + sizes * (np.log(m) + 2 * gamma * np.log(max(n - 1, 1)))
        # An exact fit says nothing about the graph.
        total = np.where(np.isfinite(total) & (sizes < m - 1), total, np.inf)
        return -np.asarray(total.reshape(n, -1).sum(axis=0))

    criterion = -_descend(path, value)
    return int(np.nanargmin(criterion)), criterion


def _refitted(columns: ColumnRows, found: Nodewise, i: int) -> float:
    """||z||^2 of a column after least squares on its chosen columns."""
    y = columns.P[found.targets[i]]
    part = slice(found.coef.indptr[i], found.coef.indptr[i + 1])
    rows = columns.P[found.coef.indices[part]]
    if not 0 < len(rows) < columns.n_samples - 1:
        return float(y @ y) if len(rows) == 0 else 0.0
    seen = rows @ y
    try:
        weights = linalg.solve(rows @ rows.T, seen, assume_a="pos")
    except linalg.LinAlgError:
        weights = linalg.lstsq(rows.T, y)[0]
    rest = y - weights @ rows
    return float(rest @ rest)


def select_by_cv(
    path: PenaltyPath, folds: Iterable[tuple[IntArray, IntArray]], on_progress: Progress | None
) -> tuple[int, FloatArray]:
    """The penalty with the largest mean log-likelihood of rows held out."""
    splits, done = list(folds), 0

    def value(alphas: FloatArray) -> FloatArray:
        nonlocal done
        scores = np.empty((len(splits), len(alphas)))
        for number, (train, test) in enumerate(splits):
            columns, found = path.solve(path.X[train], alphas)
            rest = path.X[test] - path.X[train].mean(axis=0)
            held_out = empirical_covariance(rest, assume_centered=True)
            lengths = columns.lengths
            for i in range(len(alphas)):
                own = found.penalty(i)
                if (lengths == 0).any() or own.fits_exactly(lengths).any():
                    scores[number, i] = -np.inf
                else:
                    precision, _ = positive_definite(*join_regressions(own, lengths, path.rule))
                    scores[number, i] = log_likelihood(held_out, precision)
            done += len(alphas)
            if on_progress is not None:
                on_progress(done, len(splits) * len(path.alphas))
        return np.asarray(scores.mean(axis=0))

    criterion = _descend(path, value)
    return int(np.nanargmax(criterion)), criterion
