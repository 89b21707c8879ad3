"""Residuals on rows that models have not seen, for prediction intervals of any level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from sketchlasso.data import BlockMatrix, as_rows
from sketchlasso.errors import EmptyModelWarning, InvalidInputError, unaccepted
from sketchlasso.estimators.base import LinearModel
from sketchlasso.estimators.blocks import linear_values
from sketchlasso.estimators.callbacks import Watcher
from sketchlasso.estimators.parameters import SingleSpecification, Specification
from sketchlasso.estimators.penalty import left_out_problems
from sketchlasso.estimators.task import Prepared, prepare, solves_without_sketch
from sketchlasso.instances import RowSets, leave_one_out_rows, shuffled_folds, splitter_rows
from sketchlasso.linalg.seeds import RandomState
from sketchlasso.linalg.threads import thread_count
from sketchlasso.results.left_out import left_out_models
from sketchlasso.results.models import LinearModels
from sketchlasso.solvers import Progress
from sketchlasso.types import FloatArray, IntArray
from sketchlasso.warn import not_warning_of

IntervalMethod: TypeAlias = Literal["jackknife+", "cv+", "split"]

FEWEST_ROWS = 10  # with fewer than 9, intervals of level 0.9 are infinite
# The gap of a solution with all rows in a problem without one of them is about (1 / m)^2.
FINE = 1e-9
FOLDS = 10  # by default
AT_A_TIME = 2**20  # numbers of X whose bits are held at a time
KEY_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no bit of a key is lost


@dataclass(frozen=True, eq=False)
class TargetResiduals:
    """Residuals (m,) of one target on rows that the models have not seen.

    There is one of g models per left-out group of rows, and `groups` (m,) are the numbers of the
    models that have not seen each row. Both are None for residuals of the fitted model itself.
    """

    residuals: FloatArray
    models: LinearModels | None = None
    groups: IntArray | None = None


@dataclass(frozen=True, eq=False)
class Calibration:
    """The residuals that :meth:`SqrtLasso.predict_interval` needs."""

    method: IntervalMethod
    targets: tuple[TargetResiduals, ...]

    def __repr__(self) -> str:
        return f"<Calibration: {self.method}, {len(self.targets[0].residuals)} residuals>"


def row_keys(X: Any, y: FloatArray) -> NDArray[np.uint64] | None:
    """A number for every row of X (m, n) and y (m,) or (m, t), which tells whether rows are equal.

    The same for dense and sparse X, for single and double precision; None for X in blocks.
    """
    if isinstance(X, BlockMatrix):
        return None
    factors = np.random.default_rng(0).integers(2**64, size=X.shape[1], dtype=np.uint64)
    keys = np.zeros(X.shape[0], dtype=np.uint64)
    # Sums and products of integers are exact (modulo 2^64) in any order, and zeros add nothing.
    if sparse.issparse(X):
        rows: Any = as_rows(X)
        values = _bits(rows.data) * factors[rows.indices]
        np.add.at(keys, np.repeat(np.arange(len(keys)), np.diff(rows.indptr)), values)
    else:
        step = max(1, AT_A_TIME // X.shape[1])
        for first in range(0, len(keys), step):
            keys[first : first + step] = _bits(X[first : first + step]) @ factors
    for column in np.reshape(y, (len(keys), -1)).T:
        keys = keys * KEY_FACTOR + _bits(column)
    return keys


def _bits(values: Any) -> NDArray[np.uint64]:
    """The bits of doubles as integers; zero for both zeros."""
    return (np.ascontiguousarray(values, dtype=np.float64) + 0.0).view(np.uint64)


def calibrated(
    coef: FloatArray,
    intercept: Any,
    again: LinearModel,
    spec: Specification,
    X: Any,
    y: FloatArray,
    method: IntervalMethod,
    cv: Any,
) -> Calibration:
    """Gather the residuals of fitted coefficients on validated X (m, n) and y (m,) or (m, t).

    `again`, with the parameters `spec`, is fitted without the rows left out.
    """
    if X.shape[0] < FEWEST_ROWS:
        raise InvalidInputError(
            f"X has {X.shape[0]} rows, but an interval needs at least {FEWEST_ROWS} residuals; "
            f"pass at least {FEWEST_ROWS} rows."
        )
    Y = y[:, None] if np.ndim(y) == 1 else y
    if method == "split":
        predicted = linear_values(X, coef, intercept).reshape(Y.shape)
        return Calibration(method, tuple(TargetResiduals(r) for r in (Y - predicted).T))
    if isinstance(X, BlockMatrix):
        raise InvalidInputError(
            f"method={method!r} was given for X in blocks, but it needs X in memory to leave rows "
            "out; pass an array or a sparse matrix, or method='split' with rows that fit has not "
            "seen."
        )
    if method == "jackknife+":
        data = prepare(
            X,
            y,
            None,
            spec.standardize,
            spec.ready,
            fit_intercept=spec.terms.fit_intercept,
        )
        if (
            isinstance(spec, SingleSpecification)
            # The penalties without each row are known before any fit, and nothing is refitted.
            and (not isinstance(spec.alpha, str) or spec.alpha == "pivotal")
            and not spec.relaxed
            and solves_without_sketch(spec, data)
        ):
            return Calibration(method, _in_one_go(coef, spec, data, Y))
        rows = leave_one_out_rows(len(Y))
    else:
        rows = _folds(cv, Y, spec.random_state)
    return Calibration(method, _one_by_one(again, X, y, rows, spec.report))


def _folds(cv: Any, Y: FloatArray, random_state: RandomState) -> RowSets:
    """Groups of rows, each row in one of them."""
    if cv is None or isinstance(cv, int | np.integer):
        count = FOLDS if cv is None else int(cv)
        if not 2 <= count <= len(Y):
            raise unaccepted("cv", cv, f"from 2 to {len(Y)}, the number of rows")
        cv = shuffled_folds(count, None, False, random_state)
    rows = splitter_rows(cv, len(Y), Y[:, 0])
    judged = np.concatenate([row_set.test for row_set in rows])
    if not np.array_equal(np.sort(judged), np.arange(len(Y))):
        raise InvalidInputError(
            f"cv={cv!r} was given, but each row has to be left out exactly once; pass a number of "
            "folds, or a splitter such as KFold."
        )
    return rows


def _in_one_go(
    coef: FloatArray, spec: SingleSpecification, data: Prepared, Y: FloatArray
) -> tuple[TargetResiduals, ...]:
    """Leave every row out of the full problem, all problems of a target together."""
    coef = np.atleast_2d(coef)
    found = []
    for target in range(Y.shape[1]):
        unit = float(data.y_units[target])
        start = data.transform.scale(coef[target], unit)
        models = left_out_models(
            left_out_problems(spec, data, target),
            start,
            min(float(spec.tol), FINE),
            thread_count(spec.n_jobs),
            spec.report,
        )
        own = data.transform.unscale(models.coef, unit)
        # Row i of the coefficients times row i of X, in the units of `data`.
        products = models.coef.multiply(as_rows(data.X))
        predicted = np.asarray(products.sum(axis=1)).ravel() + models.intercept
        found.append(
            TargetResiduals(
                Y[:, target] - unit * predicted,
                LinearModels(own, data.original_intercept(models.coef, models.intercept, unit)),
                np.arange(len(Y)),
            )
        )
    return tuple(found)


def _one_by_one(
    again: LinearModel, X: Any, y: FloatArray, rows: RowSets, report: Watcher | None
) -> tuple[TargetResiduals, ...]:
    """Fit an estimator anew without each group of rows, with all its choices."""
    Y = y[:, None] if np.ndim(y) == 1 else y
    m, t = Y.shape
    X = as_rows(X)
    residuals, groups = np.empty((m, t)), np.empty(m, dtype=np.intp)
    coefs: list[Any] = []
    intercepts: list[FloatArray] = []
    for number, row_set in enumerate(rows):
        train, test = row_set.train(rows.n_samples), row_set.test
        model: Any = clone(again)
        model.verbose = False  # a subclass may not have it among its parameters
        with not_warning_of(EmptyModelWarning):
            model.fit(X[train], y[train])
        predicted = np.asarray(model.predict(X[test])).reshape(len(test), t)
        residuals[test], groups[test] = Y[test] - predicted, number
        coefs.append(sparse.csr_array(np.atleast_2d(model.coef_)))
        intercepts.append(np.atleast_1d(model.intercept_))
        if report is not None:
            gap = float(np.max(model.full_gap_)) if model.sketch_ is None else 0.0
            report(Progress(number + 1, len(rows), round=0, worst_gap=gap))
    stacked: Any = sparse.vstack(coefs, format="csr")
    table = np.array(intercepts, dtype=np.float64)
    return tuple(
        TargetResiduals(
            residuals[:, target], LinearModels(stacked[target::t], table[:, target]), groups
        )
        for target in range(t)
    )
