"""Record the command line at work on real files.

Writes a table of houses as CSV, a part of rcv1 as svmlight and of the NIPS counts as bag-of-words
into a temporary folder, runs commands and mistakes there, and prints a page of Markdown::

    SKETCHLASSO_DATA=... python -m docs.transcripts.record > docs/transcripts/command-line.md
    SKETCHLASSO_DATA=... python -m docs.transcripts.record topics > docs/transcripts/topics.md
"""

from __future__ import annotations

import csv
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from benchmarks.datasets import table_of

from sketchlasso.io import Table, write_table
from sketchlasso.topics import TopicImager

TRAIN, TEST, DOCUMENTS, HOUSES = 4000, 2000, 1500, 4000
LONGEST = 18

WORK = (
    "cv houses.csv --target price --drop id --impute median -o houses.model",
    "predict houses.model new.csv --id id -o predictions.csv",
    "predict houses.model new.csv --id id -q | head -3",
    "fit houses.csv --target price --drop id --impute median --verbose --top 3",
    "sketch rcv1.svm.gz --method response --rank 60 -o rcv1.sketch",
    "cv rcv1.svm.gz --sketch rcv1.sketch --alphas 50 --radius realised,0.3*realised "
    "--scoring f1 -o rcv1.model",
    "info rcv1.model --top 3",
    "predict rcv1.model rcv1_test.svm.gz -o labels.csv",
    "loo rcv1.svm.gz --sketch rcv1.sketch --model rcv1.model --rows 500 --top 3",
    "certify rcv1.model rcv1.svm.gz --json",
    "sketch docword.nips.txt.gz --target-word learning --rank 60 -o nips.sketch",
    "fit docword.nips.txt.gz --target-word learning --sketch nips.sketch --alpha 8 --top 8 "
    "-o learning.model",
    "path docword.nips.txt.gz --target-word neuron --rank 80 --alphas 40,20,10,5",
    "predict learning.model docword.nips.txt.gz | head -2",
)
MISTAKES = (
    ("a missing file", "cv rcv2.svm.gz"),
    ("a truncated file", "cv cut.svm.gz"),
    ("a wrong target column", "fit houses.csv --target prise"),
    ("columns that cannot be used", "fit houses.csv --target price"),
    ("rank 0", "sketch rcv1.svm.gz --rank 0 -o zero.sketch"),
)
TOPICS = (
    "topics fit docword.nips.txt.gz --rank 50 -o nips.topics",
    "topics image nips.topics learning Vision eight --n-words 8",
    "topics image nips.topics neural network --together --exclude training --n-words 6",
    "topics all nips.topics -o nips.images",
    "topics list nips.topics --images nips.images",
    "topics export nips.topics --images nips.images --no-stability -o nips-topics -q",
    "topics graph nips.images -o nips.graphml --rule and --communities",
    "info nips.topics --top 3",
    "topics fit docword.blogs.txt.gz -o blogs.topics -q",
    "topics image nips.topics network --compare blogs.topics --n-words 5 --positive",
    "topics image nips.topics speech --n-words 3 --json",
)
TOPIC_MISTAKES = (
    ("a word that is not there", "topics image nips.topics lerning"),
    ("a missing model", "topics image nibs.topics learning"),
    ("images where a model belongs", "topics serve nips.images"),
    ("a damaged model", "topics all cut.topics -o cut.images"),
    ("a wrong column", "topics fit posts.jsonl --column bodi -o posts.topics"),
)


