"""Coherence: mean NPMI on held-out documents of a word and the ten words that answer for it.

`coherence` is the mean over all pairs of the query and its ten words, `to query` over the pairs
with the query only.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.datasets import SEED
from benchmarks.topics.corpora import corpus
from benchmarks.topics.npmi import Judge, halves, npmi
from sketchlasso.topics import TopicImager

BANDS = 4
WORDS = 10
RADII = ("auto", "spectral", "realised", "0.1*spectral", 0.0)
WEIGHTINGS = ("tfidf", "log", "counts", "length")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", nargs="+", default=["nips_uci"], help="corpora")
    parser.add_argument("--queries", type=int, help="words asked about (200; quick: 20)")
    parser.add_argument("--ranks", type=int, nargs="+", default=[10, 50, 200])
    parser.add_argument("--documents", type=int, help="at most so many documents")


def run(options: argparse.Namespace) -> None:
    """Ours in every setting, and the neighbours, on every corpus."""
    for name in options.data:
        measure(name, options)


def measure(name: str, options: argparse.Namespace) -> None:
    whole = corpus(name, options.documents)
    training, held_out = halves(whole)
    training = training.pruned()
    place = {word: i for i, word in enumerate(whole.words)}
    columns = [place[word] for word in training.words]
    judge = Judge(held_out[:, columns])
    count = options.queries or (20 if options.quick else 200)
    asked = by_band(training.document_frequency, judge.frequency, count)
    band = np.repeat(np.arange(BANDS), -(-count // BANDS))[: len(asked)]
    for row in contenders(training, asked, options):
        answers = row.pop("answers")
        inner = np.array([judge.coherence([q, *a]) for q, a in zip(asked, answers, strict=True)])
        outer = np.array([judge.to_query(q, a) for q, a in zip(asked, answers, strict=True)])
        options.report.add(
            data=name,
            **row,
            coherence=float(np.nanmean(inner)),
            **{"standard error": float(np.nanstd(inner) / np.sqrt(np.isfinite(inner).sum()))},
            **{"to query": float(np.nanmean(outer))},
            **{
                "by band, rare to common": " ".join(
                    f"{np.nanmean(inner[band == b]):.2f}" for b in range(BANDS)
                ),
                "words": float(np.mean([len(answer) for answer in answers])),
            },
        )


def by_band(frequency: np.ndarray, held_out: np.ndarray, count: int) -> np.ndarray:
    """Random words of equally many from each quarter of the frequencies, seen in both halves."""
    rng = np.random.default_rng(SEED)
    usable = np.flatnonzero(held_out > 0)
    bands = np.array_split(usable[np.argsort(frequency[usable], kind="stable")], BANDS)
    return np.concatenate([rng.choice(b, -(-count // BANDS), replace=False) for b in bands])


def contenders(training: Any, asked: np.ndarray, options: Any) -> Iterator[dict[str, Any]]:
    """Every way to ten words: its name, its answers, its milliseconds per query."""
    fitted = {}
    for rank in options.ranks:
        for weighting in WEIGHTINGS if rank == 50 else WEIGHTINGS[:1]:
            model = TopicImager(
                rank=rank,
                weighting=weighting,
                random_state=SEED,
                min_documents=1,
                max_share=1.0,
                stop_words=None,
            ).fit(training)
            fitted[rank, weighting] = model
            for radius in RADII if weighting == "tfidf" else RADII[:1]:
                yield image_row(model, asked, radius, False)
            yield image_row(model, asked, "auto", True)
    for (rank, weighting), model in fitted.items():
        P = np.asarray(model.sketch_.P)
        shared = {"weighting": weighting, "rank": rank}
        yield {"who": "LSA cosine", **shared, "answers": nearest(unit(P), asked, False)}
        yield {"who": "LSA covariance", **shared, "answers": nearest(P, asked, True)}
    columns = sparse.csc_array(model_columns(fitted))
    lengths = np.sqrt(np.asarray(columns.multiply(columns).sum(axis=0)).ravel())
    cosine = np.asarray((columns[:, asked].T @ columns).todense()) / np.maximum(lengths, 1e-12)
    yield {"who": "cosine, raw columns", "weighting": "tfidf", "answers": top(cosine, asked)}
    for least in (1, 3):
        found = pmi(training.counts, asked, least)
        yield {"who": f"NPMI, seen {least}+ times together", "answers": top(found, asked)}


def model_columns(fitted: dict[Any, TopicImager]) -> Any:
    """Weighted columns of the training half."""
    return next(m for (_, weighting), m in fitted.items() if weighting == "tfidf")._columns.weights


def image_row(model: TopicImager, asked: np.ndarray, radius: Any, positive: bool) -> dict[str, Any]:
    words = [str(word) for word in model.words_[asked]]
    start = perf_counter()
    images = model.images(words, WORDS, radius=radius, positive=positive, judge=False)
    seconds = perf_counter() - start
    place = {word: i for i, word in enumerate(model.words_)}
    return {
        "who": "ours, positive" if positive else "ours",
        "weighting": model.weighting,
        "rank": model.rank,
        "radius": str(radius),
        "radius / spectral": float(np.median([i.radius for i in images]) / model.sketch_.radius),
        "ms per query": 1e3 * seconds / len(words),
        "explained": float(np.median([image.explained for image in images])),
        "answers": [np.array([place[w] for w in i.words], dtype=np.intp) for i in images],
    }


def unit(P: np.ndarray) -> np.ndarray:
    return P / np.maximum(np.linalg.norm(P, axis=1), 1e-12)[:, None]


def nearest(P: np.ndarray, asked: np.ndarray, by_size: bool) -> list[np.ndarray]:
    found = P[asked] @ P.T
    return top(np.abs(found) if by_size else found, asked)


def top(found: np.ndarray, asked: np.ndarray) -> list[np.ndarray]:
    """The ten largest of each row, the query itself left out."""
    found = np.array(found)
    found[np.arange(len(asked)), asked] = -np.inf
    return [np.argsort(-row, kind="stable")[:WORDS] for row in found]


def pmi(counts: Any, asked: np.ndarray, least: int) -> np.ndarray:
    """NPMI in the training half; pairs met less often than `least` come last."""
    present = sparse.csc_array((counts > 0).astype(np.float64))
    joint = np.asarray((present[:, asked].T @ present).todense())
    frequency = np.asarray(present.sum(axis=0)).ravel()
    return np.where(joint >= least, npmi(joint, frequency[asked], frequency, counts.shape[0]), -2.0)
