"""Words as responses: the problems of a sketch whose columns are regressed on each other.

The columns of the (weighted, centred, scaled) matrix A ~ Q P' are features and responses alike.
With orthonormal Q and P = A'Q a query a = sum of A_j / ||A_j|| over its words enters through

    c = sum of P_j / ||A_j||,     s^2 = ||a||^2 - ||c||^2

and its words, and whatever the user forbids, are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sketchlasso.instances.build import left_out_batch
from sketchlasso.problem.batch import Batch
from sketchlasso.sketches import Sketch
from sketchlasso.solvers import Settings, strongest_levels
from sketchlasso.types import FloatArray, IntArray

__all__ = ["Queries", "WordColumns"]

# Share of the radius at which more words than asked would enter at once.
AUTOMATIC_SHARE = 0.7


@dataclass(frozen=True, eq=False)
class WordColumns:
    """The columns of A, never formed: (W - 1 means') diag(1 / scales) of a sparse W.

    Attributes
    ----------
    weights : csc_array of shape (documents, words)
    means, scales : ndarray of shape (words,)
    energies : ndarray of shape (words,)
        ||A_j||^2.
    """

    weights: sparse.csc_array[Any]
    means: FloatArray
    scales: FloatArray
    energies: FloatArray

    @classmethod
    def of(cls, weights: Any, sketch: Sketch) -> WordColumns:
        """Columns as the sketch centred and scaled them."""
        columns = sparse.csc_array(weights)
        m, n = columns.shape
        means = np.zeros(n) if sketch.column_means is None else sketch.column_means
        scales = np.ones(n) if sketch.column_scales is None else sketch.column_scales
        squares = np.asarray(columns.multiply(columns).sum(axis=0)).ravel()
        energies = np.maximum(squares - m * means**2, 0.0) / scales**2
        return cls(columns, means.astype(np.float64), scales.astype(np.float64), energies)

    def combine(self, features: IntArray, values: FloatArray) -> FloatArray:
        """A[:, features] values (documents,)."""
        scaled = values / self.scales[features]
        product: FloatArray = self.weights[:, features] @ scaled
        return product - float(self.means[features] @ scaled)

    def gram(self, words: IntArray) -> FloatArray:
        """A[:, words]'A[:, words], of shape (len(words), len(words))."""
        part = self.weights[:, words]
        means = self.means[words]
        product = np.asarray((part.T @ part).todense()) - part.shape[0] * np.outer(means, means)
        return np.asarray(product / np.outer(self.scales[words], self.scales[words]))


@dataclass(frozen=True, eq=False)
class Queries:
    """Several questions to one sketch.

    Attributes
    ----------
    members : list of ndarray
        Words (indices) of each query.
    left_out : list of ndarray
        Words that each may not use, its own included.
    """

    members: list[IntArray]
    left_out: list[IntArray]

    @classmethod
    def single(cls, words: IntArray) -> Queries:
        """One query per word."""
        each = list(np.asarray(words, dtype=np.intp)[:, None])
        return cls(each, each)

    @classmethod
    def together(cls, words: IntArray) -> Queries:
        """One query of several words."""
        own = np.unique(words)
        return cls([own], [own])

    def part(self, numbers: Sequence[int]) -> Queries:
        """Some of the queries."""
        return Queries([self.members[i] for i in numbers], [self.left_out[i] for i in numbers])

    def response(self, columns: WordColumns, query: int) -> FloatArray:
        """The response a (documents,) of one query."""
        words = self.members[query]
        return columns.combine(words, 1.0 / np.sqrt(columns.energies[words]))

    def batch(self, sketch: Sketch, columns: WordColumns, positive: bool) -> Batch:
        """Problems of all queries, with radius and penalty still to be set.

        A word that is nowhere or everywhere the same has no column to explain: its response is 0.
        """
        P, energies = np.asarray(sketch.P), columns.energies
        lengths = np.sqrt(np.where(energies > 0, energies, np.inf))
        c = np.stack(
            [(P[words] / lengths[words, None]).sum(axis=0) for words in self.members]
        ).astype(np.float64)
        energy = np.array(
            [
                1.0 if len(words) == 1 else float(np.sum(self.response(columns, number) ** 2))
                for number, words in enumerate(self.members)
            ]
        )
        return left_out_batch(P, c, energy, self.left_out, positive=positive)


def automatic_radius(batch: Batch, size: int, settings: Settings) -> FloatArray:
    """AUTOMATIC_SHARE of the radius (B,) at which more than `size` words would enter at once.

    At the largest penalty with a non-zero answer all words whose correlation x with the response
    exceeds it enter together, and that penalty solves ||(|x| - alpha)_+|| = radius. With x sorted
    it has no more than `size` of them while radius^2 <= sum_{i <= size} (x_i - x_{size+1})^2.
    """
    last = min(size, batch.n_features - 1)
    top = strongest_levels(batch, last + 1, settings)
    return AUTOMATIC_SHARE * np.sqrt(np.sum((top - top[:, last:]) ** 2, axis=1))
