"""The paper's queries on text, its answers and seconds beside ours.

The paper asked NIPS papers and the New York Times; on other corpora its figures are for the latter.
"""

from __future__ import annotations

import argparse
from time import perf_counter

from benchmarks.report import Report
from benchmarks.topics.corpora import corpus
from sketchlasso import TopicImager

# Tables 3 and 4 of the paper: seconds and answers on NIPS papers and on the New York Times, as
# printed (its words are stems, written out by their first completion).
NIPS = {
    "learning": (
        3.15,
        "error action algorithm targeting weighed trained uniqueness reinforced control policies",
    ),
    "statistic": (
        2.89,
        "data distribution model error algorithm parameter trained likelihood gaussian set",
    ),
    "optimization": (
        3.11,
        "algorithm data distribution likelihood variable network mixture parame bound bayesian",
    ),
    "text": (
        3.52,
        "trained error generalization wooter classifier student validating trainable hidden hmm",
    ),
    "vision": (
        3.15,
        "object image visiting images unit recognition representation motion view field",
    ),
}
NYTIMES = {
    "health": (
        11.81,
        "drug patience doctor cell perceiving disease tawny medica cancer care",
    ),
    "technology": (
        11.84,
        "weaving companies com computer site company wwii online sites customer",
    ),
    "political": (
        10.95,
        "campaign election presidency vortices republic tawny voted democratic presidentes leader",
    ),
    "business": (
        11.93,
        "companionship companias milling stmurray marker customary weaving analyst firing billion",
    ),
    "research": (
        10.65,
        "drug patient cell doctor percent disease program tessie medical studly",
    ),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", nargs="+", default=["nips_uci"], help="corpora")
    parser.add_argument("--documents", type=int, help="at most so many documents")


def run(options: argparse.Namespace) -> Report:
    """One row a corpus and query; the paper's queries on its other corpus are asked elsewhere."""
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
                    "paper s": theirs[0] if theirs else None,
                    "paper": theirs[1] if theirs else None,
                }
            )
    report: Report = options.report
    return report
