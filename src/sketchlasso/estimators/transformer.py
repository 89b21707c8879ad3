"""The sketch as a transformer: rows as their coordinates in k dimensions."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from sketchlasso.data import MatrixLike
from sketchlasso.errors import InvalidInputError
from sketchlasso.estimators.base import (
    ACCEPTED,
    CallbackSupport,
    map_rows,
    reported,
    validated,
    validated_rows,
)
from sketchlasso.sketches import Sketch, SketchMethod, sketch
from sketchlasso.types import FloatArray


@dataclass(eq=False, repr=False)
class SketchTransformer(
    CallbackSupport, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Replace the rows of X by their coordinates in a sketch, X ~ Q P'.

    Parameters
    ----------
    rank : int
        Number of coordinates, at most min(n_samples, n_features); lowered to it silently.
    method : str
        See :func:`sketch`; ``"response"`` uses y of fit.
    center, scale : bool
        Whether columns are centred and divided by their standard deviations first.
    random_state : int, RandomState or None

    Attributes
    ----------
    sketch_ : Sketch
    components_ : ndarray of shape (rank, n_features)
        P', so that X is about ``transform(X) @ components_``, if centred and scaled alike.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sketchlasso import SketchTransformer
    >>> X, _ = load_digits(return_X_y=True)
    >>> SketchTransformer(rank=8, random_state=0).fit_transform(X).shape
    (1797, 8)
    """

    rank: int = 50
    _: KW_ONLY
    method: SketchMethod = "randomized"
    center: bool = True
    scale: bool = False
    random_state: int | np.random.RandomState | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = self.method == "response"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @reported
    def fit(self, X: Any, y: Any = None) -> SketchTransformer:
        """Sketch X.

        Parameters
        ----------
        X : array-like, sparse matrix, dask array or BlockMatrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
            Read by ``method="response"`` only.

        Returns
        -------
        SketchTransformer
        """
        if self.method == "response":
            X, y = validated(self, X, y, multi_output=True, y_numeric=True)
        else:
            X, y = validated(self, X), None
        rank = self.rank
        if isinstance(rank, int | np.integer):
            rank = min(int(rank), *X.shape)
        self.sketch_: Sketch = sketch(
            X,
            y,
            method=self.method,
            rank=rank,
            center=self.center,
            scale=self.scale,
            random_state=check_random_state(self.random_state),
        )
        self.components_ = np.asarray(self.sketch_.P).T
        return self

    @property
    def _n_features_out(self) -> int:
        return self.sketch_.rank

    def transform(self, X: MatrixLike) -> Any:
        """Return the coordinates of rows.

        Parameters
        ----------
        X : array-like, sparse matrix, dask array or BlockMatrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, rank)
            Of a dask array a dask array in the same chunks of rows, not yet computed.
        """
        check_is_fitted(self)
        # Q is as long as the data of the fit, and not needed by the workers.
        small = replace(self.sketch_, Q=self.sketch_.Q[:0])
        return map_rows(validated_rows(self, X), _embedded, (small.rank,), sketch=small)

    def inverse_transform(self, X: Any) -> FloatArray:
        """Return the rows of X that have these coordinates, approximately.

        Parameters
        ----------
        X : array-like of shape (n_samples, rank)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = check_array(X, dtype=ACCEPTED["dtype"])
        if X.shape[1] != self.sketch_.rank:
            raise InvalidInputError(
                f"X has {X.shape[1]} columns, but the sketch has {self.sketch_.rank} coordinates; "
                "pass the output of transform."
            )
        transform = self.sketch_.transform
        scales = 1.0 if transform.scales is None else transform.scales
        means = 0.0 if transform.means is None else transform.means
        rows: FloatArray = X @ self.components_ * scales + means
        return rows.astype(X.dtype, copy=False)


def _embedded(block: Any, *, sketch: Sketch) -> FloatArray:
    """Coordinates (rows, rank) of a block of rows."""
    dtype = np.float32 if block.dtype == np.float32 else np.float64
    if not block.shape[0]:
        return np.empty((0, sketch.rank), dtype=dtype)
    return sketch.embed(block).astype(dtype, copy=False)
