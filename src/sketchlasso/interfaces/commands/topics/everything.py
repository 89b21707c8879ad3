"""`sketchlasso topics all` and `graph`: every word's image, and what they form together."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

import sketchlasso as sl
from sketchlasso.interfaces.commands.graph_files import (
    GraphFile,
    check_graph_file,
    communities_sheet,
    members_of,
    write_graph,
)
from sketchlasso.interfaces.commands.options import Scheduler, Seed, WorkerTimeout, on_scheduler
from sketchlasso.interfaces.commands.outputs import output_option
from sketchlasso.interfaces.commands.report import Report, wrote
from sketchlasso.interfaces.commands.screen import Screen
from sketchlasso.interfaces.commands.topics.options import NWords, Positive, Radius, TopicModel
from sketchlasso.interfaces.exits import resumable

__all__ = ["graph", "image_all", "images_data", "images_facts"]


def image_all(
    model: TopicModel,
    screen: Screen,
    output: Annotated[Path, output_option("The images file to write.")],
    n_words: NWords = 10,
    radius: Radius = None,
    positive: Positive = False,
    scheduler: Scheduler = None,
    worker_timeout: WorkerTimeout = None,
    device: Annotated[
        str | None, typer.Option(help="cpu, cuda or auto; as the model was made by default.")
    ] = None,
) -> Report:
    """Image every word of the vocabulary.

    What was stopped, by Ctrl-C or by an accident, goes on with the same command.
    """
    imager = sl.topics.load_topics(model)
    if device is not None:
        imager.set_params(device=device)
    start = perf_counter()
    counting = screen.counting("imaging every word", "words")
    with resumable(output), on_scheduler(scheduler, worker_timeout), counting as count:
        images = imager.image_all(
            output,
            n_words,
            radius=radius,
            positive=True if positive else None,
            progress=count,
        )
    seconds = perf_counter() - start
    return Report(
        {
            "command": "topics all",
            "output": output,
            "seconds": seconds,
            **images_data(images),
        },
        facts=(*images_facts(images), ("seconds", f"{seconds:.2f}"), *wrote(output)),
    )


def graph(
    images: Annotated[
        Path,
        typer.Argument(metavar="IMAGES", show_default=False, help="A file written by topics all."),
    ],
    screen: Screen,
    output: GraphFile,
    rule: Annotated[
        str,
        typer.Option(help="Link words if either (or) or each (and) is in the other's image."),
    ] = "or",
    communities: Annotated[
        bool, typer.Option("--communities", help="Find groups of words, and write them too.")
    ] = False,
    drop_isolated: Annotated[
        bool, typer.Option("--drop-isolated", help="Leave out words without links.")
    ] = False,
    seed: Seed = 0,
) -> Report:
    """Join the images of all words into one graph."""
    check_graph_file(output, communities)
    stored = sl.topics.load_images(images)
    joined = sl.topics.word_graph(
        stored.weights,
        stored.words,
        rule,  # type: ignore[arg-type]
        drop_isolated=drop_isolated,
    )
    groups = joined.communities(random_state=seed) if communities else None
    write_graph(joined, groups, output)
    members = None if groups is None else members_of(joined, groups)
    alone = int(np.count_nonzero(joined.degrees == 0))
    either = "either" if rule == "or" else "each"
    return Report(
        {
            "command": "topics graph",
            "output": output,
            "rule": rule,
            "n_words": len(joined.words),
            "n_links": len(joined.edges),
            "n_isolated": alone,
            "communities": members,
        },
        facts=(
            ("words", f"{len(joined.words)}, {alone} of them without links"),
            ("links", f"{len(joined.edges)}, if {either} word names the other"),
            *(() if members is None else (("communities", str(len(members))),)),
            *wrote(output),
        ),
        sheets=() if members is None else (communities_sheet(members, "words"),),
    )


def images_data(images: sl.topics.WordImages) -> dict[str, Any]:
    """Describe images for machines."""
    return {
        "n_vocabulary": len(images.words),
        "n_weights": int(images.weights.nnz),
        "n_words": images.n_words,
        "worst_gap": float(images.gap.max()),
        "settings": images.settings,
    }


def images_facts(images: sl.topics.WordImages) -> tuple[tuple[str, str], ...]:
    """Show what a file of images holds."""
    return (
        ("words", f"{len(images.words)}, each explained by at most {images.n_words} others"),
        ("weights", f"{images.weights.nnz}"),
        ("gap", f"{float(images.gap.max()):.1e} at worst"),
    )
