"""What scikit-learn expects of estimators: checked data, predictions, callbacks, interruption.

X is in memory or in blocks. Predictions of a dask array are a lazy dask array, as users of Dask
expect. Predictions of a BlockMatrix are in memory, one per row.

On releases of scikit-learn with a callback protocol, callbacks are called when a fit begins and
ends, and once per report of the solver: after a round over a sketch, after a problem without one.
A callback that asks to stop ends the solve with the solutions found so far.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, check_X_y, validate_data

from sketchlasso.cluster import holder_of
from sketchlasso.data import BlockMatrix, MatrixLike, as_blocks, as_entries, as_responses
from sketchlasso.data.blocks import is_dask_array
from sketchlasso.data.entries import is_sparse, product
from sketchlasso.data.validate import as_floating, dense_values, refuse_unreal, sparse_frame
from sketchlasso.errors import InvalidInputError
from sketchlasso.estimators.summary import ModelSummary, summary_of
from sketchlasso.sketches import Sketch
from sketchlasso.solvers import Progress, StopSolve
from sketchlasso.types import FloatArray

__all__ = [
    "ACCEPTED",
    "CallbackSupport",
    "LinearModel",
    "Scored",
    "Watcher",
    "count_callback",
    "in_memory",
    "linear_values",
    "map_rows",
    "reported",
    "reporter",
    "unfitted_if_interrupted",
    "validated",
    "validated_rows",
]

Watcher: TypeAlias = Callable[[Progress], None]
Fit = TypeVar("Fit", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupport:  # type: ignore[no-redef]
        """No callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Return the method as it is."""
        return method


ACCEPTED = {
    "accept_sparse": ("csr", "csc"),
    "dtype": (np.float64, np.float32),
    "accept_large_sparse": True,
}


class Scored(CallbackSupport):
    """Scores of scikit-learn's mixins for X in blocks; comes before the mixin among the bases."""

    def score(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return R2 of a regressor, or the accuracy of a classifier (the share of correct labels).

        Parameters
        ----------
        X : array-like, sparse matrix, dask array or BlockMatrix of shape (n_samples, n_features)
        y : array-like or dask array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        return float(super().score(as_blocks(X), in_memory(y), in_memory(sample_weight)))


class LinearModel(BaseEstimator):
    """Prediction and tags of the linear estimators."""

    coef_: FloatArray
    intercept_: Any
    alpha_: Any
    radius_: Any
    dual_gap_: Any
    full_gap_: Any
    n_iter_: int
    sketch_: Sketch | None
    standardized_: bool
    scale_: FloatArray | None
    feature_std_: FloatArray | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def summary(self, feature_names: Sequence[str] | None = None) -> ModelSummary:
        """Effects per standard deviation and per unit, score, penalty, radius and gap in one table.

        It prints as one screen of text, and as HTML in notebooks.

        Parameters
        ----------
        feature_names : sequence of str of length n_features, optional
            By default the names that the fit has seen, or x0, x1 and so on.

        Returns
        -------
        ModelSummary
            :meth:`ModelSummary.table` and :meth:`ModelSummary.to_frame` return all effects.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sketchlasso import SqrtLassoCV
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> SqrtLassoCV(selection="1se").fit(X, y).summary()  # doctest: +ELLIPSIS
        SqrtLassoCV: 5 of 10 features used
        score    mse 3092 +- 83 on held-out rows
        penalty  1.731
        radius   0
        gap      no other coefficients lower the objective by more than a ... share
        <BLANKLINE>
        feature   per std. dev.   per unit   in folds
        bmi               24.28      510.5   100%
        s5                21.36        449   100%
        bp                10.83      227.8   100%
        s3               -7.678     -161.4   100%
        sex              -3.032     -63.75   100%
        """
        return summary_of(self, feature_names)

    @property
    def sparse_coef_(self) -> Any:
        """Coefficients as a sparse matrix of shape (1, n_features) or (n_targets, n_features)."""
        check_is_fitted(self)
        return sparse.csr_array(np.atleast_2d(self.coef_))

    @property
    def sketch_method_(self) -> str | None:
        """The method of the sketch that was used; None where the full problem was solved."""
        check_is_fitted(self)
        sketch = getattr(self, "sketch_", None)
        return None if sketch is None else str(sketch.method)

    def _linear(self, X: MatrixLike) -> Any:
        """Values of the linear functions; a dask array for a dask array, not yet computed."""
        check_is_fitted(self)
        return linear_values(validated_rows(self, X), self.coef_, self.intercept_)


def in_memory(values: Any) -> Any:
    """Compute a Dask value with one number or label per row; return anything else as it is."""
    if not hasattr(values, "__dask_graph__"):
        return values
    return values.compute(scheduler=holder_of(values))


def validated(
    estimator: BaseEstimator, X: MatrixLike, *y: Any, reset: bool = True, **checks: Any
) -> Any:
    """Return X, or X and y, as scikit-learn's validate_data does, for X in memory or in blocks.

    Blocks are checked for their number of columns now, and for NaN when they are first read. With
    `reset`, as in fit, X sets the number of features. Other `checks` are passed to validate_data.
    """
    X = as_blocks(X)
    responses = [dense_values(in_memory(values)) for values in y]
    for name, values in zip("Xy", [X, *responses], strict=False):
        refuse_unreal(name, values)
    _refuse_dates("X", X)
    if responses and checks.get("y_numeric"):
        _refuse_dates("y", responses[0])
    if not isinstance(X, BlockMatrix):
        entries = sparse_frame(X)
        # As a frame it keeps the names of its columns.
        X = X if is_sparse(entries) else entries
        try:
            checked = validate_data(estimator, X, *responses, reset=reset, **ACCEPTED, **checks)
        except ValueError as error:
            # These name the columns that hold text or gaps, and what is wrong with y.
            came = str(error).partition("\n")[0]
            if came.startswith(("could not convert", "Input X contains", "Input y contains")):
                as_entries(X)
                if responses and checks.get("y_numeric"):
                    as_responses(responses[0], len(responses[0]))
                raise InvalidInputError(
                    f"{came.rstrip('.')}, but every value must be a finite number; replace or drop "
                    "such values first."
                ) from error
            raise
        # scikit-learn keeps the type of a sparse frame, which may be bool.
        return (as_floating(checked[0]), *checked[1:]) if responses else as_floating(checked)
    validate_data(estimator, X, *responses, reset=reset, skip_check_array=True)
    if not responses:
        return X
    # scikit-learn's checks of y depend on X by its length alone.
    stand_in = np.broadcast_to(0.0, (X.shape[0], 1))
    return X, check_X_y(stand_in, responses[0], estimator=estimator, **checks)[1]


def _refuse_dates(name: str, values: object) -> None:
    """Refuse dates and durations, which scikit-learn would take as integers."""
    types = getattr(values, "dtypes", None)
    each = list(types) if isinstance(types, Iterable) else [getattr(values, "dtype", None)]
    dates = [str(one) for one in each if getattr(one, "kind", None) in ("m", "M")]
    if dates:
        raise InvalidInputError(
            f"{name} holds values of type {dates[0]}, but real numbers are needed; convert them, "
            "for example to days with (values - values.min()) / np.timedelta64(1, 'D')."
        )


def validated_rows(estimator: BaseEstimator, X: MatrixLike) -> Any:
    """X for predictions: checked now, or, where it is a dask array, when it is computed."""
    if not is_dask_array(X):
        return validated(estimator, X, reset=False)
    validate_data(estimator, X, reset=False, skip_check_array=True)
    return X


def linear_values(X: Any, coef: FloatArray, intercept: Any) -> Any:
    """X v + d of shape (n_samples,) or (n_samples, t), for validated X or a dask array.

    The coefficients v are (n_features,) or (t, n_features), the intercepts d a number or (t,).
    """
    if is_dask_array(X):
        return map_rows(X, _values_of_block, coef.shape[:-1], coef=coef, intercept=intercept)
    return _values_of(X, coef, intercept)


def _values_of(X: Any, coef: FloatArray, intercept: Any) -> FloatArray:
    """X v + d in double precision, for X of any floating type."""
    if isinstance(X, BlockMatrix):
        return X @ coef.T + intercept
    return product(X, np.atleast_2d(coef).T).reshape(X.shape[0], *coef.shape[:-1]) + intercept


def map_rows(X: Any, work: Any, tail: tuple[int, ...], **options: Any) -> Any:
    """Return `work(X, **options)`; for a dask array a lazy one with the same chunks of rows.

    `work` maps a block of rows to an array with as many rows of shape `tail`, () or (t,). Its
    result for no rows shows the type.
    """
    if not is_dask_array(X):
        return work(X, **options)
    if X.ndim == 2 and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    meta = work(np.empty((0, *X.shape[1:]), dtype=X.dtype), **options)
    chunks = (X.chunks[0], *((size,) for size in tail))
    drop = list(range(1 + len(tail), X.ndim))
    new = list(range(X.ndim, 1 + len(tail)))
    return X.map_blocks(
        work, meta=meta, chunks=chunks, drop_axis=drop, new_axis=new or None, **options
    )


def _values_of_block(block: Any, *, coef: FloatArray, intercept: Any) -> NDArray[Any]:
    values = _values_of(block, coef, intercept)
    if not np.isfinite(values).all():
        raise InvalidInputError(
            "a block of X holds NaN or infinity, but every entry must be finite; replace or drop "
            "such entries first."
        )
    return np.asarray(values)


def reported(fit: Fit) -> Fit:
    """Report the begin and the end of a fit to the callbacks set on the estimator."""

    @functools.wraps(fit)
    def wrapped(self: Any, X: Any, y: Any = None, *rest: Any, **options: Any) -> Any:
        if not hasattr(self, "_init_callback_context"):
            return fit(self, X, y, *rest, **options)
        # The number of rounds is not known in advance: None.
        context = self._init_callback_context(max_subtasks=None)
        task = {"estimator": self, "X": X, "y": y, "metadata": options}
        context.call_on_fit_task_begin(**task)
        result = fit(self, X, y, *rest, **options)
        # Every fitted attribute is on the estimator already.
        context.call_on_fit_task_end(**task, reconstruction_attributes={})
        return result

    managed: Fit = with_callbacks(unfitted_if_interrupted(wrapped))
    return managed


def unfitted_if_interrupted(fit: Fit) -> Fit:
    """Remove the fitted attributes where a fit is interrupted, also those of an earlier fit.

    Some are written before the solve, so an estimator could seem fitted, or hold the coefficients
    of one fit and the number of features of another. An Exception, which reports bad input, leaves
    the attributes as they are.
    """

    @functools.wraps(fit)
    def wrapped(self: Any, *args: Any, **options: Any) -> Any:
        try:
            return fit(self, *args, **options)
        except Exception:
            raise
        except BaseException:
            # scikit-learn takes such attributes as signs of a finished fit.
            for name in [own for own in vars(self) if own.endswith("_") and own[:2] != "__"]:
                delattr(self, name)
            raise

    return wrapped  # type: ignore[return-value]


def reporter(estimator: Any) -> Watcher | None:
    """Return what reports progress to `verbose` and to scikit-learn's callbacks; None for none."""
    watchers = [
        watcher
        for watcher in (progress_callback(estimator.verbose), _task_reporter(estimator))
        if watcher is not None
    ]

    def report(progress: Progress) -> None:
        for watcher in watchers:
            watcher(progress)

    return report if watchers else None


def _task_reporter(estimator: Any) -> Watcher | None:
    context = getattr(estimator, "_callback_fit_ctx", None)
    if context is None or not getattr(estimator, "_skl_callbacks", None):
        return None

    def report(progress: Progress) -> None:
        task = context.subcontext(task_name="round")
        task.call_on_fit_task_begin(estimator=estimator)
        if task.call_on_fit_task_end(estimator=estimator):
            raise StopSolve

    return report


def progress_callback(verbose: bool | int | Watcher) -> Watcher | None:
    """Return a callback that writes one changing line on a terminal, or lines in a pipe.

    The latter with verbose > 1 only. A callable is returned as it is.
    """
    if callable(verbose) or not verbose:
        return verbose if callable(verbose) else None

    def report(progress: Progress) -> None:
        counts = f"{progress.solved}/{progress.total} solved, worst gap {progress.worst_gap:.1e}"
        if sys.stderr.isatty():
            end = "\n" if progress.solved == progress.total else ""
            sys.stderr.write(f"\rsketchlasso: {counts}{end}")
        elif int(verbose) > 1:
            sys.stderr.write(f"sketchlasso: round {progress.round}, {counts}\n")
        sys.stderr.flush()

    return report


def count_callback(verbose: bool | int | Watcher) -> Callable[[int, int], None] | None:
    """Return the callback of :func:`progress_callback` for work counted as (done, total)."""
    report = progress_callback(verbose)
    if report is None:
        return None
    return lambda done, total: report(Progress(done, total, round=0, worst_gap=0.0))
