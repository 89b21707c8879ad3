"""From an estimator's parameters and the user's arrays to tasks of the results room."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight

from sketchlasso.errors import InvalidInputError
from sketchlasso.estimators.penalty import column_scales
from sketchlasso.estimators.progress import progress_callback
from sketchlasso.sketch import Sketch, extend_sketch
from sketchlasso.sketch import sketch as make_sketch
from sketchlasso.solve import Settings
from sketchlasso.types import FloatArray, IntArray

__all__ = ["Prepared", "automatic_method", "prepare", "settings_of", "sketches"]

# Up to this smaller side the full problem is as cheap as a sketch of it, and exact.
EXACT_BELOW = 500


@dataclass(frozen=True, eq=False)
class Prepared:
    """Data ready to be sketched and solved.

    Attributes
    ----------
    X : ndarray or csr_array of shape (r, n)
        The rows that are used, columns divided by `scales`.
    Y : ndarray of shape (r, t)
    weights : ndarray of shape (r,) or None
    rows : ndarray of shape (r,)
        Their numbers in the user's X.
    scales : ndarray of shape (n,) or None
        What standardisation divided by.
    """

    X: Any
    Y: FloatArray
    weights: FloatArray | None
    rows: IntArray
    scales: FloatArray | None

    def to_original(self, coef: FloatArray) -> FloatArray:
        """Coefficients (..., n) on the scale of the user's X."""
        return coef if self.scales is None else coef / self.scales


def prepare(
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    standardize: bool,
    *,
    drop: bool = True,
) -> Prepared:
    """Drop rows without weight, and divide columns by their standard deviations if asked.

    Weighted sums are used throughout, so that a row of weight 2 is a row given twice. Without
    `drop` all rows stay, for splitters that were made for them.
    """
    Y = np.asarray(y, dtype=np.float64)
    Y = Y[:, None] if Y.ndim == 1 else Y
    rows, weights = np.arange(len(Y)), None
    if sample_weight is not None:
        weights = np.asarray(_check_sample_weight(sample_weight, X, ensure_non_negative=True))
        if not (weights > 0).any():
            raise InvalidInputError("sample_weight is zero on every row; give weight to some.")
        rows = np.flatnonzero(weights) if drop else rows
        weights = weights[rows].astype(np.float64)
    stored: Any = X
    entries: Any = sparse.csr_array(stored) if sparse.issparse(X) else X
    if len(rows) < len(Y):
        entries, Y = entries[rows], Y[rows]
    scales = None
    if standardize:
        given = np.ones(len(rows)) if weights is None else weights
        scales = column_scales(entries, given, centred=True)
        scales = np.where(scales > 0, scales, 1.0)
        entries = _divided(entries, scales)
    if weights is not None and np.all(weights == 1.0):
        weights = None
    return Prepared(entries, Y, weights, rows, scales)


def _divided(X: Any, scales: FloatArray) -> Any:
    if isinstance(X, np.ndarray):
        return (X / scales).astype(X.dtype, copy=False)
    scaled = X.copy()
    scaled.data = (scaled.data / scales[scaled.indices]).astype(X.dtype, copy=False)
    return scaled


def settings_of(estimator: Any) -> Settings:
    """Tolerance, threads and progress of an estimator."""
    jobs = -1 if estimator.n_jobs is None else estimator.n_jobs
    return Settings(
        tol=estimator.tol,
        n_threads=max(1, effective_n_jobs(jobs)),
        callback=progress_callback(estimator.verbose),
    )


def sketches(estimator: Any, data: Prepared) -> Iterator[tuple[IntArray, Sketch | None]]:
    """The sketch of every response: columns of Y, and the sketch they are fitted on.

    Responses share the directions that do not know them, and each has its own of those that do.
    """
    t = data.Y.shape[1]
    everything = np.arange(t)
    chosen = estimator.sketch
    if isinstance(chosen, Sketch):
        _check_ready(chosen, data)
        yield everything, chosen
        return
    method: Any = _method(estimator, data.X.shape)
    if method is None:
        yield everything, None
        return
    options: dict[str, Any] = {
        "center": bool(estimator.fit_intercept),
        "random_state": check_random_state(estimator.random_state),
    }
    if method != "exact":
        options["rank"] = min(estimator.rank, *data.X.shape)
    if method != "response":
        yield everything, make_sketch(data.X, method=method, **options)
        return
    first = make_sketch(data.X, data.Y[:, 0], method=method, **options)
    yield everything[:1], first
    for response in range(1, t):
        if first.response_rank == 0:
            yield everything[response : response + 1], first
            continue
        own = extend_sketch(
            first,
            data.X,
            data.Y[:, response],
            directions=first.response_rank,
            random_state=first.seed,
        )
        yield everything[response : response + 1], own


def _method(estimator: Any, shape: tuple[int, int]) -> str | None:
    """The sketching method that the parameters ask for; None for no sketch at all."""
    chosen, rank = estimator.sketch, estimator.rank
    if not isinstance(rank, int | np.integer) or isinstance(rank, bool) or rank < 1:
        raise InvalidInputError(
            f"rank={rank!r} was given, but an integer >= 1 is accepted; pass one."
        )
    if chosen is None:
        return None
    if not isinstance(chosen, str):
        raise InvalidInputError(
            f"sketch={chosen!r} was given, but 'auto', the name of a method, a Sketch or None is "
            "accepted; pass one of them."
        )
    if chosen != "auto":
        return chosen
    return automatic_method(shape, int(rank), robust=estimator.radius is not None)


def automatic_method(shape: tuple[int, int], rank: int, *, robust: bool = False) -> str | None:
    """Return the sketching method that ``sketch="auto"`` means, or None for no sketch.

    Parameters
    ----------
    shape : tuple of int
        Of X, (n_samples, n_features).
    rank : int
    robust : bool
        Whether a radius is asked for, which needs a sketch.

    Returns
    -------
    str or None
        ``"response"`` where the smaller side of X is above 500 and the rank; else None, or
        ``"exact"`` where `robust`.
    """
    if min(shape) > max(EXACT_BELOW, rank):
        return "response"
    return "exact" if robust else None


def _check_ready(sketch: Sketch, data: Prepared) -> None:
    if sketch.shape != data.X.shape:
        raise InvalidInputError(
            f"X has shape {data.X.shape} (rows of weight 0 left out), but the sketch given is of a "
            f"matrix of shape {sketch.shape}; pass the X that was sketched, or let the estimator "
            "sketch."
        )
    if data.scales is not None:
        raise InvalidInputError(
            "standardize=True was given with a ready sketch, which has scales of its own or none; "
            "make the sketch with scale=True and leave standardize off."
        )
