"""Valid files of every format that is read, and the commands that read them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

import sketchlasso as sl
from sketchlasso.io import Table, write_table
from sketchlasso.topics import TopicImager

__all__ = ["FILE", "OUT", "Sample", "make_samples"]

# Stand for the mutated file and for a file to write in the arguments of a command.
FILE, OUT = "{file}", "{out}"
ROWS, WIDTH = 12, 4
WORDS = ("sea", "wave", "tide", "salt", "bread", "flour", "oven", "yeast")


@dataclass(frozen=True)
class Sample:
    """A valid file.

    Attributes
    ----------
    kind : str
        What the file is: a content of the library's own files, or a format.
    path : Path
    commands : tuple of tuple of str
        Arguments of `sketchlasso`, with FILE and OUT in them.
    """

    kind: str
    path: Path
    commands: tuple[tuple[str, ...], ...]

    @property
    def own(self) -> bool:
        """Whether the file is a container of the library's own."""
        return self.kind in ("sketch", "model", "topics", "images")


def make_samples(folder: Path) -> list[Sample]:
    """Write one or more valid files of every format below a folder."""
    rng = np.random.default_rng(7)
    X = np.round(rng.standard_normal((ROWS, WIDTH)), 3)
    X[rng.random(X.shape) < 0.3] = 0.0
    table = Table(X, X[:, 0] - X[:, 1] + 0.1 * np.arange(ROWS), tuple("abcd"), "y")
    return [
        *_own(folder, table),
        *_named_columns(folder, table),
        *_arrays(folder, table),
        *_texts(folder),
        *_counts(folder),
    ]


def _own(folder: Path, table: Table) -> list[Sample]:
    X, y = table.X, table.y
    data = folder / "data.csv"
    write_table(data, table)
    found = sl.sketch(X, rank=3, center=True, random_state=0)
    found.save(folder / "a.sketch")
    regression = sl.SqrtLasso(alpha=0.3, sketch=found).fit(X, y)
    sl.save_model(
        folder / "a.model", regression, X=X, feature_names=table.feature_names, target_name="y"
    )
    labels = np.where(y > np.median(y), "high", "low")
    sl.save_model(folder / "b.model", sl.SqrtLassoClassifierCV(cv=3).fit(X, labels), X=X)
    imager = TopicImager(rank=3, min_documents=1, random_state=0).fit(_documents())
    imager.save(folder / "a.topics")
    imager.image_all(folder / "a.images", n_words=2)
    against = ("--target", "y", "--alpha", "0.3")
    fit = ("fit", str(data), *against, "--sketch", FILE)
    predict, certify = ("predict", FILE, str(data), "--target", "y"), ("certify", FILE, str(data))
    graph = ("topics", "graph", FILE, "-o", f"{OUT}.csv")
    return [
        Sample("sketch", folder / "a.sketch", (("info", FILE), fit)),
        Sample("model", folder / "a.model", (("info", FILE), predict, certify)),
        Sample("model", folder / "b.model", (("info", FILE), ("info", FILE, "--json"), predict)),
        Sample("topics", folder / "a.topics", (("info", FILE), ("topics", "image", FILE, "sea"))),
        Sample("images", folder / "a.images", (("info", FILE), graph)),
    ]


def _named_columns(folder: Path, table: Table) -> list[Sample]:
    options = ("--target", "y")
    commands = (
        ("sketch", FILE, *options, "--rank", "2", "-o", OUT),
        ("sketch", FILE, *options, "--rank", "2", "--memory", "100MB", "-o", OUT),
        ("fit", FILE, *options, "--alpha", "0.3"),
        ("predict", str(folder / "a.model"), FILE),
    )
    names = ("a.csv", "a.csv.gz", "a.csv.bz2", "a.csv.xz", "a.tsv", "a.parquet", "a.arrow")
    for name in names:
        write_table(folder / name, table)
    return [Sample(name[2:], folder / name, commands) for name in names]


def _arrays(folder: Path, table: Table) -> list[Sample]:
    matrix = sparse.csr_array(np.asarray(table.X))
    made = []
    plain = (
        ("sketch", FILE, "--rank", "2", "-o", OUT),
        ("sketch", FILE, "--rank", "2", "--memory", "100MB", "-o", OUT),
    )
    fit = ("fit", FILE, "--alpha", "0.3")
    for name, held in (
        ("dense.npz", table),
        ("sparse.npz", Table(matrix, table.y)),
        ("a.svm", Table(matrix, table.y)),
        ("a.svm.gz", Table(matrix, table.y)),
    ):
        write_table(folder / name, held)
        made.append(Sample(name.partition(".")[2], folder / name, (*plain, fit)))
    for form in ("csc", "coo", "bsr", "dia"):
        path = folder / f"{form}.npz"
        sparse.save_npz(path, getattr(matrix, f"to{form}")())
        made.append(Sample("npz", path, plain))
    for name, X in (("dense.mtx", table.X), ("sparse.mtx", matrix), ("a.npy", table.X)):
        write_table(folder / name, Table(X))
        target = ("fit", FILE, "--target", "0", "--alpha", "0.3")
        made.append(Sample(name.partition(".")[2], folder / name, (*plain, target)))
    write_table(folder / "a.mtx.gz", Table(matrix))
    made.append(Sample("mtx.gz", folder / "a.mtx.gz", plain))
    return made


def _texts(folder: Path) -> list[Sample]:
    import json

    records = [
        json.dumps({"text": text, "title": f"t{number}"})
        for number, text in enumerate(_documents())
    ]
    (folder / "a.jsonl").write_text("\n".join(records) + "\n", encoding="utf-8")
    fit = ("topics", "fit", FILE, "-o", OUT, "--rank", "2", "--min-documents", "1")
    titled = (*fit, "--column", "text", "--title-column", "title")
    (folder / "lines.txt").write_text("\n".join(_documents()) + "\n", encoding="utf-8")
    return [
        Sample("jsonl", folder / "a.jsonl", (fit, titled)),
        Sample("txt", folder / "lines.txt", (fit,)),
    ]


def _counts(folder: Path) -> list[Sample]:
    counts = np.random.default_rng(1).integers(0, 3, (10, len(WORDS))).astype(np.float64)
    table = Table(sparse.csr_array(counts), None, WORDS)
    made = []
    for name in ("docword.a.txt", "docword.b.txt.gz"):
        write_table(folder / name, table)
        commands = (
            ("sketch", FILE, "--rank", "2", "-o", OUT),
            ("topics", "fit", FILE, "-o", OUT, "--rank", "2", "--min-documents", "1"),
            ("fit", FILE, "--target-word", "sea", "--alpha", "0.3"),
        )
        made.append(Sample("docword" + ".gz" * name.endswith(".gz"), folder / name, commands))
    return made


def _documents() -> list[str]:
    rng = np.random.default_rng(3)
    halves = (WORDS[:4], WORDS[4:])
    return [
        " ".join(rng.choice(halves[number % 2], 6)) + " " + " ".join(rng.choice(WORDS, 2))
        for number in range(16)
    ]
