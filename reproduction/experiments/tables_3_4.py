"""Tables 3 and 4: images of words, the paper's queries, with times and coherence."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from benchmarks.harness import timed
from benchmarks.topics.corpora import Judge, corpus, halves

from reproduction.data import SEED
from reproduction.experiment import Finding, Plan, Results, Say, Section, Sheet, judged
from reproduction.paper_figures import PAPER
from reproduction.words import count, factor, number, percent, seconds
from sketchlasso.topics import Corpus, TopicImager

TITLE = "Tables 3 and 4: topic imaging"

# Which corpus, whose queries, how it stands to the paper's.
FULL = (
    ("nips_uci", "nips", "genuine counts, the words that occur often enough"),
    ("imdb_all", "nytimes", "stand-in for the size of NYTimes: film reviews"),
    ("nytimes_headlines", "nytimes", "genuine NYTimes, but headlines of front pages only"),
)
QUICK = (("embedded", "nips", "stand-in of the quick form: docstrings of packages"),)
NAMES = {"nips": "NIPS papers", "nytimes": "NYTimes"}
QUICK_DOCUMENTS, RANK, WORDS = 1_500, 50, 10


def run(plan: Plan, say: Say) -> Section:
    """Every corpus: the paper's queries, random queries for the time, the whole vocabulary."""
    documents = plan.rows or (QUICK_DOCUMENTS if plan.quick else None)
    asked = 20 if plan.quick else 200
    findings, sheets, standings, results = [], [], [], []
    for name, theirs, standing in QUICK if plan.quick else FULL:
        whole, quoted = corpus(name, documents), PAPER["tables_3_4"][theirs]
        fit = timed(partial(TopicImager(rank=RANK, random_state=SEED).fit, whole))
        imager = fit.value
        say(f"{name}: {whole.shape[0]:,} documents, fitted in {fit.seconds:.1f} s")
        rows = _queries(whole, imager, quoted)
        words = np.random.default_rng(SEED).choice(imager.words_, asked)
        times = [imager.image(str(word), WORDS).seconds for word in words]
        findings += _findings(f"{NAMES[theirs]} ({name})", imager, quoted, rows, times)
        sheets.append(_sheet(name, rows))
        standings.append(f"{name}: {standing}")
        results.append({"data": name, "rows": rows, "seconds": times})
    return Section(
        f"A sketch of rank {RANK} of the tf-idf weights of every corpus, centred; for a query the "
        f"penalty is searched that leaves {WORDS} words. Times are those of a single query on a "
        f"fitted model, the median over {asked} random words. Coherence: mean NPMI over all pairs "
        "of the query and its words in documents held out; our words for it come from a model of "
        "the other half of the documents. 'not' marks words with a negative weight.",
        f"{'; '.join(standings)}. The paper's words are stems written out by a first completion "
        "(weaving for web), so many are not in the vocabulary; its coherence counts those that "
        "are, and on another corpus than its own it is no fair measure. The paper's model saw all "
        "documents, those held out here included.",
        findings,
        sheets,
        results=results,
    )


def _queries(whole: Corpus, imager: TopicImager, quoted: Results) -> list[Results]:
    """The paper's queries, and coherence of both answers in documents the judged model lacks."""
    training, held_out = halves(whole)
    half = TopicImager(rank=RANK, random_state=SEED).fit(training)
    judge = Judge(held_out)
    place = {str(word): number for number, word in enumerate(whole.words)}
    imager.images([str(word) for word in imager.words_[:2]], WORDS)  # compiles
    rows = []
    for word, theirs in quoted.items():
        row: Results = {"query": word, "words": None, "coherence": None, "paper_coherence": None}
        if word in set(imager.words_):
            image = imager.image(word, WORDS)
            ours = half.image(word, WORDS).words if word in set(half.words_) else ()
            known = [one for one in (word, *theirs["words"].split()) if one in place]
            row |= {"words": " ".join(image.words), "seconds": image.seconds}
            row["coherence"] = judge.coherence([place[one] for one in (word, *ours)])
            row["paper_coherence"] = judge.coherence([place[one] for one in known])
        rows.append({**row, "paper_words": theirs["words"], "paper_seconds": theirs["seconds"]})
    return rows


def _findings(
    name: str, imager: TopicImager, quoted: Results, rows: list[Results], times: list[float]
) -> list[Finding]:
    """Time, coherence, and the whole vocabulary."""
    ours, paper = np.median(times), np.median([one["seconds"] for one in quoted.values()])
    vocabulary = count(len(imager.words_))
    findings = [
        Finding(
            f"time of a query, {name}",
            seconds(paper),
            seconds(ours),
            judged(bool(ours < paper)),
            f"{factor(paper / ours)} faster on {count(imager.corpus_.shape[0])} documents and "
            f"{vocabulary} words; the slowest hundredth takes at least "
            f"{seconds(np.quantile(times, 0.99))}.",
            timing=True,
        )
    ]
    answered = [row for row in rows if row["words"]]
    pairs = np.array([(row["coherence"], row["paper_coherence"]) for row in answered])
    pairs = pairs[np.isfinite(pairs).all(axis=1)] if len(pairs) else pairs
    if len(pairs):
        mine, theirs = pairs.mean(axis=0)
        findings.append(
            Finding(
                f"the words make a topic, {name}",
                f"coherence {number(theirs)}",
                f"coherence {number(mine)}",
                judged(bool(mine > theirs)),
                f"Mean NPMI on held-out documents over {count(len(pairs))} queries, beside the "
                "words that the paper prints and this vocabulary knows.",
            )
        )
    every = timed(lambda: imager.image_all(None, WORDS))
    exactly = float(np.mean(np.diff(every.value.weights.indptr) == WORDS))
    findings.append(
        Finding(
            f"every word of {name}",
            "not done",
            f"{vocabulary} words in {seconds(every.seconds)}",
            "beyond the paper",
            f"{percent(exactly)} of the images have exactly the number of words asked for; worst "
            f"relative gap {number(float(every.value.gap.max()), 2)}.",
        )
    )
    return findings


def _sheet(name: str, rows: list[Results]) -> Sheet:
    """Queries of a corpus, ours above the paper's."""
    table: list[tuple[Any, ...]] = []
    for row in rows:
        words = row["words"] or "not in the vocabulary"
        mine = (seconds(row.get("seconds")), number(row["coherence"]), words)
        theirs = (seconds(row["paper_seconds"]), number(row["paper_coherence"]), row["paper_words"])
        table += [(row["query"], "here", *mine), ("", "the paper", *theirs)]
    columns = ("query", "who", "time", "coherence", "words")
    return Sheet(f"{name}, the paper's queries", columns, table)
