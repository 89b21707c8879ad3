"""Judge images on documents they were not made from.

The documents are split into two halves. The image of a query is made again on each half, the words
it names get ridge weights on that half, and these weights predict the query in the other half:

    held out = 1 - (sum over both halves of ||a - F w||^2) / (sum over both halves of ||a||^2)

with a the query's column and F the columns of the words in the documents that were not used, both
centred by the means of the documents that were.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from sketchlasso.results import RadiusPolicy
from sketchlasso.sketches import sketch
from sketchlasso.solvers import Settings
from sketchlasso.topics.answering import FEWEST_DOCUMENTS, Answers, Queries, Question, answer
from sketchlasso.topics.columns import WordColumns
from sketchlasso.types import FloatArray, IntArray, SparseRows

Quality: TypeAlias = Literal["strong", "fair", "weak", "unknown"]

# Held-out explained variance from which an image is called strong, and fair.
STRONG, FAIR = 0.10, 0.01
# Ridge penalty of the weights, for columns of length one.
RIDGE = 1.0


def quality_of(share: float) -> Quality:
    """Return the quality of a held-out explained variance; NaN is unknown."""
    if np.isnan(share):
        return "unknown"
    return "strong" if share >= STRONG else "fair" if share >= FAIR else "weak"


@dataclass(frozen=True, eq=False)
class HalfSample:
    """The columns of both halves of the documents, of which the seen one is sketched.

    The unseen half is centred and scaled as the seen one is.
    """

    seen: WordColumns
    unseen: WordColumns

    @classmethod
    def of(cls, seen: Any, unseen: Any, rank: int, scale: bool) -> HalfSample:
        """Sketch the weights (documents, words) of the seen documents alone."""
        size = min(rank, *seen.shape)
        made = sketch(seen, rank=size, center=True, scale=scale, random_state=0)
        columns = WordColumns.of(seen, made)
        return cls(columns, replace(columns, weights=sparse.csc_array(unseen)))

    def errors(self, members: IntArray, features: IntArray) -> tuple[float, float]:
        """Return ||a - F w||^2 and ||a||^2 of one query over the unseen documents.

        `members` are the words of the query, `features` those that predict it.
        """
        known = members[self.seen.lengths[members] > 0]
        a = self.unseen.combine(known, np.ones(len(known)))
        features = features[self.seen.lengths[features] > 0]
        if len(known) and len(features):
            size = len(features)
            both = self.seen.gram(np.concatenate([features, known]))
            G, g = both[:size, :size], both[:size, size:].sum(axis=1)
            rest = a - self.unseen.combine(features, np.linalg.solve(G + RIDGE * np.eye(size), g))
        else:
            rest = a
        return float(rest @ rest), float(a @ a)


def split(weights: SparseRows, rank: int, scale: bool) -> tuple[HalfSample, ...]:
    """Return both halves of weights (documents, words), each once the seen one.

    Documents are split at random, with a fixed seed. There are no halves of too few documents.
    """
    count = int(weights.shape[0])
    if count < FEWEST_DOCUMENTS:
        return ()
    order = np.random.default_rng(0).permutation(count)
    first, second = (sparse.csc_array(weights[np.sort(part)]) for part in np.array_split(order, 2))
    return (
        HalfSample.of(first, second, rank, scale),
        HalfSample.of(second, first, rank, scale),
    )


def held_out(
    halves: Sequence[HalfSample],
    queries: Queries,
    question: Question,
    sizes: Sequence[int],
    settings: Settings,
) -> FloatArray:
    """Return the held-out explained variance (B,) of images of the given sizes.

    A query that varies in neither half, and every query where there are no halves, is NaN.
    """
    errors = np.zeros((2, len(queries.members)))
    for size in sorted(set(sizes)):
        chosen = [number for number, own in enumerate(sizes) if own == size]
        for half in halves:
            named = _words_named(half, queries.part(chosen), question, size, settings)
            for number, features in zip(chosen, named, strict=True):
                errors[:, number] += half.errors(queries.members[number], features)
    total = np.where(errors[1] > 0, errors[1], np.nan)
    return np.asarray(1.0 - errors[0] / total)


def image_halves(
    halves: Sequence[HalfSample],
    question: Question,
    solving: Callable[[Queries], Settings],
    progress: Callable[[int, int], None] | None,
) -> list[SparseRows]:
    """Return the images (words, words) of all words from each half of the documents."""
    found = []
    for number, half in enumerate(halves):
        parts, count = [], len(half.seen.lengths)
        for part in gen_batches(count, 512):
            queries = Queries.single(np.arange(part.start, part.stop))
            parts.append(_answers(half, queries, question, solving(queries)).coef)
            if progress is not None:
                progress(number * count + part.stop, len(halves) * count)
        found.append(sparse.csr_array(sparse.vstack(parts)))
    return found


def _words_named(
    half: HalfSample, queries: Queries, question: Question, size: int, settings: Settings
) -> list[IntArray]:
    """Return the `size` strongest words of each query, from the seen documents alone."""
    if size == 0:
        return [np.empty(0, dtype=np.intp)] * len(queries.members)
    asked = replace(question, n_words=size, alpha=None)
    answers = _answers(half, queries, asked, settings)
    return [answers.strongest(number, size)[0] for number in range(len(queries.members))]


def _answers(half: HalfSample, queries: Queries, question: Question, settings: Settings) -> Answers:
    """Solve queries on the seen documents alone."""
    rule = question.radius
    if isinstance(rule, RadiusPolicy) and rule.kind == "given":
        # Columns of half of the documents are shorter by this factor.
        rule = replace(rule, factor=rule.factor * np.sqrt(0.5))
    return answer(queries, replace(question, radius=rule), half.seen, settings)
