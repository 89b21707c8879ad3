"""Table 1: the data sets as they are here, with their non-zeros and effective rank."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

import sketchlasso as sl
from reproduction.data import SEED, counts_of, load
from reproduction.experiment import Finding, Plan, Results, Say, Section, Sheet, judged
from reproduction.paper_figures import PAPER
from reproduction.words import count, number, percent

TITLE = "Table 1: data sets"

# Of the paper, here, and how the one stands for the other.
STANDING = (
    ("Gisette", "gisette_like", "re-creation from real digits, same shape and density"),
    ("20 Newsgroups", "news20", "genuine training set"),
    ("RCV1.binary", "rcv1", "genuine vectors and label rule, another sample of documents"),
    ("SIAM 2007", "tmc2007_500", "the same documents, public version of few terms"),
    ("Real-sim", "imdb", "stand-in: film reviews"),
    ("NIPS papers", "nips_uci", "genuine counts, words that occur often enough"),
    ("NYTimes", "imdb_all", "stand-in for its size: film reviews"),
)
QUICK = (
    ("Gisette", "digits", "stand-in of the quick form: scikit-learn's digits"),
    ("NIPS papers", "made_text", "stand-in of the quick form: generated"),
)
RANDOM = tuple((name, "generated", "generated") for name in ("Random 1", "Random 21"))


def run(plan: Plan, say: Say) -> Section:
    """Sizes, non-zeros and effective ranks."""
    quoted, rows = PAPER["table_1"]["sets"], []
    for theirs, ours, standing in (QUICK if plan.quick else STANDING) + RANDOM:
        size = quoted[theirs]
        if ours == "generated":
            shape = (size["train"], size["features"])
            X: Any = np.random.default_rng(SEED).standard_normal(shape)
        else:
            dense = ours in ("gisette_like", "digits")
            X = load(ours, plan.rows).X if dense else counts_of(ours, plan.rows)
        rows.append({"paper": theirs, "set": ours, "standing": standing, **_facts(X)})
        say(f"{ours}: {X.shape[0]:,} x {X.shape[1]:,}")
    same = [row for row in rows if row["features"] == quoted[row["paper"]]["features"]]
    both = [row for row in same if row["samples"] == quoted[row["paper"]]["train"]]
    finding = Finding(
        "the data sets",
        f"{count(len(quoted))} kinds of sets",
        f"{count(len(both))} of {count(len(rows))} have the paper's shape",
        judged(False, len(same) == len(rows)),
        f"{count(len(same))} of {count(len(rows))} sets have the paper's number of features; the "
        "others are public versions or stand-ins, so figures on them compare kinds of work, not "
        "the same numbers.",
    )
    columns = (
        "the paper", "its size", "here", "size", "non-zeros", "density", "effective rank",
        "compared with the paper's",
    )  # fmt: skip
    table = [
        (
            row["paper"],
            f"{quoted[row['paper']]['train']:,} x {quoted[row['paper']]['features']:,}",
            row["set"],
            f"{row['samples']:,} x {row['features']:,}",
            row["nonzeros"],
            percent(row["nonzeros"] / (row["samples"] * row["features"])),
            number(row["effective_rank"]),
            row["standing"],
        )
        for row in rows
    ]
    return Section(
        "Training rows as they are used in the other experiments (regressions hold out test rows "
        "where no test set is published). Effective rank: ||X||_F^2 / ||X||_2^2 of the matrix as "
        "published, not centred.",
        "Several of the paper's sets were not available; the last column names the replacement. "
        "Non-zeros and effective rank are added.",
        [finding],
        [Sheet("Data sets", columns, table)],
        results=rows,
    )


def _facts(X: Any) -> Results:
    """Shape, non-zeros and ||X||_F^2 / ||X||_2^2."""
    matrix = sparse.csr_array(X)
    largest = float(sl.sketch(X, rank=1, random_state=SEED).singular_values[0])
    return {
        "samples": X.shape[0],
        "features": X.shape[1],
        "nonzeros": int(matrix.count_nonzero()),
        "effective_rank": float(matrix.multiply(matrix).sum()) / largest**2,
    }
