"""Prediction intervals of the regressors: calibrate once, ask for any level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from sketchlasso.data import BlockMatrix, MatrixLike, as_rows
from sketchlasso.errors import EmptyModelWarning, InvalidInputError, unaccepted
from sketchlasso.estimators.base import LinearModel, Watcher, linear_values, reporter, validated
from sketchlasso.estimators.fit import Prepared, prepare, sketch_method
from sketchlasso.estimators.parameters import (
    PenaltySearch,
    SinglePenalty,
    check_parameters,
    ready_sketch,
)
from sketchlasso.estimators.penalty import left_out_problems
from sketchlasso.instances import RowSets, leave_one_out_rows, shuffled_folds, splitter_rows
from sketchlasso.linalg.seeds import RandomState
from sketchlasso.linalg.threads import thread_count
from sketchlasso.results.intervals import check_level, plus_intervals, split_intervals
from sketchlasso.results.left_out import FINE, left_out_models
from sketchlasso.results.path import LinearModels
from sketchlasso.solvers import Progress
from sketchlasso.types import FloatArray, IntArray
from sketchlasso.warn import not_warning_of

IntervalMethod: TypeAlias = Literal["jackknife+", "cv+", "split"]

FEWEST_ROWS = 10  # with fewer than 9, intervals of level 0.9 are infinite


@dataclass(frozen=True, eq=False)
class TargetResiduals:
    """Residuals of one target on rows that the models have not seen."""

    residuals: FloatArray  # (m,)
    # One model per left-out group of rows, and the number (m,) of the one that has not seen each
    # row; None for residuals of the fitted model itself.
    models: LinearModels | None = None
    groups: IntArray | None = None


@dataclass(frozen=True, eq=False)
class Calibration:
    """The residuals that :meth:`SqrtLasso.predict_interval` needs."""

    method: IntervalMethod
    targets: tuple[TargetResiduals, ...]

    def __repr__(self) -> str:
        return f"<Calibration: {self.method}, {len(self.targets[0].residuals)} residuals>"


class PredictionIntervals(LinearModel):
    """Prediction intervals for any distribution, from residuals on rows not seen by the models."""

    calibration_: Calibration

    def calibrate(
        self,
        X: Any,
        y: Any,
        *,
        method: IntervalMethod | None = None,
        cv: Any = None,
        fixed_penalty: bool = False,
    ) -> Any:
        """Compute the residuals that :meth:`predict_interval` needs.

        =============  ===================================  ======================
        method         X, y                                 coverage at level 1 - a
        =============  ===================================  ======================
        "jackknife+"   those of the fit; each row left out  at least 1 - 2a
        "cv+"          those of the fit; each fold left out  at least 1 - 2a - sqrt(2 / m)
        "split"        rows that the fit has not seen       at least 1 - a
        =============  ===================================  ======================

        The guarantees hold for every distribution of independent rows, on average over data and
        new rows; in practice the coverage of all three is close to 1 - a. They require that
        everything learnt from y, and every choice, is made without the rows left out. So
        standard deviations of columns, the pivotal penalty, sketches and the cross-validation
        of :class:`SqrtLassoCV` are computed again from the other rows. A penalty given as a
        number must not have been found on the same rows.

        The full problems of :class:`SqrtLasso` without each row are solved together, in about the
        time of a few fits. With a sketch, with `relaxed` or with
        :class:`SqrtLassoCV` there is one fit per row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            At least 10 rows; for ``"split"`` in blocks too.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        method : {"jackknife+", "cv+", "split"}, optional
            By default ``"split"`` for rows that the fit has not seen. For the rows of the fit
            ``"jackknife+"`` for :class:`SqrtLasso`, and ``"cv+"`` for :class:`SqrtLassoCV`, whose
            search is then repeated ten times and not once per row. A model from a file or fitted
            on blocks does not know its rows, and needs the name.
        cv : int, splitter or iterable of (train, test), optional
            Folds of ``"cv+"``, each row in one of them; by default ten, shuffled.
        fixed_penalty : bool
            Keep the penalty (and the radius) of this model. It saves the searches of
            :class:`SqrtLassoCV`, but that penalty depends on every row, so the guarantee is
            lost and intervals are a little too narrow.

        Returns
        -------
        self
            With `calibration_`, which :func:`save_model` keeps.
        """
        check_is_fitted(self)
        _check_method(method)
        X, y = validated(self, X, y, reset=False, multi_output=True, y_numeric=True)
        Y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        coef, intercept = np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_)
        if Y.shape[1] != len(coef):
            raise InvalidInputError(
                f"y has {Y.shape[1]} targets, but the model was fitted with {len(coef)}; pass the "
                "targets of the fit."
            )
        if len(Y) < FEWEST_ROWS:
            raise InvalidInputError(
                f"X has {len(Y)} rows, but an interval needs at least {FEWEST_ROWS} residuals; "
                f"pass at least {FEWEST_ROWS} rows."
            )
        searches = isinstance(self, PenaltySearch)
        usual: IntervalMethod = "cv+" if searches and not fixed_penalty else "jackknife+"
        method = _method_for_rows(method, usual, X, Y, getattr(self, "_row_keys", None))
        if method == "split":
            residuals = Y - linear_values(X, coef, intercept)
            self.calibration_ = Calibration(method, tuple(map(TargetResiduals, residuals.T)))
            return self
        if getattr(self, "_weighted", False):
            raise InvalidInputError(
                f"the model was fitted with sample_weight, but method={method!r} needs rows of "
                "equal weight; fit without weights, or pass method='split' with new rows."
            )
        if not fixed_penalty:
            self.calibration_ = Calibration(method, _residuals(self, coef, X, Y, method, cv))
            return self
        parts: list[TargetResiduals] = []
        for number in range(len(coef)):  # every target has a radius of its own, or none
            again, own = self._with_fixed_penalty(number), [number]
            parts += _residuals(again, coef[own], X, Y[:, own], method, cv)
        self.calibration_ = Calibration(method, tuple(parts))
        return self

    def predict_interval(
        self, X: MatrixLike, level: float = 0.9, method: IntervalMethod | None = None
    ) -> FloatArray:
        """Predict intervals that hold new responses with a given probability.

        They use the residual of rank ceil(level (m + 1)) among the m residuals of
        :meth:`calibrate`, which states the guarantees.

        Parameters
        ----------
        X : array-like, sparse matrix or BlockMatrix of shape (n_samples, n_features)
        level : float
            Strictly between 0 and 1. Intervals are infinite if there are too few residuals for
            the level, that is, if ceil(level (m + 1)) > m.
        method : {"jackknife+", "cv+", "split"}, optional
            That of the calibration, which is the default.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, n_targets, 2)
            Lower and upper ends. Those of ``"jackknife+"`` and ``"cv+"`` come from the models
            without the rows left out and need not be symmetric about the prediction.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sketchlasso import SqrtLasso
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = SqrtLasso(alpha=0.2).fit(X[:300], y[:300]).calibrate(X[:300], y[:300])
        >>> ends = model.predict_interval(X[300:], level=0.9)
        >>> covered = (ends[:, 0] <= y[300:]) & (y[300:] <= ends[:, 1])
        >>> round(float(covered.mean()), 2)
        0.92
        """
        check_is_fitted(self)
        level = check_level(level)
        _check_method(method)
        found = getattr(self, "calibration_", None)
        if found is None or method not in (None, found.method):
            other = "" if found is None else f" by {found.method!r} only"
            raise InvalidInputError(
                f"the model is not calibrated{other}, but intervals need residuals of rows that "
                f"models have not seen; call calibrate(X, y, method={method or 'jackknife+'!r}) "
                "once, with the rows of the fit (or, for 'split', with others)."
            )
        X = validated(self, X, reset=False)
        intervals = []
        for number, target in enumerate(found.targets):
            if target.models is None or target.groups is None:
                coef, intercept = np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_)
                predicted = linear_values(X, coef[number], intercept[number])
                intervals.append(split_intervals(predicted, target.residuals, level))
                continue
            # Blocks are not cut; predictions by all models for other rows take 32 MB at a time.
            blocks: list[Any] = [X]
            if not isinstance(X, BlockMatrix):
                rows, step = as_rows(X), max(1, 2**22 // len(target.residuals))
                blocks = [rows[first : first + step] for first in range(0, rows.shape[0], step)]
            parts = [
                plus_intervals(target.models.predict(part), target.groups, target.residuals, level)
                for part in blocks
            ]
            intervals.append(np.concatenate(parts))
        return intervals[0] if np.ndim(self.coef_) == 1 else np.stack(intervals, axis=1)

    def _with_fixed_penalty(self, target: int) -> Any:
        """An unfitted estimator with the penalty of one target of this one."""
        raise NotImplementedError


def _check_method(method: str | None) -> None:
    if method not in (None, *get_args(IntervalMethod)):
        raise unaccepted("method", method, "'jackknife+', 'cv+' or 'split'")


def row_keys(X: Any, Y: FloatArray) -> NDArray[np.uint64] | None:
    """A number (m,) for every row of X (m, n) and Y (m,) or (m, t), the same for equal rows.

    The same for dense and sparse X, in single and double precision, as sums of integers (modulo
    2^64) are exact in any order and zeros add nothing. None for X in blocks.
    """
    if isinstance(X, BlockMatrix):
        return None

    def bits(values: Any) -> NDArray[np.uint64]:
        return (np.ascontiguousarray(values, dtype=np.float64) + 0.0).view(np.uint64)

    m, n = X.shape
    targets = np.reshape(Y, (m, -1))
    factors = np.random.default_rng(0).integers(2**64, size=n + targets.shape[1], dtype=np.uint64)
    keys = bits(targets) @ factors[n:]
    if sparse.issparse(X):
        rows: Any = as_rows(X)
        owner = np.repeat(np.arange(m), np.diff(rows.indptr))
        np.add.at(keys, owner, bits(rows.data) * factors[rows.indices])
        return np.asarray(keys)
    for first in range(0, m, 1024):
        keys[first : first + 1024] += bits(X[first : first + 1024]) @ factors[:n]
    return np.asarray(keys)


def _method_for_rows(
    method: IntervalMethod | None,
    usual: IntervalMethod,
    X: Any,
    Y: FloatArray,
    fitted: NDArray[np.uint64] | None,
) -> IntervalMethod:
    """The method that suits these rows; refuse one that needs rows of the other kind."""
    keys = row_keys(X, Y)
    if keys is None and method in ("jackknife+", "cv+"):
        raise InvalidInputError(
            f"method={method!r} was given for X in blocks, but it needs X in memory to leave rows "
            "out; pass an array or a sparse matrix, or method='split' with rows that fit has not "
            "seen."
        )
    if keys is None or fitted is None:
        if method is None:
            raise InvalidInputError(
                "whether these are the rows of the fit is not known, as X is or was in blocks, or "
                "the model comes from a file; pass method='split' for rows that the fit has not "
                f"seen, or method={usual!r} for those of the fit."
            )
        return method
    seen, same = int(np.isin(keys, fitted).sum()), np.array_equal(np.sort(keys), np.sort(fitted))
    # A few rows of new data may equal rows of the fit by chance.
    new = not seen if method is None else 2 * seen <= len(keys)
    wanted = method or (usual if same else "split")
    if not (new if wanted == "split" else same):
        raise InvalidInputError(
            f"{seen} of the {len(keys)} rows are among the {len(fitted)} of the fit, but intervals "
            f"need either all rows of the fit (method={usual!r}), or rows that it has not seen "
            "(method='split'); pass one or the other."
        )
    return wanted


def _residuals(
    model: Any, coef: FloatArray, X: Any, Y: FloatArray, method: IntervalMethod, cv: Any
) -> tuple[TargetResiduals, ...]:
    """Residuals of every target of Y (m, t), from models like this one without the rows."""
    check_parameters(model, X.shape[1])
    if method == "cv+":
        return _one_by_one(model, X, Y, _folds(cv, Y, model.random_state), reporter(model))
    if isinstance(model, SinglePenalty) and not model.relaxed:
        # The penalties without each row are known before any fit, and nothing is refitted.
        known = not isinstance(model.alpha, str) or model.alpha == "pivotal"
        ready, intercept = ready_sketch(model), bool(model.fit_intercept)
        data = prepare(X, Y, None, model.standardize, ready, fit_intercept=intercept)
        if known and ready is None and sketch_method(model, data.X) is None:
            return _in_one_go(coef, model, data, Y)
    return _one_by_one(model, X, Y, leave_one_out_rows(len(Y)), reporter(model))


def _folds(cv: Any, Y: FloatArray, random_state: RandomState) -> RowSets:
    """Groups of rows, each row in one of them; ten by default."""
    if cv is None or isinstance(cv, int | np.integer):
        cv = shuffled_folds(10 if cv is None else int(cv), None, False, random_state)
    rows = splitter_rows(cv, len(Y), Y[:, 0])
    judged = np.concatenate([row_set.test for row_set in rows])
    if not np.array_equal(np.sort(judged), np.arange(len(Y))):
        raise InvalidInputError(
            f"cv={cv!r} was given, but each row has to be left out exactly once; pass a number of "
            "folds, or a splitter such as KFold."
        )
    return rows


def _in_one_go(
    coef: FloatArray, model: SinglePenalty, data: Prepared, Y: FloatArray
) -> tuple[TargetResiduals, ...]:
    """Leave every row out of the full problem, all problems of a target together."""
    found = []
    for target, unit in enumerate(data.y_units):
        models = left_out_models(
            left_out_problems(model, data, target),
            data.transform.scale(coef[target], unit),
            min(float(model.tol), FINE),
            thread_count(model.n_jobs),
            reporter(model),
        )
        # Row i of the coefficients times row i of X, in the units of `data`.
        products = models.coef.multiply(as_rows(data.X))
        predicted = np.asarray(products.sum(axis=1)).ravel() + models.intercept
        intercept = data.original_intercept(models.coef, models.intercept, unit)
        own = LinearModels(data.transform.unscale(models.coef, unit), intercept)
        found.append(TargetResiduals(Y[:, target] - unit * predicted, own, np.arange(len(Y))))
    return tuple(found)


def _one_by_one(
    model: Any, X: Any, Y: FloatArray, rows: RowSets, report: Watcher | None
) -> tuple[TargetResiduals, ...]:
    """Fit an estimator anew without each group of rows, with all its choices."""
    X, t = as_rows(X), Y.shape[1]
    residuals, groups = np.empty_like(Y), np.empty(len(Y), dtype=np.intp)
    coefs: list[Any] = []
    intercepts: list[FloatArray] = []
    for number, row_set in enumerate(rows):
        train, test = row_set.train(rows.n_samples), row_set.test
        again: Any = clone(model)
        again.verbose = False  # a subclass may not have it among its parameters
        with not_warning_of(EmptyModelWarning):
            again.fit(X[train], Y[train] if t > 1 else Y[train, 0])
        predicted = np.asarray(again.predict(X[test])).reshape(len(test), t)
        residuals[test], groups[test] = Y[test] - predicted, number
        coefs.append(sparse.csr_array(np.atleast_2d(again.coef_)))
        intercepts.append(np.atleast_1d(again.intercept_))
        if report is not None:
            gap = float(np.max(again.full_gap_)) if again.sketch_ is None else 0.0
            report(Progress(number + 1, len(rows), round=0, worst_gap=gap))
    stacked: Any = sparse.vstack(coefs, format="csr")
    table = np.array(intercepts, dtype=np.float64)
    return tuple(
        TargetResiduals(
            residuals[:, target], LinearModels(stacked[target::t], table[:, target]), groups
        )
        for target in range(t)
    )
