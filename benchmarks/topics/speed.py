"""Milliseconds of a query, and seconds of a whole vocabulary.

Claim under test: at most 10 ms (median) per query on nips_uci, and at most 10 s for its whole
vocabulary on two cores.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np

from benchmarks.datasets import SEED
from benchmarks.harness import interleave, timed
from benchmarks.topics.corpora import corpus
from sketchlasso.topics import TopicImager


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", nargs="+", default=["nips_uci"], help="corpora")
    parser.add_argument("--queries", type=int, help="words asked about (200; quick: 20)")
    parser.add_argument("--documents", type=int, help="at most so many documents")


def run(options: argparse.Namespace) -> None:
    """Fit, single queries, everything; one row per corpus."""
    for name in options.data:
        whole = corpus(name, options.documents)
        fit = timed(partial(TopicImager(random_state=SEED).fit, whole))
        imager = fit.value
        imager.images([str(word) for word in imager.words_[:4]])  # compiles
        count = options.queries or (20 if options.quick else 200)
        words = np.random.default_rng(SEED).choice(imager.words_, count)
        plain, judged = (
            [
                1e3 * timed(partial(imager.image, str(word), 10, judge=judge)).seconds
                for word in words
            ]
            for judge in (False, True)
        )
        every = interleave(
            {"all": lambda imager=imager: imager.image_all(None, 10)},
            1 if options.quick else 3,
            warm_up=False,
        )["all"]
        options.report.add(
            **{
                "data": name,
                "documents": imager.corpus_.shape[0],
                "vocabulary": len(imager.words_),
                "fit s": fit.seconds,
                "median ms": float(np.median(plain)),
                "p99 ms": float(np.quantile(plain, 0.99)),
                "judged median ms": float(np.median(judged)),
                "whole vocabulary s": every.median,
                "worst gap": float(every.value.gap.max()),
            }
        )
