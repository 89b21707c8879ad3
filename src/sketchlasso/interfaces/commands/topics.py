"""`sketchlasso topics fit`, `list` and `export`: a model of documents, and the topics it finds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, ClassVar

import typer

import sketchlasso as sl
from sketchlasso.interfaces.commands import options
from sketchlasso.interfaces.commands.images import Positive, TopicModel
from sketchlasso.interfaces.commands.screen import Report, Screen, Sheet, counted, facts_of
from sketchlasso.interfaces.exports import export_topics, topic_data

COLUMNS = ("topic", "label", "words", "documents", "stable", "such as")


@dataclass(frozen=True)
class CorpusOptions:
    """How to read documents."""

    panel: ClassVar[str] = "Text"
    column: Annotated[str | None, "The column of texts: name or number."] = None
    title_column: Annotated[str | None, "The column of titles: name or number."] = None
    group_column: Annotated[str | None, "A column of dates, authors or sections."] = None
    separator: Annotated[str | None, "What separates the cells of a text table."] = None
    vocabulary: Annotated[Path | None, "The words of a file with counts, one per line."] = None
    titles: Annotated[Path | None, "Titles of the documents, one per line."] = None
    groups: Annotated[Path | None, "Dates, authors or sections, one per line."] = None

    def read(self, source: Path) -> sl.topics.Corpus:
        """Read a corpus."""
        return sl.topics.read_corpus(source, **vars(self))


@dataclass(frozen=True)
class WordOptions:
    """Which words of a corpus to keep."""

    panel: ClassVar[str] = "Words"
    min_documents: Annotated[int | None, "Leave out words in fewer documents; 5 or less."] = None
    max_share: Annotated[float, "Leave out words in a larger share of the documents."] = 0.95
    stop_words: Annotated[
        str, "Words to leave out: english, none, or a file with one per line."
    ] = "english"

    def left_out(self) -> Any:
        """Return what the imager takes as `stop_words`."""
        if self.stop_words in ("english", "none"):
            return None if self.stop_words == "none" else self.stop_words
        lines = options.read_lines(Path(self.stop_words), "word", "--stop-words")
        return sorted({word for line in lines for word in line.split()})


def fit(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE",
            help="A folder of text files; JSON Lines, CSV, TSV, Parquet or Arrow with a column of "
            "text; a .txt with one document per line; counts (docword.NAME.txt, npz, mtx, svm).",
        ),
    ],
    corpus: CorpusOptions,
    words: WordOptions,
    screen: Screen,
    output: Annotated[Path, "The model file to write."],
    rank: Annotated[
        int, typer.Option(help="Rank of the sketch; less where the corpus is smaller.", min=1)
    ] = 100,
    weighting: Annotated[str, "tfidf, log, counts or length."] = "tfidf",
    scale: Annotated[bool, "Scale words to equal spread, which favours rare ones."] = False,
    radius: Annotated[
        str, "auto, realised, spectral, a multiple such as 0.03*spectral, or a number."
    ] = "auto",
    positive: Positive = False,
    threads: options.Threads = -1,
    seed: options.Seed = 0,
    device: options.Device = "cpu",
) -> Report:
    """Read documents and make a model of their words.

    The model file serves topics image, all and serve; it keeps documents and settings.
    """
    start = perf_counter()
    left_out = words.left_out()
    with screen.watching(f"reading {source}"):
        found = corpus.read(source)
    with screen.watching(f"sketching {found.shape[0]} documents x {found.shape[1]} words"):
        imager = sl.topics.TopicImager(
            rank=rank,
            weighting=weighting,  # type: ignore[arg-type]
            scale=scale,
            radius=options.number_or_name(radius),
            positive=positive,
            min_documents=words.min_documents,
            max_share=words.max_share,
            stop_words=left_out,
            n_jobs=threads,
            random_state=seed,
            device=device,
        ).fit(found)
    imager.save(output)
    data = {
        "words_before": found.shape[1],
        **model_data(imager),
        "seconds": perf_counter() - start,
    }
    return Report(data, facts_of(data), closing=f"try: sketchlasso topics list {output}")


def model_data(imager: sl.topics.TopicImager) -> dict[str, Any]:
    """Describe an imager, its corpus and its settings."""
    documents, words = imager.corpus_.shape
    return {
        "source": imager.corpus_.source or "(unnamed)",
        "n_documents": documents,
        "n_words": words,
        **imager.corpus_.settings,
        "rank": imager.sketch_.rank,
        "sketch_radius": imager.sketch_.radius,
        "settings": {
            name: str(value) if name == "radius" else value
            for name, value in imager.get_params().items()
        },
    }


@dataclass(frozen=True)
class TopicOptions:
    """How topics are found."""

    images: Annotated[
        Path | None,
        typer.Option(
            metavar="IMAGES", help="A file written by topics all; without it every word is imaged."
        ),
    ] = None
    resolution: Annotated[
        float,
        typer.Option(help="Above 1 for more and smaller topics, below 1 for fewer.", min=1e-3),
    ] = 1.0
    stability: Annotated[bool, "Make the topics again from half of the documents."] = True
    seed: options.Seed = 0

    def find(
        self, model: Path, screen: Screen
    ) -> tuple[sl.topics.TopicImager, sl.topics.WordImages, sl.topics.Topics]:
        """Load a model, image its words or load the images, and find the topics."""
        imager = sl.topics.load_topics(model)
        if self.images is None:
            with screen.counting("imaging every word", "words") as count:
                stored = imager.image_all(progress=count)
        else:
            stored = sl.topics.load_images(self.images)
        with screen.counting("imaging every word from half of the documents", "words") as count:
            found = sl.topics.find_topics(
                imager,
                stored,
                resolution=self.resolution,
                stability=self.stability,
                random_state=self.seed,
                progress=count,
            )
        return imager, stored, found


def list_topics(model: TopicModel, asked: TopicOptions, screen: Screen) -> Report:
    """List the topics of a corpus.

    A topic is a group of words that explain each other. Its label lists the words that set it
    apart; stable is how often they are grouped again in half of the documents.
    """
    _, _, found = asked.find(model, screen)
    rows = [
        (
            number,
            str(topic),
            len(topic.words),
            topic.n_documents,
            "-" if math.isnan(topic.stability) else f"{100 * topic.stability:.0f} %",
            topic.examples[0].title if topic.examples else "",
        )
        for number, topic in enumerate(found.topics, 1)
    ]
    sheets = [Sheet(counted(len(found), "topic"), COLUMNS, tuple(rows))]
    data: dict[str, Any] = {"topics": list(map(topic_data, found.topics))}
    if found.groups is not None:
        names, shares = found.over()
        parts = tuple(
            (name, *(f"{100 * share:.0f} %" for share in row))
            for name, row in zip(names, shares, strict=True)
        )
        numbers = tuple(map(str, range(1, len(found) + 1)))
        sheets.append(Sheet("share of each topic by group", ("group", *numbers), parts))
        data["over"] = {"groups": names, "shares": shares}
    if not found.topics:
        return Report(
            data, text="no topics: the words form no groups; fit more documents", fell_short=True
        )
    return Report(data, sheets=tuple(sheets))


def export(
    model: TopicModel,
    asked: TopicOptions,
    screen: Screen,
    folder: Annotated[Path, typer.Option("--output", "-o", help="The folder to write to.")],
) -> Report:
    """Write topics, words and documents to a folder.

    Tables as CSV, all of it as JSON, the map as SVG, and one HTML file that works offline.
    """
    imager, stored, found = asked.find(model, screen)
    written = export_topics(folder, imager, stored, found)
    return Report(
        {"output": folder, "files": written, "n_topics": len(found)},
        facts=(("topics", str(len(found))), ("wrote", f"{folder}: {', '.join(written)}")),
        closing=f"open {folder / 'topics.html'} in a browser; it needs no server",
    )
