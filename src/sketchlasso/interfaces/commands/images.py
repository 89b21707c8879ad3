"""`sketchlasso topics image`, `all` and `graph`: images of words, and the graph they form."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import typer

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError, MissingExtraError, UnknownWordError
from sketchlasso.interfaces.cli import resumable
from sketchlasso.interfaces.commands import outputs
from sketchlasso.interfaces.commands.options import ClusterOptions, Seed
from sketchlasso.interfaces.commands.screen import Bar, Report, Screen, Sheet, facts_of, sheet_of
from sketchlasso.interfaces.exports import image_figure

TopicModel = Annotated[Path, typer.Argument(metavar="MODEL", help="A file written by topics fit.")]
NWords = Annotated[int, "How many words an image has."]
Radius = Annotated[
    str | None,
    "auto, realised, spectral, a multiple such as 0.03*spectral, or a number; that of the fit by "
    "default.",
]
Positive = Annotated[bool, "Only words that occur together with it (positive weights)."]


@dataclass(frozen=True)
class ImageOptions:
    """How an image is computed."""

    panel: ClassVar[str] = "Image"
    n_words: NWords = 10
    alpha: Annotated[
        float | None,
        "The penalty; by default the one that leaves as many words as --n-words.",
    ] = None
    radius: Radius = None
    positive: Positive = False
    exclude: Annotated[list[str] | None, "A word that may not be used; may be repeated."] = None

    def arguments(self) -> dict[str, Any]:
        """Return keyword arguments of :meth:`TopicImager.image`."""
        positive, exclude = True if self.positive else None, tuple(self.exclude or ())
        return {**asdict(self), "positive": positive, "exclude": exclude}


def image(
    model: TopicModel,
    words: Annotated[list[str], typer.Argument(metavar="WORD", help="Words to ask for.")],
    asked: ImageOptions,
    picture: outputs.PlotOptions,
    screen: Screen,
    together: Annotated[bool, "One image of all words instead of one each."] = False,
    documents: Annotated[
        int, typer.Option(help="How many documents behind each image to list.", min=0)
    ] = 0,
    compare: Annotated[
        Path | None,
        typer.Option(metavar="MODEL2", help="Another model: the same words in both corpora."),
    ] = None,
) -> Report:
    """Show the few words that explain a word.

    Words with a plus occur together with it, words with a minus without it. Words that are not in
    the model are reported, and the others are answered.
    """
    if compare is not None and documents:
        raise InvalidInputError(
            "--documents cannot be combined with --compare, which shows words only; leave out one "
            "of the two."
        )
    imager = sl.topics.load_topics(model)
    with screen.watching("asking"):
        images, unknown = ask(imager, [words] if together else list(words), asked)
    if compare is not None:
        return _compared(images, unknown, model, compare, asked, picture)
    sheets: list[Sheet] = []
    listed = []
    for one in images:
        matches = imager.documents(one, documents) if documents else []
        listed.append(image_data(one, matches))
        sheets.append(image_sheet(one))
        sheets += sheet_of(
            f"{name_of(one)}: documents behind it",
            (
                ("score", [match.score for match in matches]),
                ("document", [m.title for m in matches]),
            ),
            range(len(matches)),
        )
    _draw([[(name_of(one), one)] for one in images], picture)
    advice = [f"{name_of(one)} is weak: {one.advice}" for one in images if one.advice]
    data = {"model": model, "unknown": unknown, "images": listed}
    return Report(data, sheets=tuple(sheets), closing="\n".join(advice))


def _compared(
    images: list[sl.topics.TopicImage],
    unknown: list[str],
    model: Path,
    compare: Path,
    asked: ImageOptions,
    picture: outputs.PlotOptions,
) -> Report:
    """Compare images with those of the same words in another model, shared words first."""
    other = sl.topics.load_topics(compare)
    others, missing = ask(other, [list(one.query) for one in images], asked)
    sheets: list[Sheet] = []
    listed, rows = [], []
    for one in images:
        again = next((image for image in others if image.query == one.query), None)
        if again is None:
            continue
        pair, name = sl.topics.ComparedImages(one, again), name_of(one)
        words = (*pair.shared, *pair.only_first, *pair.only_second)
        sides = [dict(zip(side.words, side.weights, strict=True)) for side in (one, again)]
        columns: list[tuple[str, Any]] = [("word", words)]
        for file, side in zip((model, compare), sides, strict=True):
            columns.append((file.name, [_weight(side[w]) if w in side else "" for w in words]))
        title = f"{name}: {len(pair.shared)} of {len(words)} words shared"
        sheets += sheet_of(title, columns, range(len(words)))
        listed.append(
            {
                "first": image_data(one),
                "second": image_data(again),
                "shared": pair.shared,
                "only_first": pair.only_first,
                "only_second": pair.only_second,
                "overlap": pair.overlap,
            }
        )
        rows.append([(f"{name} in {model.name}", one), (f"{name} in {compare.name}", again)])
    _draw(rows, picture)
    data = {"model": model, "unknown": [*unknown, *missing], "compared_with": compare}
    return Report({**data, "compared": listed}, sheets=tuple(sheets))


def _draw(rows: list[list[tuple[str, sl.topics.TopicImage]]], picture: outputs.PlotOptions) -> None:
    """Draw images to a file, if one was given."""
    if picture.plot is None:
        return
    try:
        figure = image_figure(rows)
    except ModuleNotFoundError as missing:
        raise MissingExtraError("--plot", str(missing.name), "plot") from missing
    picture.save(figure.axes[0])


def ask(
    imager: sl.topics.TopicImager, queries: Sequence[str | list[str]], asked: ImageOptions
) -> tuple[list[sl.topics.TopicImage], list[str]]:
    """Return one image per query with known words; warn of the other words, and return them.

    Raises an UnknownWordError if no query has known words.
    """
    images: list[sl.topics.TopicImage] = []
    unknown: list[UnknownWordError] = []
    left = list(queries)
    while left:
        query = left.pop(0)
        try:
            images.append(imager.image(query, **asked.arguments()))
        except UnknownWordError as missing:
            if missing.parameter is not None:
                raise
            unknown.append(missing)
            known = [] if isinstance(query, str) else [w for w in query if w != missing.word]
            if known:
                left.insert(0, known)
    if not images:
        raise unknown[0]
    for error in unknown:
        warnings.warn(str(error), stacklevel=2)
    return images, [error.word for error in unknown]


def image_all(
    model: TopicModel,
    where: ClusterOptions,
    screen: Screen,
    output: Annotated[Path, "The images file to write."],
    n_words: NWords = 10,
    radius: Radius = None,
    positive: Positive = False,
    device: Annotated[str | None, "cpu, cuda or auto; as the model was made by default."] = None,
) -> Report:
    """Image every word of the vocabulary.

    After an interruption, run the same command again to resume.
    """
    imager = sl.topics.load_topics(model)
    if device is not None:
        imager.set_params(device=device)
    start = perf_counter()
    counting = screen.counting("imaging every word", "words")
    with resumable(output), where.cluster(), counting as count:
        images = imager.image_all(
            output,
            n_words,
            radius=radius,
            positive=True if positive else None,
            progress=count,
        )
    data = {**images_data(images), "seconds": perf_counter() - start}
    return Report(data, facts_of(data))


def graph(
    images: Annotated[Path, typer.Argument(metavar="IMAGES", help="A file written by topics all.")],
    screen: Screen,
    output: outputs.GraphFile,
    rule: Annotated[
        Literal["or", "and"], "Link words if either (or) or each (and) is in the other's image."
    ] = "or",
    communities: Annotated[bool, "Find groups of words, and write them too."] = False,
    drop_isolated: Annotated[bool, "Leave out words without links."] = False,
    seed: Seed = 0,
) -> Report:
    """Join the images of all words into one graph."""
    outputs.check_graph_file(output, communities)
    stored = sl.topics.load_images(images)
    joined = sl.topics.word_graph(stored.weights, stored.words, rule, drop_isolated=drop_isolated)
    return outputs.write_graph(joined, output, communities, seed)


def images_data(images: sl.topics.WordImages) -> dict[str, Any]:
    """Describe images for machines."""
    return {
        "n_vocabulary": len(images.words),
        "n_weights": int(images.weights.nnz),
        "n_words": images.n_words,
        "worst_gap": float(images.gap.max()),
        "settings": images.settings,
    }


def image_sheet(image: sl.topics.TopicImage) -> Sheet:
    """Return the table of one image: every word with its weight and a bar."""
    longest = float(np.max(np.abs(image.weights), initial=0.0)) or 1.0
    rows = tuple(
        (word, _weight(weight), Bar(float(weight) / longest))
        for word, weight in zip(image.words, image.weights, strict=True)
    )
    judged = "not judged"
    if image.quality != "unknown":
        percent = 100 * max(image.held_out, 0.0)
        share = f"{percent:.1f} %" if percent < 10 else f"{percent:.0f} %"
        judged = (
            f"{image.quality}, these words explain {share} of its variance in held-out documents"
        )
    return Sheet(f"{name_of(image)}: {judged}", ("word", "weight", ""), rows)


def image_data(
    image: sl.topics.TopicImage, documents: Sequence[sl.topics.DocumentMatch] = ()
) -> dict[str, Any]:
    """Describe an image for machines."""
    derived = {"signs": image.signs, "quality": image.quality, "advice": image.advice or None}
    found: dict[str, Any] = {**vars(image), **derived}
    if documents:
        found["documents"] = list(map(asdict, documents))
    return found


def name_of(image: sl.topics.TopicImage) -> str:
    """Return the query of an image: a word, or several together."""
    return " + ".join(image.query)


def _weight(weight: float) -> str:
    """Write a weight with its sign, with enough digits that it is not shown as zero."""
    return f"{weight:+.4f}" if abs(weight) >= 5e-5 else f"{weight:+.0e}"
