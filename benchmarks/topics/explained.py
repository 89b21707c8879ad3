"""Held-out explained variance: what ten words say about a word in documents nobody has seen.

Every contender names ten words from one half of the documents. The words get ridge weights there,
and predict the word in the other half, as `sketchlasso.topics.judging` does for every image.
Words and halves depend on the seed: defaults were chosen with seed 0 and confirmed with seed 1.
`above 1 %` is the share of words of which more than that is explained, and `coherence` the
mean NPMI of all pairs among a word and its ten words, in the other half.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.report import Report
from benchmarks.topics.coherence import WORDS, nearest, top, unit
from benchmarks.topics.corpora import corpus
from benchmarks.topics.held_out import Judge
from sketchlasso.solvers import Settings
from sketchlasso.topics.answering import Queries, Question, answer
from sketchlasso.topics.corpus import weigh
from sketchlasso.topics.judging import HalfSample

CORPORA = ("nips_uci", "kos", "20news_bydate", "nytimes_headlines", "imdb")
# In so many documents of either half a word must be, to be asked for and to be judged.
LEAST = 3


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", nargs="+", default=list(CORPORA), help="corpora")
    parser.add_argument("--queries", type=int, help="words asked about (150; quick: 20)")
    parser.add_argument("--ranks", type=int, nargs="+", default=[50, 100, 200])
    parser.add_argument("--weightings", nargs="+", default=["tfidf", "log"])
    parser.add_argument("--radii", nargs="+", default=["auto"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--documents", type=int, default=5000, help="at most so many documents")


def run(options: argparse.Namespace) -> Report:
    """One row per corpus, seed and contender."""
    for name in options.data:
        measure(name, options)
    report: Report = options.report
    return report


def measure(name: str, options: argparse.Namespace) -> None:
    """Draw halves and words with each seed, and judge every contender on them."""
    whole = corpus(name, options.documents).pruned()
    count = options.queries or (20 if options.quick else 150)
    for seed in options.seeds:
        rng = np.random.default_rng(seed)
        first, second = map(np.sort, np.array_split(rng.permutation(whole.shape[0]), 2))
        in_both = np.minimum(*(documents_with(whole.counts[half]) for half in (first, second)))
        asked = rng.choice(np.flatnonzero(in_both >= LEAST), count, replace=False)
        judge = Judge(whole.counts[second])
        for weighting in options.weightings:
            weights = weigh(whole.counts, weighting)
            for (who, rank), answers, half in contenders(weights, first, second, asked, options):
                pairs = list(zip(asked, answers, strict=True))
                errors = [half.errors(np.array([query]), words) for query, words in pairs]
                found = np.array([1.0 - rest / total for rest, total in errors])
                options.report.add(
                    **{
                        "data": name,
                        "seed": seed,
                        "weighting": weighting,
                        "who": who,
                        "rank": rank,
                        "explained": float(found.mean()),
                        "standard error": float(found.std() / np.sqrt(count)),
                        "above 1 %": float(np.mean(found > 0.01)),
                        "coherence": float(
                            np.nanmean([judge.coherence([query, *words]) for query, words in pairs])
                        ),
                    }
                )


def contenders(
    weights: Any, first: np.ndarray, second: np.ndarray, asked: np.ndarray, options: Any
) -> Iterator[tuple[tuple[Any, ...], list[np.ndarray], HalfSample]]:
    """Every way to ten words: name and rank, the words, and the half they come from."""
    for rank in options.ranks:
        half = HalfSample.of(weights[first], weights[second], rank, False)
        for radius in options.radii:
            for positive in (False, True):
                named = f"image{'' if radius == 'auto' else f', {radius}'}"
                question = Question.checked(WORDS, None, radius, positive)
                solved = answer(
                    Queries.single(asked), question, half.sketch, half.seen, Settings(n_threads=1)
                )
                words = [solved.strongest(number, WORDS)[0] for number in range(len(asked))]
                yield (f"{named}{', positive' if positive else ''}", rank), words, half
        P = np.asarray(half.sketch.P)
        yield ("covariance in the sketch", rank), nearest(P, asked, True), half
        yield ("LSA cosine", rank), nearest(unit(P), asked, False), half
    yield ("raw correlation", 0), top(correlation(half, asked), asked), half


def correlation(half: HalfSample, asked: np.ndarray) -> np.ndarray:
    """|correlation| of the words asked for with all words, in the seen documents."""
    seen = half.seen
    product = np.asarray((seen.weights[:, asked].T @ seen.weights).todense())
    covariance = product - seen.weights.shape[0] * np.outer(seen.means[asked], seen.means)
    lengths = np.sqrt(np.maximum(seen.energies, 1e-300))
    return np.where(seen.energies > 0, np.abs(covariance) / lengths, -1.0)


def documents_with(counts: Any) -> np.ndarray:
    return np.bincount(sparse.csr_array(counts).indices, minlength=counts.shape[1])
