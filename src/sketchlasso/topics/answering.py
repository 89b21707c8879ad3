"""From queries to solved problems: radius, penalty, solution, in batches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.problem.batch import Batch
from sketchlasso.results import RadiusPolicy
from sketchlasso.results.realised import search_radii
from sketchlasso.sketches import Sketch
from sketchlasso.solvers import Settings, solve_for_size, solve_or_raise
from sketchlasso.topics.queries import Queries, WordColumns, automatic_radius
from sketchlasso.types import FloatArray, IntArray

__all__ = ["AUTOMATIC", "Answers", "Question", "answer", "explained"]

AUTOMATIC = "auto"


@dataclass(frozen=True)
class Question:
    """How to answer: what is the same for all queries of a call.

    Attributes
    ----------
    n_words : int
    alpha : float or None
        Penalty; None searches the one that leaves `n_words`.
    radius : "auto" or RadiusPolicy
    positive : bool
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
    """Solutions of a batch of queries.

    Attributes
    ----------
    coef : csr_array of shape (B, words)
    alpha, radius, gap : ndarray of shape (B,)
    """

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
    if isinstance(rule, RadiusPolicy) and rule.kind == "realised":
        return _realised(batch, question, rule.factor, automatic, columns, settings)
    return _solve(batch, question, _radius(rule, sketch, automatic), settings)


def _radius(rule: str | RadiusPolicy, sketch: Sketch, automatic: FloatArray) -> FloatArray:
    if not isinstance(rule, RadiusPolicy):
        return automatic
    level = rule.factor * (sketch.radius if rule.kind == "spectral" else 1.0)
    return np.full(len(automatic), level)


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
