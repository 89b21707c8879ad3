"""`sketchlasso topics image`: the words that explain a word."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import sketchlasso as sl
from sketchlasso.interfaces.commands.report import Report, Sheet
from sketchlasso.interfaces.commands.screen import Screen
from sketchlasso.interfaces.commands.topics.options import ImageOptions, TopicModel
from sketchlasso.interfaces.commands.topics.sheets import (
    compared_data,
    compared_sheet,
    document_sheet,
    image_data,
    image_sheet,
)

__all__ = ["ask", "image"]

COMPILING = "asking (a first run compiles for about ten seconds)"


def image(
    model: TopicModel,
    words: Annotated[
        list[str], typer.Argument(metavar="WORD", show_default=False, help="Words to ask for.")
    ],
    asked: ImageOptions,
    screen: Screen,
    together: Annotated[
        bool, typer.Option("--together", help="One image of all words instead of one each.")
    ] = False,
    documents: Annotated[
        int, typer.Option(help="How many documents behind each image to list.", min=0)
    ] = 0,
    compare: Annotated[
        Path | None,
        typer.Option(metavar="MODEL2", help="Another model: the same words in both corpora."),
    ] = None,
) -> Report:
    """Show the few words that explain a word.

    A plus comes along with the word, a minus keeps away from it.
    """
    if compare is not None and documents:
        raise sl.InvalidInputError(
            "--documents was given with --compare, which shows words only; leave one of them out."
        )
    imager = sl.load_topics(model)
    queries: list[str | list[str]] = [words] if together else list(words)
    with screen.waiting(COMPILING):
        images = ask(imager, queries, asked)
        if compare is not None:
            others = _elsewhere(compare, queries, asked)
    told: dict[str, Any] = {"command": "topics image", "model": str(model)}
    if compare is not None:
        pairs = [sl.ComparedImages.of(*pair) for pair in zip(images, others, strict=True)]
        told |= {"compared_with": str(compare), "compared": list(map(compared_data, pairs))}
        return Report(told, sheets=tuple(compared_sheet(pair, model, compare) for pair in pairs))
    behind = [imager.documents(one, documents) if documents else [] for one in images]
    told["images"] = [image_data(*pair) for pair in zip(images, behind, strict=True)]
    return Report(told, sheets=tuple(_sheets(images, behind)))


def ask(
    imager: sl.TopicImager, queries: list[str | list[str]], asked: ImageOptions
) -> list[sl.TopicImage]:
    """Return one image a query, each with the time of its own answer."""
    arguments = asked.arguments()
    # The first answer of a process waits for compiled code, which is not what is told.
    imager.image(queries[0], **arguments)
    return [imager.image(query, **arguments) for query in queries]


def _elsewhere(
    path: Path, queries: list[str | list[str]], asked: ImageOptions
) -> list[sl.TopicImage]:
    """Ask another model; of a word that it lacks the sentence says whose word it is."""
    other = sl.load_topics(path)
    try:
        return ask(other, queries, asked)
    except sl.UnknownWordError as unknown:
        raise sl.InvalidInputError(f"in {path} {unknown}") from unknown


def _sheets(images: list[sl.TopicImage], behind: list[list[sl.DocumentMatch]]) -> list[Sheet]:
    sheets = []
    for one, documents in zip(images, behind, strict=True):
        sheets.append(image_sheet(one))
        if documents:
            sheets.append(document_sheet(one, documents))
    return sheets
