"""Builders: one set of problems from a sketch and the rows, responses and penalties to vary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sketchlasso.data import as_responses, gram_of
from sketchlasso.data.validate import check_size
from sketchlasso.errors import EmptyGridWarning, InvalidInputError
from sketchlasso.instances.rows import ProblemSet, RowSets, all_rows
from sketchlasso.instances.statistics import ReducedSets, reduce_row_sets
from sketchlasso.problem.batch import Batch
from sketchlasso.problem.dual import alpha_max
from sketchlasso.problem.reduction import unreachable_part
from sketchlasso.problem.terms import Terms, alpha_grid, check_alphas, default_ratio
from sketchlasso.sketches import Sketch
from sketchlasso.sketches.sketch import check_sketch
from sketchlasso.types import FloatArray, IntArray, Loss, RealArray, SparseRows
from sketchlasso.warn import warn_user


def build_problems(
    sketch: Sketch,
    y: ArrayLike,
    *,
    alphas: int | ArrayLike = 100,
    alpha_min_ratio: float | None = None,
    radii: ArrayLike | None = None,
    rows: RowSets | None = None,
    fit_intercept: bool = True,
    penalty_factor: ArrayLike | None = None,
    positive: bool = False,
    loss: Loss = "sqrt",
) -> ProblemSet:
    """All problems of row sets x responses x radii x alphas over one sketch.

    Parameters
    ----------
    sketch : Sketch
        X ~ Q P', shared by all problems.
    y : array-like of shape (m,) or (m, t)
        One or several responses.
    alphas : int or array-like of shape (a,) or (t, radii, a)
        Penalties, or how many to space evenly in log scale from alpha_max down. The
        automatic grid of a response is that of all rows, shared by its row sets.
    alpha_min_ratio : float, optional
        Smallest over largest automatic penalty; 1e-2 when m < n, else 1e-3.
    radii : array-like, optional
        Robust radii; the sketch's own by default.
    rows : RowSets, optional
        Folds, deletions, weights; all rows by default.
    fit_intercept : bool
        Whether every instance has its own unpenalised intercept.
    penalty_factor : array-like of shape (n,), optional
    positive : bool
    loss : {"sqrt", "squared"}

    Returns
    -------
    ProblemSet
    """
    terms = Terms(fit_intercept, penalty_factor, positive)
    return problems_of(
        sketch,
        y,
        terms,
        alphas=alphas,
        alpha_min_ratio=alpha_min_ratio,
        radii=radii,
        rows=rows,
        loss=loss,
    )


def problems_of(
    sketch: Sketch,
    y: ArrayLike,
    terms: Terms,
    *,
    alphas: int | ArrayLike,
    alpha_min_ratio: float | None = None,
    radii: ArrayLike | None = None,
    rows: RowSets | None = None,
    loss: Loss = "sqrt",
) -> ProblemSet:
    """See :func:`build_problems`."""
    check_sketch(sketch)
    check_size("X", sketch.P)
    Y = as_responses(y, sketch.n_samples, squared=True)
    rows = rows or all_rows(sketch.n_samples)
    if rows.n_samples != sketch.n_samples:
        raise InvalidInputError(
            f"the row sets are for {rows.n_samples} rows but the sketch has {sketch.n_samples}"
        )
    if sketch.response_rank and any(len(own.removed) or len(own.test) for own in rows):
        raise InvalidInputError(
            "this sketch was made with the response of every row, so responses of held-out rows "
            "would leak; use cross_validate or leave_one_out, which remake it without them, or a "
            "sketch made without y"
        )
    levels = np.atleast_1d(np.asarray(sketch.radius if radii is None else radii, dtype=np.float64))
    if levels.ndim != 1 or not np.isfinite(levels).all() or (levels < 0).any():
        raise InvalidInputError("radii must be finite numbers >= 0")
    reduced = reduce_row_sets(sketch.Q, Y, rows, terms.fit_intercept)
    _refuse_constant(reduced, Y, terms.fit_intercept)
    leading = Y.shape[1], len(levels)
    if isinstance(alphas, int | np.integer):
        grids = penalty_grid(
            sketch, Y, terms, int(alphas), alpha_min_ratio, radii=levels, loss=loss
        )
    elif np.ndim(alphas) < 3:
        given = check_alphas(alphas)
        grids = np.broadcast_to(given, (*leading, len(given)))
    else:
        table = np.asarray(alphas, dtype=np.float64)
        if table.shape[:2] != leading or table.shape[2] == 0:
            raise InvalidInputError(
                f"alphas has shape {table.shape} but there are {leading[0]} responses and "
                f"{leading[1]} radii; pass (responses, radii, penalties)"
            )
        grids = np.stack([[check_alphas(line) for line in part] for part in table])
    # Row sets x responses x radii x alphas, alphas fastest.
    shape = (len(rows), *grids.shape)
    row_set, response, radius_index, alpha_index = np.indices(shape, dtype=np.intp).reshape(4, -1)
    batch = Batch.build(
        sketch.P,
        reduced.c[row_set, response],
        reduced.s[row_set, response],
        alpha=grids[response, radius_index, alpha_index],
        radius=levels[radius_index],
        roots=reduced.roots,
        root_of=row_set,
        penalty_factor=terms.penalty_factor,
        positive=terms.positive,
        loss=loss,
    )
    return ProblemSet(
        batch=batch,
        rows=rows,
        shape=shape,
        y_mean=reduced.y_mean[row_set, response],
        fit_intercept=terms.fit_intercept,
        left_out=np.full(len(row_set), -1, dtype=np.intp),
    )


def penalty_grid(
    sketch: Sketch,
    Y: FloatArray,
    terms: Terms,
    count: int,
    alpha_min_ratio: ArrayLike | None = None,
    *,
    radii: FloatArray,
    rows: RowSets | None = None,
    loss: Loss = "sqrt",
) -> FloatArray:
    """Automatic penalties (t, radii, count) of responses Y (m, t), from alpha_max down.

    Largest penalties are those of the problem on all rows (on the first row set, where given,
    for weights); `alpha_min_ratio` may be one number or one for each radius.
    """
    whole = reduce_row_sets(sketch.Q, Y, rows or all_rows(sketch.n_samples), terms.fit_intercept)
    batch = Batch.build(
        sketch.P,
        np.repeat(whole.c[0], len(radii), axis=0),
        np.repeat(whole.s[0], len(radii)),
        alpha=1.0,
        radius=np.tile(radii, Y.shape[1]),
        roots=whole.roots,
        penalty_factor=terms.penalty_factor,
        positive=terms.positive,
        loss=loss,
    )
    largest = alpha_max(batch).reshape(Y.shape[1], len(radii))
    # Above ||R'u|| of the null model a radius makes every coefficient zero at any penalty.
    empty = largest <= 0
    if empty.any():
        response, level = np.argwhere(empty)[0]
        message = (
            f"radius {radii[level]:g} makes w = 0 optimal for response {response} at every "
            "penalty, so there is no grid to search; use a smaller radius or a larger rank"
        )
        if empty.all(axis=1).any():
            raise InvalidInputError(message)
        warn_user(EmptyGridWarning(message))
    ratio = default_ratio(sketch.shape) if alpha_min_ratio is None else alpha_min_ratio
    return alpha_grid(largest, count, ratio)


def _refuse_constant(reduced: ReducedSets, Y: FloatArray, fit_intercept: bool) -> None:
    flat = np.argwhere(reduced.energy <= 0)
    if len(flat) == 0:
        return
    fold, response = flat[0]
    what = "constant" if fit_intercept else "zero"
    several = len(reduced.roots) > 1
    where = f" on the training rows of row set {fold}" if several else ""
    which = f"response {response}" if Y.shape[1] > 1 else "y"
    remedy = "split the rows so that it varies in training" if several else "give one that varies"
    raise InvalidInputError(f"{which} is {what}{where}, so there is nothing to regress; {remedy}.")


def feature_problems(
    sketch: Sketch,
    energies: FloatArray,
    features: IntArray | None = None,
    *,
    alphas: int | ArrayLike = 1,
    alpha_min_ratio: float = 0.5,
    radius: float | None = None,
    penalty_factor: ArrayLike | None = None,
    positive: bool = False,
) -> ProblemSet:
    """Each feature regressed on all the others: the responses are columns of X.

    With orthonormal Q and P = X'Q, a column enters through its row of P alone, so no data
    are touched. Centre the sketch where an intercept is wanted.

    Parameters
    ----------
    sketch : Sketch
        With orthonormal Q.
    energies : ndarray of shape (n,)
        Squared norm of every column of the (centred, scaled) matrix that was sketched.
    features : ndarray of shape (f,), optional
        Which features to take out in turn; all by default.
    alphas : int or array-like
        Penalties shared by all features, or how many to space from each one's alpha_max
        (which is found with the feature itself excluded) down to `alpha_min_ratio` of it.
    alpha_min_ratio : float
    radius : float, optional
        The sketch's own by default.
    penalty_factor : array-like of shape (n,), optional
    positive : bool

    Returns
    -------
    ProblemSet
    """
    P = np.asarray(check_sketch(sketch).P)
    chosen = np.arange(len(P)) if features is None else np.asarray(features, dtype=np.intp)
    if len(chosen) == 0 or chosen.min() < 0 or chosen.max() >= len(P):
        raise InvalidInputError(f"features must be indices between 0 and {len(P) - 1}")
    squares = np.asarray(energies, dtype=np.float64)
    if squares.shape != (len(P),):
        raise InvalidInputError(
            f"energies must have shape ({len(P)},), one squared norm per column, not "
            f"{squares.shape}; pass (X**2).sum(axis=0)"
        )
    gram = gram_of(sketch.Q)
    level = sketch.radius if radius is None else radius
    if not np.allclose(gram, np.eye(len(gram)), atol=1e-6):
        raise InvalidInputError(
            "this sketch's Q is not orthonormal; leave-one-feature-out needs a built-in sketch "
            "method (or sketch_from_factors with orthonormal Q)"
        )
    each = left_out_batch(
        P,
        P[chosen].astype(np.float64),
        squares[chosen],
        list(chosen[:, None]),
        radius=level,
        penalty_factor=penalty_factor,
        positive=positive,
    )
    if isinstance(alphas, int | np.integer):
        grids = alpha_grid(alpha_max(each), int(alphas), alpha_min_ratio)
    else:
        grids = np.broadcast_to(check_alphas(alphas), (len(chosen), np.size(alphas)))
    count = grids.shape[1]
    return ProblemSet(
        batch=replace(each.take(np.repeat(np.arange(len(chosen)), count)), alpha=grids.flatten()),
        rows=all_rows(sketch.n_samples),
        shape=(1, len(chosen), 1, count),
        y_mean=np.zeros(grids.size),
        fit_intercept=False,
        left_out=np.repeat(chosen, count),
    )


def left_out_batch(
    P: RealArray,
    c: FloatArray,
    energy: FloatArray,
    left_out: Sequence[IntArray],
    *,
    radius: float = 0.0,
    penalty_factor: ArrayLike | None = None,
    positive: bool = False,
) -> Batch:
    """Combinations of columns of X, each regressed on all columns but some; with alpha = 1.

    P (n, k) is X'Q for an orthonormal Q. A combination a of columns is given by c = Q'a, a row of
    `c` (f, k), and by ||a||^2 in `energy` (f,); `left_out` are the features that its regression
    may not use.
    """
    return Batch.build(
        P,
        c,
        unreachable_part(energy, c),
        alpha=1.0,
        radius=radius,
        penalty_factor=penalty_factor,
        excluded=excluded_rows(left_out, len(P)),
        positive=positive,
    )


def excluded_rows(left_out: Sequence[IntArray], n_features: int) -> SparseRows:
    """Mark the features (increasing) that each of f problems leaves out: csr_array (f, n)."""
    starts = np.concatenate([[0], np.cumsum([len(features) for features in left_out])])
    indices = np.concatenate(left_out)
    return sparse.csr_array(
        (np.ones(len(indices)), indices, starts), shape=(len(left_out), n_features)
    )
