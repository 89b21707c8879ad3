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
from sketchlasso.interfaces.commands.options import ClusterOptions, Seed, Verbose
from sketchlasso.interfaces.commands.screen import Bar, Facts, Report, Screen, Sheet
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
    found: dict[str, Any] = {"model": model, "unknown": unknown}
    sheets: list[Sheet] = []
    if compare is not None:
        other, rows, compared = sl.topics.load_topics(compare), [], []
        for one in images:
            try:
                again = other.image(list(one.query), **asked.arguments())
            except UnknownWordError as missing:
                warnings.warn(f"in {compare} {missing}", stacklevel=2)
                continue
            pair = sl.topics.ComparedImages(one, again)
            compared.append(compared_data(pair))
            sheets.append(compared_sheet(pair, model, compare))
            name = name_of(one)
            rows.append([(f"{name} in {model.name}", one), (f"{name} in {compare.name}", again)])
        if not rows:
            raise InvalidInputError(
                f"{compare} has none of these words; ask for words of both corpora."
            )
        _draw(rows, picture)
        data = {**found, "compared_with": compare, "compared": compared}
        return Report(data, sheets=tuple(sheets))
    found["images"] = []
    for one in images:
        matches = imager.documents(one, documents) if documents else []
        found["images"].append(image_data(one, matches))
        sheets.append(image_sheet(one))
        if matches:
            lines = tuple((f"{match.score:.1f}", match.title) for match in matches)
            title = f"{name_of(one)}: documents behind it"
            sheets.append(Sheet(title, ("score", "document"), lines))
    _draw([[(name_of(one), one)] for one in images], picture)
    advice = [f"{name_of(one)} is weak: {one.advice}" for one in images if one.advice]
    return Report(found, sheets=tuple(sheets), closing="\n".join(advice))


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
    verbose: Verbose = False,
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
    seconds = perf_counter() - start
    facts = images_facts(images)
    return Report(
        {"seconds": seconds, **images_data(images)},
        facts=(*facts, ("seconds", f"{seconds:.2f}")) if verbose else facts[:-1],
    )


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
    return outputs.write_graph(joined, output, communities, seed, noun="word", verb="names")


def images_data(images: sl.topics.WordImages) -> dict[str, Any]:
    """Describe images for machines."""
    return {
        "n_vocabulary": len(images.words),
        "n_weights": int(images.weights.nnz),
        "n_words": images.n_words,
        "worst_gap": float(images.gap.max()),
        "settings": images.settings,
    }


def images_facts(images: sl.topics.WordImages) -> Facts:
    """Show what a file of images holds, and how exactly it was computed."""
    return (
        ("words", f"{len(images.words)}, each explained by at most {images.n_words} others"),
        ("weights", f"{images.weights.nnz}"),
        ("gap", f"{float(images.gap.max()):.1e} at worst"),
    )


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


def compared_sheet(compared: sl.topics.ComparedImages, first: Path, second: Path) -> Sheet:
    """Return the table of two images of one word: shared words first, then those of either."""
    sides = [
        dict(zip(image.words, image.weights, strict=True))
        for image in (compared.first, compared.second)
    ]
    words = (*compared.shared, *compared.only_first, *compared.only_second)
    rows = tuple(
        (word, *(_weight(side[word]) if word in side else "" for side in sides)) for word in words
    )
    title = (
        f"{name_of(compared.first)}: {len(compared.shared)} of {len(words)} words shared; "
        f"{compared.first.quality} here, {compared.second.quality} there"
    )
    return Sheet(title, ("word", first.name, second.name), rows)


def compared_data(compared: sl.topics.ComparedImages) -> dict[str, Any]:
    """Describe two images of one word for machines."""
    names = ("shared", "only_first", "only_second", "overlap")
    return {
        "first": image_data(compared.first),
        "second": image_data(compared.second),
        **{name: getattr(compared, name) for name in names},
    }


def name_of(image: sl.topics.TopicImage) -> str:
    """Return the query of an image: a word, or several together."""
    return " + ".join(image.query)


def _weight(weight: float) -> str:
    """Write a weight with its sign, with enough digits that it is not shown as zero."""
    return f"{weight:+.4f}" if abs(weight) >= 5e-5 else f"{weight:+.0e}"
