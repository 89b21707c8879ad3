"""One way from data, penalties and radii to fitted models: sketched, refined or exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from sketchlasso.errors import Argument, InvalidInputError, unaccepted
from sketchlasso.exact import ExactSolution, exact_alpha_max, solve_exact
from sketchlasso.instances import RowSets, all_rows
from sketchlasso.problem.terms import Terms, alpha_grid, check_alphas, default_ratio
from sketchlasso.results.full_data import FullCertificate, certify_with_bound
from sketchlasso.results.guide import Guide
from sketchlasso.results.models import LinearModels
from sketchlasso.results.radius_policy import RadiusLike, RadiusPolicy, radius_policies
from sketchlasso.results.sketched import (
    Fits,
    FoldBases,
    grids_of,
    join_fits,
    sketched_rows,
    solve_sketched,
)
from sketchlasso.sketches import Sketch
from sketchlasso.sketches.matching import check_sketch_of
from sketchlasso.solvers import Settings, Solver
from sketchlasso.types import FloatArray

# A gap of the full problem costs products with X; statistics does not ask for more digits.
FULL_TOL = 1e-4
# The full problem has no sketch error to guard against.
NO_RADIUS = (RadiusPolicy("given", 0.0),)


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
    near : float or None
        Radius that the search for realised radii starts from.
    guide : Guide or None
        Where a search begins.
    bases : FoldBases or None
        What the sketches of this response's folds share with those of others.
    rounded : bool
        Whether the entries of X are known up to rounding only, because they were standardised.
    quiet : bool
        Whether the caller warns of problems that are not solved, if it uses the fits at all.
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
    near: float | None = None
    guide: Guide | None = None
    bases: FoldBases | None = None
    rounded: bool = False
    quiet: bool = False

    @property
    def all_rows(self) -> RowSets:
        """Every row, with its weight."""
        rows = all_rows(len(self.Y))
        return rows if self.weights is None else rows.weighted(self.weights)

    def full_terms(self, sketch: Sketch | None) -> Terms:
        """The terms that make the full problem on X that of the scaled columns of a sketch."""
        return self.terms if sketch is None else self.terms.scaled(sketch.column_scales)


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
    _task: Task
    # Of the full problem on X, and whether `dual` holds for it.
    _terms: Terms
    _proved: bool

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Row sets, responses, radii and alphas."""
        responses, radii, alphas = self.alphas.shape
        return len(self.status) // self.alphas.size, responses, radii, alphas

    @property
    def X(self) -> Any:
        """The data (m, n) that the models are of."""
        return self._task.X

    @cached_property
    def certificate(self) -> FullCertificate:
        """How far models of all rows are from the optimum of the full problem.

        It takes a few products with X.
        """
        task = self._task
        each = self.alphas.size // task.Y.shape[1]
        return certify_with_bound(
            task.X,
            np.repeat(task.Y, each, axis=1) if task.Y.shape[1] > 1 else task.Y,
            self.models.coef,
            self.alphas.ravel(),
            terms=self._terms,
            sample_weight=task.weights,
            # The bounds that the solver of the full problem has proved hold for these models.
            bound=self.dual if self._proved else None,
            rounded=task.rounded,
        )

    @property
    def full_gap(self) -> FloatArray:
        """Relative duality gap (B,) of the models in the problem without a sketch."""
        task = self._task
        # The solver of the full problem has proved the gaps of its own models on all of X, where
        # unpenalised columns may depend on each other up to rounding.
        sure = task.rounded or (self._terms.factors(task.X.shape[1]) > 0).all()
        if self._proved and sure and (self.dual > 0).all():
            return self.relative_gap
        return self.certificate.relative_gap


def fit_all(
    task: Task,
    sketch: Sketch | None,
    radii: RadiusLike | Sequence[RadiusLike] | None,
    rows: RowSets,
    refine: Literal["exact"] | None = None,
) -> Path:
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
        raise unaccepted("refine", refine, "None or 'exact'")
    if sketch is None:
        if radii is not None:
            raise InvalidInputError(
                f"a radius ({radii!r}) cannot be combined with ",
                Argument("sketch", None),
                ", because the full problem has no sketch error to guard against; leave the radius "
                "out, or give a sketch.",
            )
        return _fit_exact(task, _exact_grid(task), rows)
    check_sketch_of(sketch, task.X)
    judged = any(len(row_set.test) for row_set in rows)
    policies = radius_policies(radii, sketch, search=judged and refine is None)
    if refine and len(policies) > 1:
        raise InvalidInputError(
            f"{len(policies)} radii cannot be combined with ",
            Argument("refine", "exact"),
            ", because the full problem has none, so they would all end alike; give one radius to "
            "start from.",
        )
    found = _fit_sketched(task, sketch, policies, rows)
    if refine is None:
        return found
    return _fit_exact(task, found.alphas[:, 0], rows, sketch, found)


def _fit_sketched(
    task: Task, sketch: Sketch, policies: tuple[RadiusPolicy, ...], rows: RowSets
) -> Path:
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
            task.near,
        )
        parts.append(fits)
        grid = problems.fold_out(problems.batch.alpha)[0]
    assert grid is not None
    return sketched_path(join_fits(parts), grid, policies, task, sketch)


def sketched_path(
    fits: Fits,
    alphas: FloatArray,
    radii: tuple[RadiusPolicy, ...],
    task: Task,
    sketch: Sketch,
) -> Path:
    """Fits on a sketch with their penalties (responses, radii, alphas)."""
    return Path(
        **vars(fits),
        alphas=alphas,
        radii=radii,
        _task=task,
        _terms=task.full_terms(sketch),
        _proved=False,
    )


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
    start: Path | None = None,
) -> Path:
    """Solve the full problems for penalties (t, a), from sketched solutions where given."""
    settings = task.settings or Settings(tol=FULL_TOL)
    terms = task.full_terms(sketch)
    found = solve_exact(
        task.X,
        task.Y,
        alphas,
        rows=rows,
        terms=terms,
        tol=settings.tol,
        start=task.start if start is None else start.models.coef,
        n_threads=settings.n_threads,
        callback=settings.callback,
    )
    path = exact_path(found, alphas, task, terms)
    if start is None:
        return path
    return replace(path, radii=start.radii, seconds=path.seconds + start.seconds)


def exact_path(found: ExactSolution, alphas: FloatArray, task: Task, terms: Terms) -> Path:
    """Solutions of the full problem with their penalties (responses, alphas)."""
    if not task.quiet:
        found.warn_if_unsolved()
    return Path(
        models=LinearModels(found.coef, found.intercept),
        primal=found.primal,
        dual=found.dual,
        relative_gap=found.relative_gap,
        n_iter=found.n_iter,
        status=found.status,
        radius=np.zeros(len(found.primal)),
        seconds=found.seconds,
        alphas=alphas[:, None],
        radii=NO_RADIUS,
        _task=task,
        _terms=terms,
        _proved=True,
    )
