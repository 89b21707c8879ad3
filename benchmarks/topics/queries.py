"""The paper's queries on text, its answers and seconds beside ours.

The paper asked NIPS papers and the New York Times; on other corpora its figures are for the latter.
"""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import Any

from reproduction.paper_figures import PAPER

from benchmarks.topics.corpora import corpus
from sketchlasso.topics import TopicImager

NIPS: dict[str, Any] = PAPER["tables_3_4"]["nips"]
NYTIMES: dict[str, Any] = PAPER["tables_3_4"]["nytimes"]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", nargs="+", default=["nips_uci"], help="corpora")
    parser.add_argument("--documents", type=int, help="at most so many documents")


def run(options: argparse.Namespace) -> None:
    """One row per corpus and query; each corpus gets the queries that the paper made on it."""
    for name in options.data:
        paper = NIPS if name.startswith("nips") else NYTIMES
        imager = TopicImager(random_state=0).fit(corpus(name, options.documents))
        known = set(imager.words_)
        words = [word for word in (*NIPS, *NYTIMES) if word in known]
        words = [word for word in words if word in paper or not name.startswith("nips")]
        imager.image(words[0])  # compiles
        for word in words:
            start = perf_counter()
            image = imager.image(word)
            seconds = perf_counter() - start
            theirs = paper.get(word)
            options.report.add(
                **{
                    "data": name,
                    "query": word,
                    "ours": str(image).partition(": ")[2],
                    "ours ms": 1e3 * seconds,
                    "explained": image.explained,
                    "gap": image.gap,
                    "paper s": theirs["seconds"] if theirs else None,
                    "paper": theirs["words"] if theirs else None,
                }
            )
