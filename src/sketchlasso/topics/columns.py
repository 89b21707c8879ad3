"""The columns of words over the documents, each of length one, and the links between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sketchlasso.kernels.columns import column_moments
from sketchlasso.sketches import Sketch
from sketchlasso.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class WordColumns:
    """The columns of F = (W - 1 means') diag(1 / scales), which is never formed.

    W is the sparse matrix `weights` (documents, words). `scales` give every column of F length
    one; `lengths` are those of the columns A that were sketched, A = F diag(lengths). A word that
    does not vary has the length 0. All three have one entry per word. `P` (words, rank) is F'Q:
    the sketch's own P with rows divided by the lengths.
    """

    sketch: Sketch
    weights: sparse.csc_array[Any]
    means: FloatArray
    scales: FloatArray
    lengths: FloatArray
    P: FloatArray

    @classmethod
    def of(cls, weights: Any, sketch: Sketch) -> WordColumns:
        """Columns as the sketch centred them."""
        columns = sparse.csc_array(weights)
        m, n = columns.shape
        means = np.zeros(n) if sketch.column_means is None else sketch.column_means
        scales = np.ones(n) if sketch.column_scales is None else sketch.column_scales
        squares = np.asarray(columns.multiply(columns).sum(axis=0)).ravel()
        spread = squares - m * means**2
        varies = spread > 1e-12 * squares  # less is rounding
        lengths = np.sqrt(np.where(varies, spread, 0.0)) / scales
        units = np.where(varies, lengths, 1.0)
        P = np.where(varies, 1.0 / units, 0.0)[:, None] * np.asarray(sketch.P)
        return cls(sketch, columns, means.astype(np.float64), scales * units, lengths, P)

    @property
    def n_documents(self) -> int:
        """Number of rows."""
        return int(self.weights.shape[0])

    def combine(self, words: IntArray, values: FloatArray) -> FloatArray:
        """F[:, words] values (documents,)."""
        scaled = values / self.scales[words]
        product: FloatArray = self.weights[:, words] @ scaled
        return product - float(self.means[words] @ scaled)

    def gram(self, words: IntArray) -> FloatArray:
        """F[:, words]'F[:, words], of shape (len(words), len(words))."""
        part = self.weights[:, words]
        means = self.means[words]
        product = np.asarray((part.T @ part).todense()) - part.shape[0] * np.outer(means, means)
        return np.asarray(product / np.outer(self.scales[words], self.scales[words]))

    def evidence(self, response: FloatArray, words: IntArray) -> FloatArray:
        """How many standard errors the link of each word with a response has: (len(words),).

        The link with the centred response a (documents,) is the sum of x_d = a_d F_dj over the
        documents, its standard error the root of the sum of x_d^2. It is about 1 in size where a
        single document makes the link, and about the root of the number of documents that make it
        in equal parts.
        """
        sums = np.empty((len(words), 3))
        column_moments(
            self.weights.data, self.weights.indices, self.weights.indptr, words, response, sums
        )
        link, with_square, with_value = sums.T
        means = self.means[words]
        link = link - means * float(response.sum())
        error = with_square - 2.0 * means * with_value + means**2 * float(response @ response)
        return np.asarray(link / np.sqrt(np.maximum(error, np.finfo(np.float64).tiny)))
