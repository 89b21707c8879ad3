"""What is to be fitted (`Problem`, `Grid`), and what comes out (`LinearModels`, `Path`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sketchlasso.data import BlockMatrix, as_responses
from sketchlasso.errors import unaccepted
from sketchlasso.exact import ExactSolution, exact_alpha_max, solve_exact
from sketchlasso.instances import RowSets, all_rows
from sketchlasso.problem.dual import Bounds
from sketchlasso.problem.terms import Terms, alpha_grid, check_alphas, default_ratio
from sketchlasso.results.certificate import FullCertificate, certify
from sketchlasso.results.radius import RadiusLike, RadiusPolicy, given_radius
from sketchlasso.results.reprs import Screen, Shown, path_screen
from sketchlasso.solvers import Settings, Solver
from sketchlasso.solvers.solution import warn_of_ending
from sketchlasso.types import FloatArray, IntArray, SparseRows

# Points of a grid: numbers of their responses, radii and penalties, each (p,).
Points: TypeAlias = "tuple[IntArray, IntArray, IntArray]"
# A smaller gap of the full problem takes more products with X and changes no conclusion.
FULL_TOL = 1e-4
# With an intercept, and every feature penalised alike.
DEFAULT_TERMS = Terms()


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be solved, apart from penalties and radii, and how well."""

    X: Any  # array, csr_array or BlockMatrix (m, n)
    Y: FloatArray  # (m, t)
    weights: FloatArray | None = None  # (m,), of all rows; row sets carry them too
    terms: Terms = DEFAULT_TERMS
    settings: Settings | None = None
    solver: Solver = "newton"

    @property
    def all_rows(self) -> RowSets:
        """Every row, with its weight."""
        rows = all_rows(len(self.Y))
        return rows if self.weights is None else rows.weighted(self.weights)

    @property
    def full_settings(self) -> Settings:
        """Settings of fits of the full problem."""
        return self.settings or Settings(tol=FULL_TOL)


@dataclass(frozen=True, eq=False)
class Grid:
    """Penalties and radii of every response."""

    alphas: int | ArrayLike = 100  # penalties (a,), or how many to space automatically
    alpha_min_ratio: float | None = None
    radii: RadiusLike | Sequence[RadiusLike] | None = None

    @property
    def count(self) -> int | None:
        """How many penalties to space automatically; None where they are given."""
        if isinstance(self.alphas, bool | np.bool_):
            raise unaccepted("alphas", self.alphas, "a number of penalties or a list of them")
        return int(self.alphas) if isinstance(self.alphas, int | np.integer) else None


@dataclass(frozen=True, eq=False)
class LinearModels:
    """Predictors X v + d, one row per instance, on the original scale of X.

    Attributes
    ----------
    coef : csr_array of shape (B, n)
    intercept : ndarray of shape (B,)
    """

    coef: SparseRows
    intercept: FloatArray

    @property
    def n_nonzero(self) -> IntArray:
        """Non-zero coefficients (B,) of each instance."""
        return np.diff(self.coef.indptr).astype(np.intp)

    def of(self, instances: IntArray) -> LinearModels:
        """The models of some instances."""
        return LinearModels(self.coef[instances], self.intercept[instances])

    def predict(self, X: Any, instances: IntArray | None = None) -> FloatArray:
        """Predictions (rows of X, instances)."""
        models = self if instances is None else self.of(instances)
        return BlockMatrix.of(X) @ models.coef.T + models.intercept


