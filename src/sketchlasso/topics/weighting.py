"""How counts become the matrix that is regressed, before its implicit centring and scaling."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from scipy import sparse

from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.topics.corpus import CountMatrix

__all__ = ["Weighting", "weigh"]

Weighting: TypeAlias = Literal["tfidf", "log", "counts", "length"]


def weigh(counts: CountMatrix, weighting: Weighting) -> CountMatrix:
    """Weights (documents, words) of counts; zeros stay zero.

    ``"tfidf"``
        (1 + log count) * (1 + log((1 + m) / (1 + df))), documents scaled to unit length.
    ``"log"``
        log(1 + count).
    ``"counts"``
        The counts themselves.
    ``"length"``
        Counts over the number of words of the document.
    """
    if weighting not in get_args(Weighting):
        raise InvalidInputError(
            Argument("weighting", weighting),
            f" is unknown; choose {', '.join(get_args(Weighting))}.",
        )
    weights = counts.astype(np.float64, copy=True)
    if weighting == "log":
        weights.data = np.log1p(weights.data)
    elif weighting == "length":
        weights = _scale_rows(weights, np.asarray(weights.sum(axis=1)).ravel())
    elif weighting == "tfidf":
        # Weights below one, which are no counts, must not change their sign.
        weights.data = 1.0 + np.log(np.maximum(weights.data, 1e-300))
        np.maximum(weights.data, 0.0, out=weights.data)
        frequency = np.bincount(counts.indices, minlength=counts.shape[1])
        weights.data *= (1.0 + np.log((1.0 + counts.shape[0]) / (1.0 + frequency)))[weights.indices]
        weights = _scale_rows(weights, np.sqrt(np.asarray(weights.multiply(weights).sum(axis=1))))
    weights.eliminate_zeros()
    return weights


def _scale_rows(matrix: CountMatrix, lengths: Any) -> CountMatrix:
    """Rows over their lengths; empty rows stay empty."""
    factors = 1.0 / np.where(lengths > 0, lengths, 1.0)
    scaled: CountMatrix = sparse.csr_array(matrix)
    scaled.data = scaled.data * np.repeat(factors.ravel(), np.diff(scaled.indptr))
    return scaled
