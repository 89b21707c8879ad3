"""Table 1: the data sets as they are here, with their non-zeros and effective rank."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

import sketchlasso as sl
from reproduction.data import SEED, counts_of, load
from reproduction.experiment import Finding, Plan, Report, Results, Sheet
from reproduction.paper_figures import PAPER
from reproduction.words import count, number, percent

TITLE = "Table 1: data sets"

# Of the paper, here, and how the one stands for the other; None is generated.
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
RANDOM = ("Random 1", "Random 21")


def settings(plan: Plan) -> Results:
    """Which sets."""
    return {
        "quick": plan.quick,
        "sets": [list(line) for line in (QUICK if plan.quick else STANDING)],
        "random": list(RANDOM),
        "rows": plan.rows,
    }


def compute(chosen: Results, report: Report) -> Results:
    """Sizes, non-zeros and effective ranks."""
    rows = []
    for theirs, ours, standing in chosen["sets"]:
        X = _matrix(ours, chosen["rows"])
        rows.append({"paper": theirs, "set": ours, "standing": standing, **_facts(X)})
        report(f"{ours}: {X.shape[0]:,} x {X.shape[1]:,}")
    for theirs in chosen["random"]:
        size = PAPER["table_1"]["sets"][theirs]
        X = np.random.default_rng(SEED).standard_normal((size["train"], size["features"]))
        rows.append({"paper": theirs, "set": "generated", "standing": "generated", **_facts(X)})
    quoted = PAPER["table_1"]["sets"]
    same = [row for row in rows if row["features"] == quoted[row["paper"]]["features"]]
    both = [row for row in same if row["samples"] == quoted[row["paper"]]["train"]]
    return {"rows": rows, "sets": len(rows), "same_features": len(same), "same_shape": len(both)}


def _matrix(name: str, rows: int | None) -> Any:
    if name in ("gisette_like", "digits"):
        return load(name, rows).X
    return counts_of(name, rows)


def _facts(X: Any) -> Results:
    """Shape, non-zeros and ||X||_F^2 / ||X||_2^2."""
    held = sparse.csr_array(X)
    largest = float(sl.sketch(X, rank=1, random_state=SEED).singular_values[0])
    energy = float(held.multiply(held).sum())
    return {
        "samples": X.shape[0],
        "features": X.shape[1],
        "nonzeros": int(held.count_nonzero()),
        "density": held.count_nonzero() / (X.shape[0] * X.shape[1]),
        "effective_rank": energy / largest**2,
    }


def protocol(stored: Results) -> str:
    """What was done."""
    return (
        "Training rows as they are used in the other experiments (regressions hold out test rows "
        "where no test set is published). Effective rank: ||X||_F^2 / ||X||_2^2 of the matrix as "
        "published, not centred."
    )


def differs(stored: Results) -> str:
    """What is not as in the paper."""
    return (
        "Several of the paper's sets were not available; the last column names the replacement. "
        "Non-zeros and effective rank are added."
    )


def findings(stored: Results) -> list[Finding]:
    """How many sets are of the paper's shape."""
    found = stored["results"]
    every = found["same_features"] == found["sets"]
    return [
        Finding(
            "the data sets",
            f"{count(len(stored['paper']['sets']))} kinds of sets",
            f"{count(found['same_shape'])} of {count(found['sets'])} have the paper's shape",
            "reproduced" if every else "not reproduced",
            f"{count(found['same_features'])} of {count(found['sets'])} sets have the paper's "
            "number of features; the others are public versions or stand-ins, so figures on them "
            "compare kinds of work, not the same numbers.",
        )
    ]


def tables(stored: Results) -> list[Sheet]:
    """The paper's columns and ours."""
    quoted = stored["paper"]["sets"]
    rows = tuple(
        (
            row["paper"],
            f"{count(quoted[row['paper']]['train'])} x {count(quoted[row['paper']]['features'])}",
            row["set"],
            f"{count(row['samples'])} x {count(row['features'])}",
            count(row["nonzeros"]),
            percent(row["density"]),
            number(row["effective_rank"]),
            row["standing"],
        )
        for row in stored["results"]["rows"]
    )
    columns = (
        "the paper",
        "its size",
        "here",
        "size",
        "non-zeros",
        "density",
        "effective rank",
        "compared with the paper's",
    )
    return [Sheet("Data sets", columns, rows)]
