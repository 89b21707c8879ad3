"""Prediction intervals of the regressors: calibrate once, ask for any level."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sketchlasso.data import BlockMatrix, MatrixLike, as_rows
from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.estimators.base import LinearModel
from sketchlasso.estimators.blocks import linear_values, validated
from sketchlasso.estimators.calibration import (
    Calibration,
    IntervalMethod,
    TargetResiduals,
    calibrated,
    row_keys,
)
from sketchlasso.estimators.parameters import PenaltySearch
from sketchlasso.results.intervals import check_level, plus_intervals, split_intervals
from sketchlasso.results.models import fitted_values
from sketchlasso.types import FloatArray

METHODS = get_args(IntervalMethod)
# Predictions that are held at a time: new rows times models.
AT_A_TIME = 2**24


def _parts(X: Any, target: TargetResiduals) -> Iterator[Any]:
    """X in parts whose predictions by all models fit into memory; blocks are not cut."""
    step = max(1, AT_A_TIME // len(target.residuals))
    if isinstance(X, BlockMatrix) or X.shape[0] <= step:
        yield X
        return
    rows = as_rows(X)
    for first in range(0, X.shape[0], step):
        yield rows[first : first + step]


def _plus_intervals(X: MatrixLike, target: TargetResiduals, level: float) -> FloatArray:
    """Intervals (p, 2) of some rows, from the models without the rows left out."""
    assert target.models is not None and target.groups is not None
    values = fitted_values(X, target.models.coef) + target.models.intercept
    return plus_intervals(values, target.groups, target.residuals, level)


def _check_method(method: str) -> None:
    if method not in METHODS:
        raise unaccepted("method", method, "'jackknife+', 'cv+' or 'split'")


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

        Raises
        ------
        InvalidInputError
            Fewer than 10 rows, an unknown method, rows that do not suit the method, or folds that
            do not leave each row out once.
        """
        check_is_fitted(self)
        if method is not None:
            _check_method(method)
        X, y = validated(self, X, y, reset=False, multi_output=True, y_numeric=True)
        targets = 1 if np.ndim(y) == 1 else y.shape[1]
        if targets != len(np.atleast_2d(self.coef_)):
            raise InvalidInputError(
                f"y has {targets} targets, but the model was fitted with "
                f"{len(np.atleast_2d(self.coef_))}; pass the targets of the fit."
            )
        target = np.asarray(y, dtype=np.float64)
        method = self._method_for_rows(method, X, target, fixed_penalty)
        if method != "split" and getattr(self, "_weighted", False):
            raise InvalidInputError(
                f"the model was fitted with sample_weight, but method={method!r} needs rows of "
                "equal weight; fit without weights, or pass method='split' with new rows."
            )
        if not (fixed_penalty and targets > 1 and isinstance(self, PenaltySearch)):
            again: Any = self._with_fixed_penalty() if fixed_penalty else self
            spec = again._specification(X.shape[1])
            self.calibration_ = calibrated(
                self.coef_, self.intercept_, again, spec, X, target, method, cv
            )
            return self
        # Every target has a radius of its own, or none.
        parts: list[TargetResiduals] = []
        for number in range(targets):
            again = self._with_fixed_penalty(number)
            spec = again._specification(X.shape[1])
            own = self.coef_[number], self.intercept_[number]
            parts += calibrated(*own, again, spec, X, target[:, number], method, cv).targets
        self.calibration_ = Calibration(method, tuple(parts))
        return self

    def _method_for_rows(
        self, method: IntervalMethod | None, X: Any, y: FloatArray, fixed_penalty: bool
    ) -> IntervalMethod:
        """The method that suits these rows; refuse one that needs rows of the other kind."""
        searches = isinstance(self, PenaltySearch) and not fixed_penalty
        usual: IntervalMethod = "cv+" if searches else "jackknife+"
        keys, fitted = row_keys(X, y), getattr(self, "_row_keys", None)
        if keys is None or fitted is None:
            if method is None:
                raise InvalidInputError(
                    "whether these are the rows of the fit is not known, as X is or was in blocks, "
                    "or the model comes from a file; pass method='split' for rows that the fit has "
                    f"not seen, or method={usual!r} for those of the fit."
                )
            return method
        seen, same = int(np.isin(keys, fitted).sum()), len(keys) == len(fitted)
        same = same and bool((np.sort(keys) == np.sort(fitted)).all())
        if method is None and (same or not seen):
            return usual if same else "split"
        if method is None or (method == "split" and 2 * seen > len(keys)):
            raise InvalidInputError(
                f"{seen} of the {len(keys)} rows are among the {len(fitted)} of the fit, but "
                "intervals need either all rows of the fit, or rows that it has not seen; pass "
                "one or the other."
            )
        if method != "split" and not same:
            raise InvalidInputError(
                f"method={method!r} needs the rows of the fit, but other rows were given; pass the "
                "rows of the fit, or method='split' for rows that it has not seen."
            )
        return method

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

        Raises
        ------
        InvalidInputError
            The model is not calibrated, or by another method; or `level` is out of range.

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
        found = self._calibration(method)
        X = validated(self, X, reset=False)
        single = np.ndim(self.coef_) == 1
        predicted = None
        if found.method == "split":
            predicted = np.atleast_2d(linear_values(X, self.coef_, self.intercept_).T)
        intervals = []
        for number, target in enumerate(found.targets):
            if predicted is not None:
                intervals.append(split_intervals(predicted[number], target.residuals, level))
                continue
            parts = [_plus_intervals(part, target, level) for part in _parts(X, target)]
            intervals.append(np.concatenate(parts))
        return intervals[0] if single else np.stack(intervals, axis=1)

    def _calibration(self, method: str | None) -> Calibration:
        """The calibration; refuse where there is none, or one by another method."""
        name = "jackknife+" if method is None else method
        _check_method(name)
        found = getattr(self, "calibration_", None)
        if found is None:
            raise InvalidInputError(
                "the model is not calibrated, but intervals need residuals of rows that models "
                f"have not seen; call calibrate(X, y, method={name!r}) once, with the rows of the "
                "fit (or, for 'split', with others)."
            )
        if method is not None and found.method != method:
            raise InvalidInputError(
                f"method={method!r} was given, but the model was calibrated by {found.method!r}; "
                f"leave it out, or call calibrate(X, y, method={method!r})."
            )
        return found

    def _with_fixed_penalty(self, target: int | None = None) -> Any:
        """An unfitted estimator with the penalty of this one, or of one of its targets."""
        raise NotImplementedError