def prepare(folder: Path) -> None:
    """Write the files."""
    rcv1 = table_of("rcv1")
    rows = np.random.default_rng(0).permutation(rcv1.shape[0])[: TRAIN + TEST]
    for name, chosen in (("rcv1", rows[:TRAIN]), ("rcv1_test", rows[TRAIN:])):
        part = Table(rcv1.X[np.sort(chosen)], rcv1.y[np.sort(chosen)])
        write_table(folder / f"{name}.svm.gz", part)
    nips = table_of("nips_uci")
    counts = Table(nips.X[:DOCUMENTS], None, nips.feature_names)
    write_table(folder / "docword.nips.txt.gz", counts)
    whole = (folder / "rcv1.svm.gz").read_bytes()
    (folder / "cut.svm.gz").write_bytes(whole[: len(whole) // 3])
    write_houses(folder)


def write_houses(folder: Path) -> None:
    """Write rows of California housing with an id, to train on and new ones."""
    path = Path(os.environ["SKETCHLASSO_DATA"], "regression", "california_housing.npz")
    with np.load(path) as archive:
        stored = dict(archive)  # unpacked once, not at every use
    rows = np.random.default_rng(0).permutation(len(stored["y"]))[: HOUSES + 1000]
    names = ["id", *stored["names"], "ocean_proximity", "price"]
    for name, chosen in (("houses", rows[:HOUSES]), ("new", rows[HOUSES:])):
        with open(folder / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(names)
            for row in chosen:
                numbers = ["" if np.isnan(x) else f"{x:g}" for x in stored["X"][row]]
                writer.writerow(
                    [
                        f"block {row}",
                        *numbers,
                        stored["ocean_proximity"][row],
                        f"{stored['y'][row]:g}",
                    ]
                )


def prepare_topics(folder: Path) -> None:
    """Write the files of the page on topics."""
    for name, data_set in (("nips", "nips_uci"), ("blogs", "kos")):
        found = table_of(data_set)
        counts = Table(found.X, None, found.feature_names)
        write_table(folder / f"docword.{name}.txt.gz", counts)
    documents = ["the wave and the sea", "a wave at night"]
    TopicImager(rank=1).fit(documents).save(folder / "whole.topics")
    (folder / "cut.topics").write_bytes((folder / "whole.topics").read_bytes()[:-100])
    (folder / "posts.jsonl").write_text('{"body": "the sea"}\n{"body": "the wave"}\n')


def run(line: str, folder: Path) -> str:
    """Return what a person would see: the line, the output, the exit code."""
    program = f"{shlex.quote(sys.executable)} -m sketchlasso"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{program} {line}"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env={**os.environ, "SKETCHLASSO_DATA": ""},
    )
    return block(line, done.stdout, done.returncode, folder)


def block(line: str, said: str, code: int, folder: Path) -> str:
    """Return a command with its output and exit code as the page shows them."""
    said = said.replace("python -m sketchlasso", "sketchlasso")
    lines = said.replace(f"{folder}/", "").replace(str(folder), "FOLDER").splitlines()
    if len(lines) > LONGEST:
        lines = [*lines[:LONGEST], "..."]
    shown = [re.sub(r"[0-9a-f]{64}", "...", text) for text in lines]
    return "\n".join((f"$ sketchlasso {line}", *shown, f"[exit code {code}]"))


def page(
    folder: Path,
    title: str,
    data: str,
    work: tuple[str, ...],
    mistakes: tuple[tuple[str, str], ...],
) -> Iterator[str]:
    """The transcript, block by block."""
    yield f"# {title}"
    yield (
        f"Commands and their output, recorded by `docs/transcripts/record.py`: {data}. Output goes "
        f"to a pipe, so there are no bars and colours; it is cut after {LONGEST} lines."
    )
    for line in work:
        yield f"```\n{run(line, folder)}\n```"
    yield "## Five mistakes"
    for mistake, line in mistakes:
        yield f"{mistake.capitalize()}:\n\n```\n{run(line, folder)}\n```"


def main() -> None:
    """Print the page that was asked for."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if sys.argv[1:] == ["topics"]:
            prepare_topics(folder)
            data = "the NIPS papers and political blogs (kos) of UCI as bag-of-words"
            blocks = page(folder, "Topics from the shell", data, TOPICS, TOPIC_MISTAKES)
        else:
            prepare(folder)
            data = (
                f"{HOUSES} + 1000 rows of California housing as CSV, {TRAIN} + {TEST} rows of rcv1 "
                "as svmlight, the NIPS counts as bag-of-words"
            )
            blocks = page(folder, "The command line at work", data, WORK, MISTAKES)
        print("\n\n".join(blocks))


if __name__ == "__main__":
    main()
