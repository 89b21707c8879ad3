"""`sketchlasso topics fit`: read documents and sketch them once."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

import sketchlasso as sl
from sketchlasso.interfaces.commands.options import Seed, Threads
from sketchlasso.interfaces.commands.outputs import output_option
from sketchlasso.interfaces.commands.report import Report, wrote
from sketchlasso.interfaces.commands.screen import Screen
from sketchlasso.interfaces.commands.topics.options import CorpusOptions, Positive, read_source
from sketchlasso.interfaces.commands.topics.sheets import corpus_facts
from sketchlasso.interfaces.commands.wording import program

__all__ = ["fit", "model_data"]


def fit(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE",
            show_default=False,
            help="A folder of text files; JSON Lines, CSV, TSV, Parquet or Arrow with a column of "
            "text; a .txt with one document per line; counts (docword.NAME.txt, npz, mtx, svm).",
        ),
    ],
    corpus: CorpusOptions,
    screen: Screen,
    output: Annotated[Path, output_option("The model file to write.")],
    rank: Annotated[
        int, typer.Option(help="Rank of the sketch; more for finer topics.", min=1)
    ] = 50,
    weighting: Annotated[str, typer.Option(help="tfidf, log, counts or length.")] = "tfidf",
    scale: Annotated[
        bool, typer.Option("--scale", help="Bring words to one spread: rare ones gain.")
    ] = False,
    radius: Annotated[
        str,
        typer.Option(
            help="auto, realised, spectral, a multiple such as 0.03*spectral, or a number."
        ),
    ] = "auto",
    positive: Positive = False,
    threads: Threads = -1,
    seed: Seed = 0,
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto: a GPU if there is one.")] = "cpu",
) -> Report:
    """Read documents and make a model of their words.

    The model answers topics image, all and serve, and keeps documents and settings.
    """
    start = perf_counter()
    left_out = corpus.words_left_out()
    with screen.waiting(f"reading {source}"):
        found = read_source(source, corpus)
    with screen.waiting(f"sketching {found.shape[0]} documents x {found.shape[1]} words"):
        imager = sl.topics.TopicImager(
            rank=rank,
            weighting=weighting,  # type: ignore[arg-type]
            scale=scale,
            radius=_number(radius),
            positive=positive,
            min_documents=corpus.min_documents,
            max_share=corpus.max_share,
            stop_words=left_out,
            n_jobs=threads,
            random_state=seed,
            device=device,
        ).fit(found)
    imager.save(output)
    return _report(imager, found.shape[1], output, perf_counter() - start)


def model_data(imager: sl.topics.TopicImager) -> dict[str, Any]:
    """Describe an imager for machines."""
    documents, words = imager.corpus_.shape
    return {
        "n_documents": documents,
        "n_words": words,
        "source": imager.corpus_.source,
        "corpus_settings": dict(imager.corpus_.settings),
        "settings": {
            name: str(value) if name == "radius" else value
            for name, value in imager.get_params().items()
        },
        "rank": imager.sketch_.rank,
        "sketch_radius": imager.sketch_.radius,
    }


def _report(
    imager: sl.topics.TopicImager, words_before: int, output: Path, seconds: float
) -> Report:
    return Report(
        {
            "command": "topics fit",
            "output": output,
            "words_before": words_before,
            "seconds": seconds,
            **model_data(imager),
        },
        facts=(*corpus_facts(imager), ("seconds", f"{seconds:.2f}"), *wrote(output)),
        closing=f"ask it: {program()} topics image {output} {_example(imager)}",
    )


def _number(radius: str) -> float | str:
    """A number where it is one; the library knows the names."""
    try:
        return float(radius)
    except ValueError:
        return radius


def _example(imager: sl.topics.TopicImager) -> str:
    """A word in the middle of the frequent ones: neither everywhere nor nowhere."""
    order = (-imager.document_frequency_).argsort(kind="stable")
    return str(imager.words_[order[len(order) // 10]])