@dataclass(frozen=True, eq=False, repr=False)
class Path(Shown, Bounds):
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
    primal, dual, null, relative_gap : ndarray of shape (B,)
        Of the problem that was solved, sketched or full; `null` is the objective at w = 0.
    n_iter : ndarray of shape (B,)
        Inner iterations spent.
    status : ndarray of shape (B,)
    terms : Terms
        Those that make the full problem on X that of the models.
    proved : bool
        Whether `dual` bounds the full problem, so that `relative_gap` is the gap there.
    seconds : float
        Time in the solver.
    """

    models: LinearModels
    alphas: FloatArray
    radii: tuple[RadiusPolicy, ...]
    radius: FloatArray
    primal: FloatArray
    dual: FloatArray
    null: FloatArray
    n_iter: IntArray
    status: IntArray
    terms: Terms
    proved: bool
    seconds: float
    column_scales: FloatArray | None = None  # (n,): those of the sketch, if it has any

    def _screen(self) -> Screen:
        return path_screen(self)

    @property
    def explained(self) -> FloatArray:
        """Share (B,) of the squares of the response, centred if there is an intercept, explained.

        1 - (||r|| / null)^2, in the problem that was solved; NaN for a constant response.
        """
        coef = self.models.coef
        owner = np.repeat(np.arange(coef.shape[0]), np.diff(coef.indptr))
        costs = np.abs(coef.data) * self.terms.factors(coef.shape[1])[coef.indices]
        alphas = np.tile(self.alphas.ravel(), self.shape[0])
        squares = coef.data**2
        if self.column_scales is not None:
            squares = squares * self.column_scales[coef.indices] ** 2
        l1 = np.bincount(owner, costs, minlength=len(alphas))
        length = np.sqrt(np.bincount(owner, squares, minlength=len(alphas)))
        residual = self.primal - alphas * l1 - self.radius * length
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(1.0 - (residual / self.null) ** 2)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Row sets, responses, radii and alphas."""
        responses, radii, alphas = self.alphas.shape
        return len(self.status) // self.alphas.size, responses, radii, alphas

    def warn_if_unsolved(self) -> None:
        """Issue an :class:`InaccurateWarning` with the gaps where an instance fell short."""
        warn_of_ending(self.status, self.relative_gap)

    def certificate(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> FullCertificate:
        """How far models of all rows are from the optimum of the full problem.

        It takes a few products with X. Without a sketch the solver has proved it already.

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
        if self.proved:
            return FullCertificate(self.primal, self.dual, self.null)
        Y = as_responses(y, X.shape[0])
        each = self.alphas.size // Y.shape[1]
        return certify(
            X,
            np.repeat(Y, each, axis=1) if Y.shape[1] > 1 else Y,
            self.models.coef,
            self.alphas.ravel(),
            penalty_factor=self.terms.penalty_factor,
            sample_weight=sample_weight,
            fit_intercept=self.terms.fit_intercept,
            positive=self.terms.positive,
        )


def fit_exact(problem: Problem, grid: Grid, rows: RowSets) -> Path:
    """Solve every penalty of a grid on X itself, for every row set."""
    settings, radius = problem.full_settings, given_radius(grid.radii)
    if grid.count is None:
        given = check_alphas(grid.alphas)
        alphas = np.broadcast_to(given, (problem.Y.shape[1], len(given)))
    else:
        largest = exact_alpha_max(
            problem.X, problem.Y, radius=radius, rows=problem.all_rows, terms=problem.terms
        )
        # Where no feature ever enters any penalty does; tiny ones would only cost iterations.
        ratio = grid.alpha_min_ratio or default_ratio(problem.X.shape)
        alphas = alpha_grid(np.where(largest > 0, largest, 1.0), grid.count, ratio)
    found = solve_exact(
        problem.X,
        problem.Y,
        alphas,
        radius=radius,
        rows=rows,
        terms=problem.terms,
        tol=settings.tol,
        n_threads=settings.n_threads,
        callback=settings.callback,
    )
    return exact_path(found, alphas, problem.terms, radius)


def exact_path(found: ExactSolution, alphas: FloatArray, terms: Terms, radius: float = 0.0) -> Path:
    """Solutions on X itself with their penalties (responses, alphas)."""
    return Path(
        models=LinearModels(found.coef, found.intercept),
        alphas=alphas[:, None],
        radii=(RadiusPolicy("given", radius),),
        radius=np.full(len(found.primal), radius),
        primal=found.primal,
        dual=found.dual,
        null=found.null,
        n_iter=found.n_iter,
        status=found.status,
        terms=terms,
        proved=radius == 0.0,
        seconds=found.seconds,
    )
