"""`sketchlasso topics list` and `export`: topics to begin with, and all of them as files."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

import sketchlasso as sl
from sketchlasso.interfaces.commands.options import Seed
from sketchlasso.interfaces.commands.outputs import output_option
from sketchlasso.interfaces.commands.report import Report, Sheet
from sketchlasso.interfaces.commands.screen import Screen
from sketchlasso.interfaces.commands.topics.options import TopicModel
from sketchlasso.interfaces.exports import export_topics, topic_data

__all__ = ["export", "list_topics"]

Images = Annotated[
    Path | None,
    typer.Option(
        metavar="IMAGES", help="A file written by topics all; without it every word is imaged."
    ),
]
Resolution = Annotated[
    float, typer.Option(help="Above 1 for more and smaller topics, below 1 for fewer.", min=1e-3)
]
Stability = Annotated[
    bool,
    typer.Option(
        "--stability/--no-stability", help="Make the topics again from half of the documents."
    ),
]
COLUMNS = ("topic", "label", "words", "documents", "stable", "such as")


def list_topics(
    model: TopicModel,
    screen: Screen,
    images: Images = None,
    resolution: Resolution = 1.0,
    stability: Stability = True,
    seed: Seed = 0,
) -> Report:
    """List the topics of a corpus.

    A topic is a group of words that explain each other. Its label are the words that set it apart;
    stable is how often they come together again in half of the documents.
    """
    _, _, found = _found(model, images, resolution, stability, seed, screen)
    sheets = [Sheet(f"{len(found)} topics", COLUMNS, tuple(map(_row, enumerate(found.topics, 1))))]
    data: dict[str, Any] = {"command": "topics list", "topics": list(map(topic_data, found.topics))}
    if found.groups is not None:
        names, shares = found.over()
        rows = tuple(
            (name, *(f"{100 * share:.0f} %" for share in row))
            for name, row in zip(names, shares, strict=True)
        )
        numbers = tuple(map(str, range(1, len(found) + 1)))
        sheets.append(Sheet("share of each topic by group", ("group", *numbers), rows))
        data["over"] = {"groups": names, "shares": shares}
    return Report(data, sheets=tuple(sheets))


def export(
    model: TopicModel,
    screen: Screen,
    output: Annotated[Path, output_option("The folder to write to.")],
    images: Images = None,
    resolution: Resolution = 1.0,
    stability: Stability = True,
    seed: Seed = 0,
) -> Report:
    """Write topics, words and documents to a folder.

    Tables as CSV, all of it as JSON, the map as SVG and PNG, and one HTML file that works offline.
    """
    imager, stored, found = _found(model, images, resolution, stability, seed, screen)
    written = export_topics(output, imager, stored, found)
    return Report(
        {
            "command": "topics export",
            "output": output,
            "files": written,
            "n_topics": len(found),
        },
        facts=(("topics", str(len(found))), ("wrote", f"{output}: {', '.join(written)}")),
        closing=f"open {output / 'topics.html'} in a browser; it needs no server",
    )


def _found(
    model: Path, images: Path | None, resolution: float, stability: bool, seed: int, screen: Screen
) -> tuple[sl.topics.TopicImager, sl.topics.WordImages, sl.topics.Topics]:
    imager = sl.topics.load_topics(model)
    if images is None:
        with screen.counting("imaging every word", "words") as count:
            stored = imager.image_all(progress=count)
    else:
        stored = sl.topics.load_images(images)
    with screen.counting("imaging every word from half of the documents", "words") as count:
        found = sl.topics.find_topics(
            imager,
            stored,
            resolution=resolution,
            stability=stability,
            random_state=seed,
            progress=count,
        )
    return imager, stored, found


def _row(numbered: tuple[int, sl.topics.Topic]) -> tuple[Any, ...]:
    number, topic = numbered
    stable = "-" if math.isnan(topic.stability) else f"{100 * topic.stability:.0f} %"
    example = topic.examples[0].title if topic.examples else ""
    return number, str(topic), len(topic.words), topic.n_documents, stable, example
