"""What is to be fitted (`Task`), what comes out (`Path`), and fits of the full problem."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sketchlasso.data import as_responses
from sketchlasso.exact import ExactSolution, exact_alpha_max, solve_exact
from sketchlasso.instances import RowSet, RowSets, all_rows
from sketchlasso.problem.terms import Terms, alpha_grid, check_alphas, default_ratio
from sketchlasso.results.full_data import FullCertificate, certify_with_bound
from sketchlasso.results.models import LinearModels
from sketchlasso.results.radius_policy import RadiusPolicy
from sketchlasso.sketches import Sketch
from sketchlasso.sketches.response import RowsBase, rows_base
from sketchlasso.solvers import Settings, Solver
from sketchlasso.types import FloatArray, IntArray

# A smaller gap of the full problem takes more products with X and changes no conclusion.
FULL_TOL = 1e-4


@dataclass(frozen=True, eq=False)
class Guide:
    """Where the search of one response ended: that of another response of the same X begins there.

    Responses that share X share the error of its sketch, and with it the radii that suit them.
    Their best penalties lie at about the same share of the largest. A search that begins there
    solves half as many problems as one that walks down all penalties.
    """

    best: int  # the radius policy with the lowest squared error
    # (radii,): place of the best penalty of every policy; -1 where none was tried
    penalty: IntArray
    radius: FloatArray  # (radii, alphas): NaN where it was not tried

    @classmethod
    def of(cls, errors: FloatArray, radius: FloatArray) -> Guide:
        """From squared errors and radii (radii, alphas), NaN where a point was not tried."""
        known = np.where(np.isfinite(errors), errors, np.inf)
        penalty = np.where(np.isfinite(known).any(axis=1), known.argmin(axis=1), -1)
        return cls(int(known.min(axis=1).argmin()), penalty, radius)


class FoldBases:
    """What the sketches of several responses have in common, fold by fold, made when needed."""

    def __init__(self) -> None:
        self._made: dict[int, RowsBase] = {}
        self._lock = threading.Lock()

    def of(self, fold: int, sketch: Sketch, X: Any, row_set: RowSet) -> RowsBase:
        """The base of the training rows of a fold; `sketch` is that of any response."""
        with self._lock:
            if fold not in self._made:
                train, _ = row_set.training(X.shape[0])
                self._made[fold] = rows_base(sketch, X[train], train)
            return self._made[fold]


def penalty_count(alphas: int | ArrayLike) -> int | None:
    """How many penalties to space automatically; None where they are given."""
    number = isinstance(alphas, int | np.integer) and not isinstance(alphas, bool)
    return int(alphas) if number else None  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be fitted, apart from the row sets that train."""

    X: Any  # array, csr_array or BlockMatrix (m, n)
    Y: FloatArray  # (m, t)
    weights: FloatArray | None  # (m,), of all rows; row sets carry them too
    alphas: int | ArrayLike  # penalties (a,), or how many to space automatically
    alpha_min_ratio: float | None = None
    terms: Terms = field(default_factory=Terms)
    solver: Solver = "newton"
    settings: Settings | None = None
    start: Any = None  # csr_array (B, n): coefficients that full problems start from
    near: float | None = None  # radius that the search for realised radii starts from
    guide: Guide | None = None  # where a search begins
    bases: FoldBases | None = None  # what the sketches of its folds share with other responses
    quiet: bool = False  # whether the caller warns of problems that are not solved

    @property
    def count(self) -> int | None:
        """How many penalties to space automatically; None where they are given."""
        return penalty_count(self.alphas)

    @property
    def full_settings(self) -> Settings:
        """Settings of fits of the full problem."""
        return self.settings or Settings(tol=FULL_TOL)

    @property
    def all_rows(self) -> RowSets:
        """Every row, with its weight."""
        rows = all_rows(len(self.Y))
        return rows if self.weights is None else rows.weighted(self.weights)

    def full_terms(self, sketch: Sketch | None) -> Terms:
        """The terms that make the full problem on X that of the scaled columns of a sketch."""
        return self.terms if sketch is None else self.terms.scaled(sketch.column_scales)


