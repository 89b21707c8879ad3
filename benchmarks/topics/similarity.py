"""Word similarity as people see it: rank correlation with WordSim-353 and SimLex-999.

Both sets are in gensim's wheel, which is downloaded for this, not installed. `spearman` compares
the judgements of people with the scores of a contender, over the pairs that the corpus knows:
cosine, covariance or correlation of two words in the sketch, cosine of their raw columns, and the
cosine of their images of 50 words (each word counting as a full part of its own image). The
correlation is the covariance of columns of length one, from which images are made by default.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse, stats

from benchmarks.catalogue import MissingDataError
from benchmarks.topics.coherence import unit
from benchmarks.topics.corpora import corpus
from sketchlasso.topics import TopicImager

# Files in the wheel: two words and the judgement, separated by tabs.
SETS = {
    "wordsim353": "gensim/test/test_data/wordsim353.tsv",
    "simlex999": "gensim/test/test_data/simlex999.txt",
}
IMAGE_WORDS = 50


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", nargs="+", default=["imdb"], help="corpora")
    parser.add_argument("--wheel", type=Path, help="gensim's wheel; downloaded by default")
    parser.add_argument("--ranks", type=int, nargs="+", default=[50, 200])
    parser.add_argument("--documents", type=int, default=30_000, help="at most so many documents")


def run(options: argparse.Namespace) -> None:
    """One row per corpus, rank, set and contender."""
    judged = read_sets(options.wheel)
    for name in options.data:
        whole = corpus(name, 2000 if options.quick else options.documents)
        for rank in options.ranks:
            imager = TopicImager(rank=rank, random_state=0).fit(whole)
            place = {str(word): number for number, word in enumerate(imager.words_)}
            for title, pairs in judged.items():
                known = [(place[a], place[b], s) for a, b, s in pairs if a in place and b in place]
                first, second, people = (np.array(part) for part in zip(*known, strict=True))
                for who, scores in contenders(imager, first, second):
                    options.report.add(
                        data=name,
                        rank=rank,
                        set=title,
                        who=who,
                        spearman=float(stats.spearmanr(scores, people).statistic),
                        pairs=len(known),
                    )


def read_sets(wheel: Path | None) -> dict[str, list[tuple[str, str, float]]]:
    """Pairs of words in small letters, with the judgement of people."""
    with tempfile.TemporaryDirectory() as folder:
        path = downloaded(Path(folder)) if wheel is None else wheel
        with zipfile.ZipFile(path) as archive:
            return {
                title: list(pairs_of(archive.read(file).decode("utf-8")))
                for title, file in SETS.items()
            }


def downloaded(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "-q", "-d", str(folder)]
    done = subprocess.run([*command, "gensim"], check=False, capture_output=True, text=True)
    found = list(folder.glob("gensim-*.whl"))
    if done.returncode or not found:
        raise MissingDataError("gensim's wheel could not be downloaded; give its path with --wheel")
    return found[0]


def pairs_of(text: str) -> Iterator[tuple[str, str, float]]:
    """Lines of two words and a number; others are comments."""
    for line in text.splitlines():
        if not line.startswith("#") and line.strip():
            first, second, score = line.split("\t")[:3]
            yield first.strip().lower(), second.strip().lower(), float(score)


def contenders(
    imager: TopicImager, first: np.ndarray, second: np.ndarray
) -> Iterator[tuple[str, np.ndarray]]:
    """Every way to score pairs of words (their columns)."""
    P = np.asarray(imager.sketch_.P)
    directions = unit(P)
    yield "covariance in the sketch", np.einsum("ij,ij->i", P[first], P[second])
    along = P / column_lengths(imager.weights_)[:, None]
    yield "correlation in the sketch", np.einsum("ij,ij->i", along[first], along[second])
    yield "LSA cosine", np.einsum("ij,ij->i", directions[first], directions[second])
    columns = sparse.csc_array(imager.weights_)
    yield "raw cosine", cosines(columns.T.tocsr(), first, second)
    for positive in (False, True):
        named = "cosine of images, positive" if positive else "cosine of images"
        yield named, cosines(images_of(imager, first, second, positive), first, second)


def column_lengths(weights: Any) -> np.ndarray:
    """Lengths (n,) of the centred columns of weights (m, n)."""
    squares = np.asarray(weights.multiply(weights).sum(axis=0)).ravel()
    sums = np.asarray(weights.sum(axis=0)).ravel()
    return np.sqrt(np.maximum(squares - sums**2 / weights.shape[0], 1e-300))


def images_of(
    imager: TopicImager, first: np.ndarray, second: np.ndarray, positive: bool
) -> sparse.csr_array[Any]:
    """Images (words, words) of the words asked for, as parts of unit length, plus themselves."""
    asked = np.unique(np.concatenate([first, second]))
    words = [str(word) for word in imager.words_[asked]]
    place = {str(word): number for number, word in enumerate(imager.words_)}
    shape = (len(place), len(place))
    rows = sparse.lil_array(shape)
    for row, image in zip(
        asked, imager.images(words, IMAGE_WORDS, positive=positive, judge=False), strict=True
    ):
        rows[row, row] = 1.0
        largest = np.abs(image.weights).max(initial=1e-300)
        for word, weight in zip(image.words, image.weights, strict=True):
            rows[row, place[word]] = weight / largest
    return rows.tocsr()


def cosines(rows: Any, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Cosines of pairs of sparse rows."""
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    product = np.asarray(rows[first].multiply(rows[second]).sum(axis=1)).ravel()
    return product / np.maximum(lengths[first] * lengths[second], 1e-300)
