"""Exact columns beside a sketch of the others: how they are chosen, sketched, and fitted."""

from __future__ import annotations

from dataclasses import dataclass
from time import process_time
from typing import Any, Literal

import numpy as np
from scipy import sparse

import sketchlasso as sl
from benchmarks.datasets import SEED, Split, folds
from benchmarks.sparse_lowrank_solver import Point, Reduced, origin, solve_point
from sketchlasso.engine import LinearModels
from sketchlasso.sketches.response import extend_rows, rows_base

# Solves that the search for a realised radius may take at a penalty, and when it is content.
EVALUATIONS = 3
SETTLED = 0.03
# A step of the first kind in log(radius); the error falls as the radius grows.
FIRST_STEP = 0.7
# Ridge of the fit on exact columns alone, over their mean squared length.
RIDGE = 1e-3

Selection = Literal["correlation", "support"]
Start = Literal["y", "both", "none"]


@dataclass(frozen=True)
class Recipe:
    """One sparse plus low-rank contender."""

    columns: int
    select: Selection
    start: Start
    realised: bool

    def __str__(self) -> str:
        if self.start == "none":
            return f"{self.columns} by {self.select} alone"
        radius = "realised" if self.realised else "radius 0"
        return f"{self.columns} by {self.select}, from {self.start}, {radius}"


