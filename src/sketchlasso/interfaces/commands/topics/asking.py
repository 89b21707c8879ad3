"""`sketchlasso topics image`: the words that explain a word."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError, MissingExtraError
from sketchlasso.interfaces.commands.outputs import check_outputs, plot_option, save_picture
from sketchlasso.interfaces.commands.report import Report, Sheet, wrote
from sketchlasso.interfaces.commands.screen import Screen
from sketchlasso.interfaces.commands.topics.options import ImageOptions, TopicModel
from sketchlasso.interfaces.commands.topics.sheets import (
    advice_lines,
    compared_data,
    compared_sheet,
    document_sheet,
    image_data,
    image_sheet,
    name_of,
)
from sketchlasso.interfaces.exports.pictures import image_figure

__all__ = ["ask", "image"]

COMPILING = "asking (a first run compiles for up to twenty seconds)"


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
    plot: Annotated[
        Path | None,
        plot_option("Picture of the images"),
    ] = None,
) -> Report:
    """Show the few words that explain a word.

    A plus comes along with the word, a minus keeps away from it. Words that the model does not
    have are named, and the others are answered.
    """
    if compare is not None and documents:
        raise InvalidInputError(
            "--documents was given with --compare, which shows words only; leave one of them out."
        )
    check_outputs(None, plot)
    imager = sl.topics.load_topics(model)
    queries: list[str | list[str]] = [words] if together else list(words)
    with screen.waiting(COMPILING):
        images, unknown = ask(imager, queries, asked)
        pairs, lacking = ([], []) if compare is None else _pairs(compare, images, asked)
    for missing in (*unknown, *lacking):
        warnings.warn(str(missing), stacklevel=1)
    found: dict[str, Any] = {
        "command": "topics image",
        "model": str(model),
        "unknown": [missing.word for missing in unknown],
    }
    if compare is not None:
        named = [
            [
                (f"{name_of(pair.first)} in {model.name}", pair.first),
                (f"{name_of(pair.first)} in {compare.name}", pair.second),
            ]
            for pair in pairs
        ]
        drawn = _draw(named, plot)
        found |= {"compared_with": str(compare), "compared": list(map(compared_data, pairs))}
        sheets = tuple(compared_sheet(pair, model, compare) for pair in pairs)
        return Report(found, facts=drawn, sheets=sheets)
    behind = [imager.documents(one, documents) if documents else [] for one in images]
    found["images"] = [image_data(*pair) for pair in zip(images, behind, strict=True)]
    drawn = _draw([[(name_of(one), one)] for one in images], plot)
    sheets = tuple(_sheets(images, behind))
    return Report(found, facts=drawn, sheets=sheets, closing=advice_lines(images))


def _draw(
    rows: list[list[tuple[str, sl.topics.TopicImage]]], path: Path | None
) -> tuple[tuple[str, str], ...]:
    """Draw images to a file, where one was asked for."""
    if path is None:
        return ()
    try:
        figure = image_figure(rows)
    except ModuleNotFoundError as missing:
        raise MissingExtraError("--plot", str(missing.name), "plot") from missing
    save_picture(figure.axes[0], path)
    return wrote(path)


def ask(
    imager: sl.topics.TopicImager, queries: Sequence[str | list[str]], asked: ImageOptions
) -> tuple[list[sl.topics.TopicImage], list[sl.errors.UnknownWordError]]:
    """Return one image per query with known words, and what is wrong with the others.

    Raises
    ------
    UnknownWordError
        No query has known words.
    """
    arguments = asked.arguments()
    images: list[sl.topics.TopicImage] = []
    unknown: list[sl.errors.UnknownWordError] = []
    for query in queries:
        try:
            if not images:
                # The first answer of a process waits for compiled code, which is not its own time.
                imager.image(query, **arguments)
            images.append(imager.image(query, **arguments))
        except sl.errors.UnknownWordError as missing:
            unknown.append(missing)
    if not images:
        raise unknown[0]
    return images, unknown


def _pairs(
    path: Path, images: Sequence[sl.topics.TopicImage], asked: ImageOptions
) -> tuple[list[sl.topics.ComparedImages], list[InvalidInputError]]:
    """Compare images with those of another model; words it lacks are named with the model."""
    other = sl.topics.load_topics(path)
    pairs, lacking = [], []
    for image in images:
        try:
            again = other.image(list(image.query), **asked.arguments())
            pairs.append(sl.topics.ComparedImages.of(image, again))
        except sl.errors.UnknownWordError as missing:
            lacking.append(InvalidInputError(f"in {path} {missing}"))
    if not pairs:
        raise lacking[0]
    return pairs, lacking


def _sheets(
    images: list[sl.topics.TopicImage], behind: list[list[sl.topics.DocumentMatch]]
) -> list[Sheet]:
    sheets = []
    for one, documents in zip(images, behind, strict=True):
        sheets.append(image_sheet(one))
        if documents:
            sheets.append(document_sheet(one, documents))
    return sheets