@dataclass(frozen=True, eq=False)
class Fits:
    """Solved instances as models of X, one row per instance."""

    models: LinearModels
    primal: FloatArray  # (B,): of the problem that was solved, the sketched or the full one
    dual: FloatArray  # (B,)
    relative_gap: FloatArray  # (B,)
    n_iter: IntArray  # (B,): inner iterations spent
    status: IntArray  # (B,): values of Status
    radius: FloatArray  # (B,): radius that every instance was solved with
    seconds: float  # spent in the solver, the search for radii included


@dataclass(frozen=True, eq=False)
class Path(Fits):
    """Linear models for responses x radii x alphas, alphas fastest.

    Where they were fitted on several row sets, those vary slowest.

    Attributes
    ----------
    models : LinearModels
        Coefficients (B, n) on the scale of X, and intercepts (B,).
    alphas : ndarray of shape (responses, radii, alphas)
    radii : tuple of RadiusPolicy
    radius : ndarray of shape (B,)
        The radius every instance was solved with; zero for the full model.
    primal, dual, relative_gap : ndarray of shape (B,)
        Of the problem that was solved, sketched or full.
    n_iter : ndarray of shape (B,)
        Inner iterations spent.
    status : ndarray of shape (B,)
    seconds : float
        Time in the solver.
    """

    alphas: FloatArray
    radii: tuple[RadiusPolicy, ...]
    terms: Terms  # of the full problem on X
    proved: bool  # whether `dual` holds for that problem

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Row sets, responses, radii and alphas."""
        responses, radii, alphas = self.alphas.shape
        return len(self.status) // self.alphas.size, responses, radii, alphas

    def certificate(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> FullCertificate:
        """How far models of all rows are from the optimum of the full problem.

        It takes a few products with X. Without a sketch `relative_gap` is that distance already.

        Parameters
        ----------
        X : array, sparse matrix, BlockMatrix or dask array of shape (m, n)
        y : array-like of shape (m,) or (m, t)
        sample_weight : array-like of shape (m,), optional
            Those that the models were fitted to.

        Returns
        -------
        FullCertificate
        """
        Y = as_responses(y, X.shape[0])
        each = self.alphas.size // Y.shape[1]
        return certify_with_bound(
            X,
            np.repeat(Y, each, axis=1) if Y.shape[1] > 1 else Y,
            self.models.coef,
            self.alphas.ravel(),
            terms=self.terms,
            sample_weight=sample_weight,
            # The bounds that the solver of the full problem has proved hold for these models.
            bound=self.dual if self.proved else None,
        )


def fit_exact(task: Task, rows: RowSets, radius: float = 0.0) -> Path:
    """Solve the problems on X itself."""
    alphas, settings = _grid(task, radius), task.full_settings
    found = solve_exact(
        task.X,
        task.Y,
        alphas,
        radius=radius,
        rows=rows,
        terms=task.terms,
        tol=settings.tol,
        n_threads=settings.n_threads,
        callback=settings.callback,
    )
    return exact_path(found, alphas, task, radius)


def _grid(task: Task, radius: float) -> FloatArray:
    """Penalties (t, a) of the problem on X itself."""
    if task.count is None:
        given = check_alphas(task.alphas)
        return np.broadcast_to(given, (task.Y.shape[1], len(given)))
    ratio = task.alpha_min_ratio
    if ratio is None:
        ratio = default_ratio(task.X.shape)
    largest = exact_alpha_max(task.X, task.Y, radius=radius, rows=task.all_rows, terms=task.terms)
    # Where no feature ever enters any penalty does; tiny ones would only cost iterations.
    return alpha_grid(np.where(largest > 0, largest, 1.0), task.count, ratio)


def exact_path(found: ExactSolution, alphas: FloatArray, task: Task, radius: float = 0.0) -> Path:
    """Solutions on X itself with their penalties (responses, alphas)."""
    if not task.quiet:
        found.warn_if_unsolved()
    return Path(
        models=LinearModels(found.coef, found.intercept),
        primal=found.primal,
        dual=found.dual,
        relative_gap=found.relative_gap,
        n_iter=found.n_iter,
        status=found.status,
        radius=np.full(len(found.primal), radius),
        seconds=found.seconds,
        alphas=alphas[:, None],
        radii=(RadiusPolicy("given", radius),),
        terms=task.terms,
        proved=radius == 0.0,
    )
