"""`sketchlasso topics all` and `graph`: every word's image, and what they form together."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

import sketchlasso as sl
from sketchlasso.interfaces.commands.options import Scheduler, Seed, WorkerTimeout, on_scheduler
from sketchlasso.interfaces.commands.report import Report, Sheet
from sketchlasso.interfaces.commands.screen import Screen
from sketchlasso.interfaces.commands.topics.options import NWords, Positive, Radius, TopicModel
from sketchlasso.interfaces.exits import Interrupted

__all__ = ["graph", "image_all", "images_data", "images_facts"]

ENDINGS = (".graphml", ".json", ".csv", ".csv.gz")
COMMUNITIES_SHOWN, MEMBERS_SHOWN = 12, 8


def image_all(
    model: TopicModel,
    screen: Screen,
    output: Annotated[
        Path, typer.Option("--output", "-o", show_default=False, help="The images file to write.")
    ],
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
    imager = sl.load_topics(model)
    if device is not None:
        imager.set_params(device=device)
    start = perf_counter()
    try:
        counting = screen.counting("imaging every word", "words")
        with on_scheduler(scheduler, worker_timeout), counting as count:
            images = imager.image_all(
                output,
                n_words,
                radius=radius,
                positive=True if positive else None,
                progress=count,
            )
    except Interrupted:
        raise Interrupted(
            f"interrupted; what is finished lies beside {output}, and the same command goes on "
            "from there."
        ) from None
    seconds = perf_counter() - start
    return Report(
        {
            "command": "topics all",
            "output": str(output),
            "seconds": seconds,
            **images_data(images),
        },
        facts=(*images_facts(images), ("seconds", f"{seconds:.2f}"), ("wrote", str(output))),
    )


def graph(
    images: Annotated[
        Path,
        typer.Argument(metavar="IMAGES", show_default=False, help="A file written by topics all."),
    ],
    screen: Screen,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            show_default=False,
            help="The graph to write: .graphml, .json (nodes and links) or .csv (links only).",
        ),
    ],
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
    ending = _ending(output, communities)
    stored = sl.load_images(images)
    joined = sl.word_graph(
        stored.weights,
        stored.words,
        rule,  # type: ignore[arg-type]
        drop_isolated=drop_isolated,
    )
    groups = joined.communities(random_state=seed) if communities else None
    _write(joined, groups, output, ending)
    members = None if groups is None else _members(joined, groups)
    alone = int(np.count_nonzero(joined.degrees == 0))
    either = "either" if rule == "or" else "each"
    return Report(
        {
            "command": "topics graph",
            "output": str(output),
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
            ("wrote", str(output)),
        ),
        sheets=() if members is None else (_sheet(members),),
    )


def images_data(images: sl.WordImages) -> dict[str, Any]:
    """Describe images for machines."""
    return {
        "n_vocabulary": len(images.words),
        "n_weights": int(images.weights.nnz),
        "n_words": images.n_words,
        "worst_gap": float(images.gap.max()),
        "settings": images.settings,
    }


def images_facts(images: sl.WordImages) -> tuple[tuple[str, str], ...]:
    """Tell what a file of images holds."""
    return (
        ("words", f"{len(images.words)}, each explained by at most {images.n_words} others"),
        ("weights", f"{images.weights.nnz}"),
        ("gap", f"{float(images.gap.max()):.1e} at worst"),
    )


def _ending(output: Path, communities: bool) -> str:
    """Return how the file's name ends, which says what to write."""
    ending = next((one for one in ENDINGS if output.name.lower().endswith(one)), None)
    if ending is None:
        raise sl.InvalidInputError(
            f"--output {output} was given, but the ending says what to write; end it in .graphml, "
            ".json or .csv."
        )
    if communities and ending.startswith(".csv"):
        raise sl.InvalidInputError(
            f"--communities was given, but {output} is a list of links without a place for them; "
            "write .graphml or .json."
        )
    return ending


def _write(joined: sl.WordGraph, groups: Any, output: Path, ending: str) -> None:
    attributes = None if groups is None else {"community": groups}
    if ending == ".graphml":
        joined.to_graphml(output, attributes)
    elif ending == ".json":
        joined.to_json(output, attributes)
    else:
        joined.to_csv(output)


def _members(joined: sl.WordGraph, groups: Any) -> list[dict[str, Any]]:
    """Every community with its size and its most linked words."""
    degrees, words = joined.degrees, np.array(joined.words)
    found = []
    for label in range(int(groups.max(initial=-1)) + 1):
        inside = np.flatnonzero(groups == label)
        best = inside[np.argsort(-degrees[inside], kind="stable")[:MEMBERS_SHOWN]]
        found.append({"size": len(inside), "words": words[best].tolist()})
    return found


def _sheet(communities: list[dict[str, Any]]) -> Sheet:
    shown = communities[:COMMUNITIES_SHOWN]
    title = f"{len(shown)} of {len(communities)} communities, the most linked words of each"
    rows = tuple((one["size"], ", ".join(one["words"])) for one in shown)
    return Sheet(title, ("words", "such as"), rows)
