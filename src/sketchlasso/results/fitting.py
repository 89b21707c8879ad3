"""One way from data, penalties and radii to fitted models: sketched, refined or exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from sketchlasso.errors import InvalidInputError
from sketchlasso.exact import ExactSolution, exact_alpha_max, solve_exact
from sketchlasso.instances import RowSets, all_rows
from sketchlasso.instances.grid import alpha_grid, check_alphas, default_ratio
from sketchlasso.problem.terms import Terms
from sketchlasso.results.models import LinearModels
from sketchlasso.results.radius_policy import RadiusLike, RadiusPolicy, radius_policies
from sketchlasso.results.sketched import Fits, grids_of, join_fits, sketched_rows, solve_sketched
from sketchlasso.sketches import Sketch
from sketchlasso.sketches.matching import check_sketch_of
from sketchlasso.solvers import Settings, Solver
from sketchlasso.types import FloatArray

__all__ = ["Fitted", "Task", "fit_all"]

# A gap of the full problem costs products with X; statistics does not ask for more digits.
FULL_TOL = 1e-4


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be fitted, apart from the row sets that train.

    Attributes
    ----------
    X : ndarray or csr_array of shape (m, n)
    Y : ndarray of shape (m, t)
    weights : ndarray of shape (m,) or None
        Of all rows; row sets carry them too.
    alphas : int or array-like of shape (a,)
    alpha_min_ratio : float or None
    terms : Terms
    solver : str
    settings : Settings or None
    start : csr_array of shape (B, n) or None
        Coefficients that full problems start from.
    """

    X: Any
    Y: FloatArray
    weights: FloatArray | None
    alphas: int | ArrayLike
    alpha_min_ratio: float | None = None
    terms: Terms = field(default_factory=Terms)
    solver: Solver = "newton"
    settings: Settings | None = None
    start: Any = None

    @property
    def all_rows(self) -> RowSets:
        """Every row, with its weight."""
        rows = all_rows(len(self.Y))
        return rows if self.weights is None else rows.weighted(self.weights)

    def full_terms(self, sketch: Sketch | None) -> Terms:
        """The terms that make the full problem on X that of the scaled columns of a sketch."""
        return self.terms if sketch is None else self.terms.scaled(sketch.column_scales)


@dataclass(frozen=True, eq=False)
class Fitted:
    """Fits of row sets x responses x radii x alphas.

    Attributes
    ----------
    fits : Fits
    shape : tuple of int
        (row sets, responses, radii, alphas).
    alphas : ndarray of shape (responses, radii, alphas)
    policies : tuple of RadiusPolicy
    """

    fits: Fits
    shape: tuple[int, int, int, int]
    alphas: FloatArray
    policies: tuple[RadiusPolicy, ...]


def fit_all(
    task: Task,
    sketch: Sketch | None,
    radii: RadiusLike | Sequence[RadiusLike] | None,
    rows: RowSets,
    refine: Literal["exact"] | None = None,
) -> Fitted:
    """Fit a task on every row set.

    Parameters
    ----------
    task : Task
    sketch : Sketch or None
        None fits the full problems.
    radii : float, str, RadiusPolicy or a sequence of them, optional
    rows : RowSets
    refine : {"exact"}, optional
        Solve the full problems from the sketched solutions.
    """
    if refine not in (None, "exact"):
        raise InvalidInputError(
            f"refine={refine!r} was given, but None or 'exact' is accepted; pass one of them."
        )
    if sketch is None:
        if radii is not None:
            raise InvalidInputError(
                f"a radius ({radii!r}) was given with sketch=None, but the full problem has no "
                "sketch error to guard against; leave the radius out, or give a sketch."
            )
        return _fit_exact(task, _exact_grid(task), rows)
    check_sketch_of(sketch, task.X)
    judged = any(len(row_set.test) for row_set in rows)
    policies = radius_policies(radii, sketch, search=judged and refine is None)
    if refine and len(policies) > 1:
        raise InvalidInputError(
            f"{len(policies)} radii were given with refine='exact', but the full problem has "
            "none, so they would all end alike; give one radius to start from."
        )
    found = _fit_sketched(task, sketch, policies, rows)
    if refine is None:
        return found
    return _fit_exact(task, found.alphas[:, 0], rows, sketch, found)


def _fit_sketched(
    task: Task, sketch: Sketch, policies: tuple[RadiusPolicy, ...], rows: RowSets
) -> Fitted:
    grids = grids_of(
        sketch,
        task.X,
        task.Y,
        policies,
        task.alphas,
        task.alpha_min_ratio,
        task.terms,
        task.all_rows,
    )
    parts, grid = [], None
    for part in sketched_rows(sketch, task.X, task.Y, rows, policies):
        problems, fits = solve_sketched(
            part,
            task.X,
            task.Y,
            policies,
            task.terms,
            grids,
            task.solver,
            task.settings,
        )
        parts.append(fits)
        grid = problems.fold_out(problems.batch.alpha)[0]
    assert grid is not None
    return Fitted(join_fits(parts), (len(rows), *grid.shape), grid, policies)


def _exact_grid(task: Task) -> FloatArray:
    """Penalties (t, a) of the full problem."""
    t = task.Y.shape[1]
    if not isinstance(task.alphas, int | np.integer):
        given = check_alphas(task.alphas)
        return np.broadcast_to(given, (t, len(given)))
    ratio = task.alpha_min_ratio
    if ratio is None:
        ratio = default_ratio(task.X.shape)
    largest = exact_alpha_max(task.X, task.Y, rows=task.all_rows, terms=task.terms)
    # Where no feature ever enters any penalty does; tiny ones would only cost iterations.
    return alpha_grid(np.where(largest > 0, largest, 1.0), int(task.alphas), ratio)


def _fit_exact(
    task: Task,
    alphas: FloatArray,
    rows: RowSets,
    sketch: Sketch | None = None,
    start: Fitted | None = None,
) -> Fitted:
    """Solve the full problems for penalties (t, a), from sketched solutions where given."""
    settings = task.settings or Settings(tol=FULL_TOL)
    found = solve_exact(
        task.X,
        task.Y,
        alphas,
        rows=rows,
        terms=task.full_terms(sketch),
        tol=settings.tol,
        start=task.start if start is None else start.fits.models.coef,
        n_threads=settings.n_threads,
        callback=settings.callback,
    )
    found.warn_if_unsolved()
    spent = 0.0 if start is None else start.fits.seconds
    policies = (RadiusPolicy("given", 0.0),) if start is None else start.policies
    shape = (len(rows), alphas.shape[0], 1, alphas.shape[1])
    return Fitted(_as_fits(found, spent), shape, alphas[:, None], policies)


def _as_fits(found: ExactSolution, spent: float) -> Fits:
    return Fits(
        models=LinearModels(found.coef, found.intercept),
        primal=found.primal,
        dual=found.dual,
        relative_gap=found.relative_gap,
        n_iter=found.n_iter,
        status=found.status,
        radius=np.zeros(len(found.primal)),
        seconds=found.seconds + spent,
    )