@dataclass(frozen=True, eq=False)
class Task:
    """Data, folds, penalties of the path, every second of which is cross-validated."""

    split: Split
    rank: int
    alphas: np.ndarray
    tol: float

    @property
    def searched(self) -> np.ndarray:
        """The penalties that are cross-validated."""
        return self.alphas[::2]

    @property
    def folds(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return folds(len(self.split.y))


@dataclass
class Clock:
    """Seconds in the experiment's solver, the worst gap, and penalties given up."""

    seconds: float = 0.0
    gap: float = 0.0
    unsolved: int = 0


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows that train, their exact columns, and the sketch of the others.

    Attributes
    ----------
    rest : array or CSR matrix of shape (r, n)
        X with zeros in the exact columns.
    means : ndarray of shape (n,)
        Of the columns of X over the rows.
    columns : ndarray of shape (p,)
    Q : ndarray of shape (r, k)
        Basis of the sketch of `rest` less its mean, as the intercept sees it.
    radius : float
        To start from.
    problem : Reduced
    y_mean : float
    """

    rest: Any
    means: np.ndarray
    columns: np.ndarray
    Q: np.ndarray
    radius: float
    problem: Reduced
    y_mean: float

    @classmethod
    def of(cls, task: Task, base: sl.Sketch, recipe: Recipe, rows: np.ndarray) -> TrainingRows:
        """Choose S and sketch the rest, from these rows alone."""
        X, y = task.split.X[rows], task.split.y[rows]
        columns = chosen_columns(task, base, recipe, X, y, rows)
        exact = X[:, columns]
        exact = exact.toarray() if sparse.issparse(exact) else np.array(exact)
        rest = without(X, columns)
        Q, P, radius = np.empty((len(y), 0)), np.empty((X.shape[1], 0)), 0.0
        if recipe.start != "none":
            starts = starting_responses(recipe.start, exact, y)
            made = extend_rows(rows_base(base, rest, rows), base, starts, random_state=SEED)
            Q, P, radius = np.asarray(made.Q), np.ascontiguousarray(made.P), made.radius
        problem = Reduced.of(exact, Q, P, y)
        means = np.asarray(X.mean(axis=0)).ravel()
        return cls(rest, means, columns, Q - Q.mean(axis=0), radius, problem, float(y.mean()))

    def path(
        self, alphas: np.ndarray, realised: bool, tol: float, clock: Clock
    ) -> tuple[LinearModels, np.ndarray]:
        """Models for decreasing penalties, each started at its neighbour, and their radii.

        The first penalty that is not solved ends the path, its last model repeats: with radius 0
        that is where the sketch interpolates y, far below any useful penalty.
        """
        point, radius = origin(self.problem), self.radius if realised else 0.0
        coef: list[Any] = []
        radii: list[float] = []
        for number, alpha in enumerate(alphas):
            if realised:
                point, radius = self._settled(float(alpha), radius, point, tol, clock)
            else:
                point = self._solve(float(alpha), 0.0, point, tol, clock)
            if point.gap > tol and coef:
                left = len(alphas) - number
                clock.unsolved += left
                coef, radii = coef + coef[-1:] * left, radii + radii[-1:] * left
                break
            clock.gap = max(clock.gap, point.gap)
            coef.append(self._coefficients(point))
            radii.append(radius)
        models = sparse.csr_array(sparse.vstack(coef))
        return LinearModels(models, self.y_mean - models @ self.means), np.array(radii)

    def _settled(
        self, alpha: float, radius: float, point: Point, tol: float, clock: Clock
    ) -> tuple[Point, float]:
        """Solve with the radius that equals the realised error: a secant in its logarithm."""
        before: tuple[float, float] | None = None
        for number in range(EVALUATIONS):
            point = self._solve(alpha, radius, point, tol, clock)
            error = self._error(point.b)
            if error == 0.0 or point.gap > tol or number + 1 == EVALUATIONS:
                break
            x, h = np.log(radius), np.log(error / radius)
            if abs(h) < SETTLED:
                break
            step = FIRST_STEP * h
            if before is not None:
                step = -h / np.clip((h - before[1]) / (x - before[0]), -3.0, -0.5)
            before = x, h
            radius = float(np.exp(x + step))
        return point, radius

    def _solve(self, alpha: float, radius: float, point: Point, tol: float, clock: Clock) -> Point:
        start = process_time()
        found = solve_point(self.problem, alpha, radius, point, tol)
        clock.seconds += process_time() - start
        return found

    def _error(self, b: np.ndarray) -> float:
        """||(X_R - QP')b|| / ||b|| over the rows, means taken out; 0 where b is."""
        used = np.flatnonzero(b)
        if used.size == 0:
            return 0.0
        image = self.rest @ b
        missed = image - image.mean() - self.Q @ (self.problem.P[used].T @ b[used])
        return float(np.linalg.norm(missed) / np.linalg.norm(b))

    def _coefficients(self, point: Point) -> Any:
        w = point.b.copy()
        w[self.columns] = point.a
        return sparse.csr_array(w[None])


def chosen_columns(
    task: Task, base: sl.Sketch, recipe: Recipe, X: Any, y: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """The exact columns of a recipe, in increasing order."""
    if recipe.select == "correlation":
        worth = np.abs(X.T @ (y - y.mean()))
    else:
        worth = _support_worth(task, base, recipe.columns, X, y, rows)
    return np.sort(np.argsort(-worth, kind="stable")[: recipe.columns])


def _support_worth(
    task: Task, base: sl.Sketch, count: int, X: Any, y: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """|w_j| ||x_j|| of the first response-sketched solution with enough non-zeros."""
    own = extend_rows(rows_base(base, X, rows), base, y, random_state=SEED)
    settings = sl.Settings(tol=1e-3, n_threads=1)
    alphas = task.searched[1:-2]
    path = sl.sqrt_lasso_path(X, y, own, alphas=alphas, radius="realised", settings=settings)
    enough = np.flatnonzero(path.models.n_nonzero >= count)
    row = int(enough[0]) if enough.size else len(alphas) - 1
    w = path.models.coef[[row]].toarray().ravel()
    squares = X.multiply(X).sum(axis=0) if sparse.issparse(X) else np.sum(X * X, axis=0)
    means = np.asarray(X.mean(axis=0)).ravel()
    lengths = np.sqrt(np.maximum(np.asarray(squares).ravel() - len(y) * means**2, 0.0))
    return np.abs(w) * lengths


def starting_responses(start: Start, exact: np.ndarray, y: np.ndarray) -> np.ndarray:
    """What the Krylov directions of the rest start from (m, 1 or 2).

    At the optimum the sketch must know X_R'r for the residual r, of which X_R'y is a poor
    likeness once exact columns explain much of y; r is guessed by least squares on them.
    """
    if start == "y":
        return y[:, None]
    centred, target = exact - exact.mean(axis=0), y - y.mean()
    gram = centred.T @ centred
    gram.flat[:: len(gram) + 1] += RIDGE * gram.trace() / len(gram)
    residual = target - centred @ np.linalg.solve(gram, centred.T @ target)
    return np.column_stack([y, residual])


def without(X: Any, columns: np.ndarray) -> Any:
    """X with zeros in some columns."""
    if not sparse.issparse(X):
        rest = np.array(X)
        rest[:, columns] = 0.0
        return rest
    keep = np.ones(X.shape[1])
    keep[columns] = 0.0
    rest = X.copy()
    rest.data = rest.data * keep[rest.indices]
    rest.eliminate_zeros()
    return rest
