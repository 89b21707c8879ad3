"""Milliseconds of a query, and seconds of a whole vocabulary.

Claim under test: at most 10 ms (median) per query on nips_uci, and at most 10 s for its whole
vocabulary on two cores.
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np

from benchmarks.datasets import SEED
from benchmarks.topics.corpora import corpus
from sketchlasso.topics import TopicImager

WORDS = 10


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", nargs="+", default=["nips_uci"], help="corpora")
    parser.add_argument("--queries", type=int, help="words asked about (200; quick: 20)")
    parser.add_argument("--documents", type=int, help="at most so many documents")


def run(options: argparse.Namespace) -> None:
    """One row per corpus."""
    for name in options.data:
        measure(name, options)


def measure(name: str, options: argparse.Namespace) -> None:
    """Fit, single queries, everything."""
    whole = corpus(name, options.documents)
    start = perf_counter()
    imager = TopicImager(random_state=SEED).fit(whole)
    fit = perf_counter() - start
    imager.images([str(word) for word in imager.words_[:4]])  # compiles
    count = options.queries or (20 if options.quick else 200)
    words = np.random.default_rng(SEED).choice(imager.words_, count)
    times = single_times(imager, words, judge=False)
    judged = single_times(imager, words, judge=True)
    all_times = []
    for _ in range(1 if options.quick else min(options.repeats, 3)):
        start = perf_counter()
        images = imager.image_all(None, WORDS)
        all_times.append(perf_counter() - start)
    counts = np.diff(images.weights.indptr)
    options.report.add(
        **{
            "data": name,
            "documents": imager.corpus_.shape[0],
            "vocabulary": len(imager.words_),
            "fit s": fit,
            "median ms": float(np.median(times)),
            "p99 ms": float(np.quantile(times, 0.99)),
            "judged median ms": float(np.median(judged)),
            "whole vocabulary s": float(np.median(all_times)),
            "share with exactly ten": float(np.mean(counts == WORDS)),
            "worst gap": float(images.gap.max()),
        }
    )


def single_times(imager: TopicImager, words: np.ndarray, judge: bool) -> list[float]:
    """Milliseconds of each query, after a first one that does not count."""
    imager.image(str(words[0]), WORDS, judge=judge)
    times = []
    for word in words:
        start = perf_counter()
        imager.image(str(word), WORDS, judge=judge)
        times.append(1e3 * (perf_counter() - start))
    return times
