"""Held-out explained variance: what ten words explain of a word in unseen documents.

Every contender names ten words from one half of the documents. The words get ridge weights there,
and predict the word in the other half, as `sketchlasso.topics.judging` does for every image.
Words and halves depend on the seed: defaults were chosen with seed 0 and confirmed with seed 1.
`above 1 %` is the share of words of which more than that is explained, and `coherence` the
mean NPMI of all pairs among a word and its ten words, in the other half. `over covariance` and
`over best LSA` are means of the differences word by word, each with its standard error.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.topics.corpora import Judge, corpus
from sketchlasso.solvers import Settings
from sketchlasso.topics.answering import Queries, Question, answer
from sketchlasso.topics.corpus import weigh
from sketchlasso.topics.judging import HalfSample

CORPORA = ("nips_uci", "kos", "20news_bydate", "nytimes_headlines", "imdb")
WORDS = 10
COVARIANCE, LSA = "covariance in the sketch", "LSA cosine"
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


def run(options: argparse.Namespace) -> None:
    """One row per corpus, seed and contender."""
    for name in options.data:
        measure(name, options)


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
            rows = [
                judged(who, rank, asked, answers, half, judge)
                for (who, rank), answers, half in contenders(weights, first, second, asked, options)
            ]
            for row in compared(rows):
                options.report.add(data=name, seed=seed, weighting=weighting, **row)


def judged(
    who: str, rank: int, asked: np.ndarray, answers: Any, half: HalfSample, judge: Judge
) -> dict[str, Any]:
    """What the words of one contender explain: `found`, one share per query, and coherence."""
    pairs = list(zip(asked, answers, strict=True))
    errors = [half.errors(np.array([query]), words) for query, words in pairs]
    coherences = [judge.coherence([query, *words]) for query, words in pairs]
    return {
        "who": who,
        "rank": rank,
        "found": np.array([1.0 - rest / total for rest, total in errors]),
        "coherence": float(np.nanmean(coherences)),
    }


def compared(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """One line of the report per contender, with paired differences to two of them.

    These are the covariance in the sketch of the same rank, and the LSA of its best rank.
    """
    by_rank = {row["rank"]: row["found"] for row in rows if row["who"] == COVARIANCE}
    best = max((row["found"] for row in rows if row["who"] == LSA), key=np.mean)
    for row in rows:
        line = {"who": row["who"], "rank": row["rank"]}
        others = {
            "explained": 0.0,
            "over covariance": by_rank.get(row["rank"]),
            "over best LSA": best,
        }
        for title, other in others.items():
            if other is not None:
                rest = row["found"] - other
                error = float(rest.std() / np.sqrt(len(rest)))
                line |= {title: float(rest.mean()), f"{title}, error": error}
        above = float(np.mean(row["found"] > 0.01))
        yield {**line, "above 1 %": above, "coherence": row["coherence"]}


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
                solved = answer(Queries.single(asked), question, half.seen, Settings(n_threads=1))
                words = [solved.strongest(number, WORDS)[0] for number in range(len(asked))]
                yield (f"{named}{', positive' if positive else ''}", rank), words, half
        P = np.asarray(half.seen.sketch.P)
        yield (COVARIANCE, rank), nearest(P, asked, True), half
        yield (LSA, rank), nearest(unit(P), asked, False), half
    yield ("raw correlation", 0), top(correlation(half, asked), asked), half


def unit(P: np.ndarray) -> np.ndarray:
    """Rows scaled to length one."""
    return P / np.maximum(np.linalg.norm(P, axis=1), 1e-12)[:, None]


def nearest(P: np.ndarray, asked: np.ndarray, by_size: bool) -> list[np.ndarray]:
    """The words with the largest products, or the largest in size."""
    products = P[asked] @ P.T
    return top(np.abs(products) if by_size else products, asked)


def top(scores: np.ndarray, asked: np.ndarray) -> list[np.ndarray]:
    """The ten largest of each row, the query itself left out."""
    scores = np.array(scores)
    scores[np.arange(len(asked)), asked] = -np.inf
    return [np.argsort(-row, kind="stable")[:WORDS] for row in scores]


def correlation(half: HalfSample, asked: np.ndarray) -> np.ndarray:
    """|correlation| of the words asked for with all words, in the seen documents."""
    seen = half.seen
    product = np.asarray((seen.weights[:, asked].T @ seen.weights).todense())
    covariance = product - seen.weights.shape[0] * np.outer(seen.means[asked], seen.means)
    return np.where(seen.lengths > 0, np.abs(covariance) / seen.scales, -1.0)


def documents_with(counts: Any) -> np.ndarray:
    return np.bincount(sparse.csr_array(counts).indices, minlength=counts.shape[1])
