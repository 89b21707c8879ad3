"""Regress words on other words in batches: radius, penalty and solution of each query.

The columns of the (weighted, centred, scaled) matrix A ~ Q P' are features and responses alike.
With orthonormal Q and P = A'Q a query a = sum of A_j / ||A_j|| over its words enters through

    c = sum of P_j / ||A_j||,     s^2 = ||a||^2 - ||c||^2

and its words, and those that the user excludes, are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.instances.build import left_out_batch
from sketchlasso.problem.batch import Batch
from sketchlasso.results import RadiusPolicy
from sketchlasso.results.realised import search_radii
from sketchlasso.sketches import Sketch
from sketchlasso.solvers import Settings, solve_for_size, solve_or_raise, strongest_levels
from sketchlasso.types import FloatArray, IntArray

__all__ = ["AUTOMATIC", "Answers", "Queries", "Question", "WordColumns", "answer", "explained"]

AUTOMATIC = "auto"
# Share of the radius at which more words than asked would enter at once.
AUTOMATIC_SHARE = 0.7


@dataclass(frozen=True, eq=False)
class WordColumns:
    """The columns of A = (W - 1 means') diag(1 / scales), which is never formed.

    W is the sparse matrix `weights` (documents, words). `means`, `scales` and `energies`
    ||A_j||^2 have one entry per word.
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
    """Several queries, by the indices of their words, and of the words that each may not use.

    The words of a query are among those it may not use.
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


@dataclass(frozen=True)
class Question:
    """How to answer: what is the same for all queries of a call.

    Without `alpha` the penalty that leaves `n_words` is searched. The radius is "auto" or a
    policy.
    """

    n_words: int
    alpha: float | None
    radius: str | RadiusPolicy
    positive: bool

    @classmethod
    def checked(cls, n_words: Any, alpha: Any, radius: Any, positive: Any) -> Question:
        """Validate what the user asked for."""
        if not isinstance(n_words, int | np.integer) or isinstance(n_words, bool) or n_words < 1:
            raise InvalidInputError(
                Argument("n_words", n_words), " must be a whole number of at least 1."
            )
        if alpha is not None and not (isinstance(alpha, int | float) and 0 < alpha < np.inf):
            raise InvalidInputError(
                Argument("alpha", alpha), " must be a positive number, or None to have it searched."
            )
        rule = AUTOMATIC if radius == AUTOMATIC else RadiusPolicy.parse(radius)
        return cls(int(n_words), None if alpha is None else float(alpha), rule, bool(positive))


@dataclass(frozen=True, eq=False)
class Answers:
    """Solutions of B queries: coefficients (B, words), and penalty, radius and gap (B,) of each."""

    coef: sparse.csr_array[Any, tuple[int, int]]
    alpha: FloatArray
    radius: FloatArray
    gap: FloatArray

    def row(self, number: int) -> tuple[IntArray, FloatArray]:
        """Return the words (indices) and weights of one solution."""
        part = slice(self.coef.indptr[number], self.coef.indptr[number + 1])
        return self.coef.indices[part].astype(np.intp), self.coef.data[part]

    def strongest(self, number: int, count: int) -> tuple[IntArray, FloatArray]:
        """Return at most `count` words and weights of one solution, the strongest first."""
        features, weights = self.row(number)
        best = np.argsort(-np.abs(weights), kind="stable")[:count]
        return features[best], weights[best]


def answer(
    queries: Queries,
    question: Question,
    sketch: Sketch,
    columns: WordColumns,
    settings: Settings,
) -> Answers:
    """Solve every query at the radius and penalty that the question asks for."""
    batch = queries.batch(sketch, columns, question.positive)
    automatic = automatic_radius(batch, question.n_words, settings)
    rule = question.radius
    if not isinstance(rule, RadiusPolicy):
        return _solve(batch, question, automatic, settings)
    if rule.kind == "realised":
        return _realised(batch, question, rule.factor, automatic, columns, settings)
    level = rule.factor * (sketch.radius if rule.kind == "spectral" else 1.0)
    return _solve(batch, question, np.full(len(automatic), level), settings)


def _solve(batch: Batch, question: Question, radius: FloatArray, settings: Settings) -> Answers:
    posed = replace(batch, radius=radius)
    if question.alpha is None:
        sized = solve_for_size(posed, min(question.n_words, batch.n_features), settings)
        alpha, solution = sized.alpha, sized.solution
    else:
        alpha = np.full(batch.n_instances, question.alpha)
        solution = solve_or_raise(replace(posed, alpha=alpha), "newton", settings)
    return Answers(solution.coef, alpha, radius, solution.relative_gap)


def _realised(
    batch: Batch,
    question: Question,
    factor: float,
    radius: FloatArray,
    columns: WordColumns,
    settings: Settings,
) -> Answers:
    """Solve at the radius that equals factor ||(A - QP')w|| / ||w|| at its own solution."""
    searched = np.flatnonzero(radius > 0)
    if searched.size:
        part = batch.take(searched)

        def error_at(tried: FloatArray) -> FloatArray:
            answers = _solve(part, question, tried, settings)
            return factor * _realised_error(part, answers, columns)

        radius = radius.copy()
        radius[searched] = search_radii(radius[searched], error_at).radius
    return _solve(batch, question, radius, settings)


def _realised_error(batch: Batch, answers: Answers, columns: WordColumns) -> FloatArray:
    """||(A - QP')w|| / ||w|| (B,); the sketch is a projection, so squares subtract."""
    errors = np.full(batch.n_instances, np.nan)
    sketched = np.asarray(answers.coef @ batch.P, dtype=np.float64)
    for row in range(batch.n_instances):
        features, values = answers.row(row)
        length = float(values @ values)
        if length > 0:
            real = columns.combine(features, values)
            missed = max(float(real @ real) - float(sketched[row] @ sketched[row]), 0.0)
            errors[row] = np.sqrt(missed / length)
    return errors


def explained(queries: Queries, answers: Answers, columns: WordColumns, number: int) -> float:
    """1 - ||a - A w||^2 / ||a||^2 of one query, on the real columns."""
    response = queries.response(columns, number)
    rest = response - columns.combine(*answers.row(number))
    return 1.0 - float(rest @ rest) / float(response @ response)
