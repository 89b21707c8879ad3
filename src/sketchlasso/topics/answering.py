"""Regress words on other words in batches: radius, penalty and solution of each query.

The columns of the (weighted, centred, scaled) matrix A ~ Q P' are features and responses alike.
With orthonormal Q and P = A'Q a query a = sum of A_j / ||A_j|| over its words enters through

    c = sum of P_j / ||A_j||,     s^2 = ||a||^2 - ||c||^2

and its words, and those that the user excludes, are left out. With the automatic radius the
features are columns of length one, F = A diag(1 / ||A_j||), and words whose link with the query
rests on too few documents are left out as well. A radius of the user's is meant for the columns
of A. Weights are always those of columns of length one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sketchlasso.errors import unaccepted
from sketchlasso.instances.build import excluded_rows, left_out_batch
from sketchlasso.linalg.threads import map_rows
from sketchlasso.problem.batch import Batch
from sketchlasso.results import RadiusPolicy
from sketchlasso.results.radius import search_radii
from sketchlasso.solvers import Settings, solve_for_size, solve_or_raise, strongest_features
from sketchlasso.topics.columns import WordColumns
from sketchlasso.types import BoolArray, FloatArray, IntArray, RealArray, SparseRows, is_whole

# Share of the radius at which more words than requested would enter at once.
AUTOMATIC_SHARE = 0.7
# Standard errors that the link of a word with the query must have. A link that comes from a few
# documents has about the square root of their number.
EVIDENCE = np.sqrt(2.0)
# Fewest documents to learn and to judge from.
FEWEST_DOCUMENTS = 20


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

    def part(self, numbers: Sequence[int]) -> Queries:
        """Some of the queries."""
        return Queries([self.members[i] for i in numbers], [self.left_out[i] for i in numbers])

    def response(self, columns: WordColumns, query: int) -> FloatArray:
        """The response a (documents,) of one query."""
        words = self.members[query]
        return columns.combine(words, np.ones(len(words)))

    def batch(self, P: RealArray, columns: WordColumns, positive: bool) -> Batch:
        """Problems of all queries, with radius and penalty still to be set.

        P (words, rank) is that of the columns that explain: A'Q or F'Q. The response of a word
        with the same weight in every document is 0.
        """
        c = np.stack([columns.P[words].sum(axis=0) for words in self.members]).astype(np.float64)
        energy = np.array(
            [
                1.0 if len(words) == 1 else float(np.sum(self.response(columns, number) ** 2))
                for number, words in enumerate(self.members)
            ]
        )
        return left_out_batch(P, c, energy, self.left_out, positive=positive)


def automatic_radius(levels: FloatArray) -> FloatArray:
    """AUTOMATIC_SHARE of the radius (B,) at which too many words would enter at once.

    At the largest penalty with a non-zero answer all words whose correlation x with the response
    exceeds it enter together, and that penalty solves ||(|x| - alpha)_+|| = radius. With x sorted
    it has no more than `size` of them while radius^2 <= sum_{i <= size} (x_i - x_{size+1})^2.
    `levels` (B, size + 1) are the largest |x|, in order.
    """
    return AUTOMATIC_SHARE * np.sqrt(np.sum((levels - levels[:, -1:]) ** 2, axis=1))


def supported(
    queries: Queries, batch: Batch, columns: WordColumns, size: int, settings: Settings
) -> tuple[Batch, FloatArray]:
    """Leave out words that the documents do not support; return also the automatic radius (B,).

    Of the words that correlate most with a query in the sketch, those stay whose link with it
    over the documents themselves has the same sign and EVIDENCE standard errors. If no more than
    `size` stay, those of the others with the largest covariance with the query are added.
    """
    last = min(size, batch.n_features - 1)
    if columns.n_documents < FEWEST_DOCUMENTS:
        return batch, automatic_radius(strongest_features(batch, last + 1, settings)[1])
    most = max(200, 20 * size)  # words whose links are checked
    words, levels = strongest_features(batch, min(most, batch.n_features), settings)

    def kept(number: int) -> BoolArray:
        links = columns.evidence(queries.response(columns, number), words[number])
        links *= np.sign(columns.P[words[number]] @ batch.c[number])
        # Words of level 0 cannot enter: those of the query, or of the other sign.
        found = (links >= EVIDENCE) & (levels[number] > 0.0)
        missing = last + 1 - np.count_nonzero(found)
        if missing > 0:
            covariance = levels[number] * columns.lengths[words[number]]
            order = np.argsort(-np.where(found, -1.0, covariance), kind="stable")
            found[order[:missing]] = True
        return found

    chosen = np.array(map_rows(kept, batch.n_instances, settings.n_threads))
    first = np.argsort(~chosen, axis=1, kind="stable")[:, : last + 1]
    left_out = [
        np.union1d(own, words[number][~chosen[number]])
        for number, own in enumerate(queries.left_out)
    ]
    radius = automatic_radius(np.take_along_axis(levels, first, axis=1))
    return replace(batch, excluded=excluded_rows(left_out, batch.n_features)), radius


@dataclass(frozen=True)
class Question:
    """The options that all queries of a call share.

    Without `alpha` the penalty that leaves `n_words` is searched. The radius is "auto" or a
    policy.
    """

    n_words: int
    alpha: float | None
    radius: str | RadiusPolicy
    positive: bool

    @classmethod
    def checked(cls, n_words: Any, alpha: Any, radius: Any, positive: Any) -> Question:
        """Return valid options, or raise."""
        if not is_whole(n_words) or n_words < 1:
            raise unaccepted("n_words", n_words, "a whole number of at least 1")
        if alpha is not None and not (isinstance(alpha, int | float) and 0 < alpha < np.inf):
            raise unaccepted("alpha", alpha, "a positive number", "leave it out to have it chosen")
        rule = "auto" if radius == "auto" else RadiusPolicy.parse(radius)
        return cls(int(n_words), None if alpha is None else float(alpha), rule, bool(positive))


@dataclass(frozen=True, eq=False)
class Answers:
    """Solutions of B queries: coefficients (B, words), and penalty, radius and gap (B,) of each.

    The coefficients are those of columns of length one.
    """

    coef: SparseRows
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
    queries: Queries, question: Question, columns: WordColumns, settings: Settings
) -> Answers:
    """Solve every query at the radius and penalty that the question asks for."""
    rule = question.radius
    if not isinstance(rule, RadiusPolicy):
        batch = queries.batch(columns.P, columns, question.positive)
        batch, radius = supported(queries, batch, columns, question.n_words, settings)
        return _solve(batch, question, radius, settings)
    sketch = columns.sketch
    batch = queries.batch(np.asarray(sketch.P), columns, question.positive)
    if rule.kind == "realised":
        answers = _realised(batch, question, rule.factor, columns, settings)
    else:
        level = rule.factor * (sketch.radius if rule.kind == "spectral" else 1.0)
        answers = _solve(batch, question, np.full(batch.n_instances, level), settings)
    coef = answers.coef.copy()
    coef.data *= columns.lengths[coef.indices]
    return replace(answers, coef=coef)


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
    columns: WordColumns,
    settings: Settings,
) -> Answers:
    """Solve at the radius that equals factor ||(A - QP')w|| / ||w|| at its own solution."""
    count = min(question.n_words + 1, batch.n_features)
    radius = automatic_radius(strongest_features(batch, count, settings)[1])
    searched = np.flatnonzero(radius > 0)
    if searched.size:
        part = batch.take(searched)

        def error_at(tried: FloatArray) -> FloatArray:
            answers = _solve(part, question, tried, settings)
            return factor * _realised_error(part, answers, columns)

        radius = radius.copy()
        radius[searched] = search_radii(radius[searched], error_at)
    return _solve(batch, question, radius, settings)


def _realised_error(batch: Batch, answers: Answers, columns: WordColumns) -> FloatArray:
    """||(A - QP')w|| / ||w|| (B,); the sketch is a projection, so squares subtract."""
    errors = np.full(batch.n_instances, np.nan)
    sketched = np.asarray(answers.coef @ batch.P, dtype=np.float64)
    for row in range(batch.n_instances):
        features, values = answers.row(row)
        length = float(values @ values)
        if length > 0:
            real = columns.combine(features, values * columns.lengths[features])
            missed = max(float(real @ real) - float(sketched[row] @ sketched[row]), 0.0)
            errors[row] = np.sqrt(missed / length)
    return errors


def explained(queries: Queries, answers: Answers, columns: WordColumns, number: int) -> float:
    """1 - ||a - F w||^2 / ||a||^2 of one query, on the real columns; NaN where a does not vary."""
    response = queries.response(columns, number)
    total = float(response @ response)
    rest = response - columns.combine(*answers.row(number))
    return 1.0 - float(rest @ rest) / total if total > 0 else float("nan")
