"""Options that the commands about topics share, and what they mean for the library."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

import sketchlasso as sl
from sketchlasso.interfaces.commands.data import by_name_or_position, read_lines

TopicModel = Annotated[Path, typer.Argument(metavar="MODEL", help="A file written by topics fit.")]
NWords = Annotated[int, "How many words an image has."]
Radius = Annotated[
    str | None,
    "auto, realised, spectral, a multiple such as 0.03*spectral, or a number; that of the fit by "
    "default.",
]
Positive = Annotated[bool, "Only words that occur together with it (positive weights)."]


@dataclass(frozen=True)
class CorpusOptions:
    """How to read documents."""

    panel: ClassVar[str] = "Text"
    column: Annotated[str | None, "The column of texts: name, or position from 0."] = None
    title_column: Annotated[str | None, "The column of titles: name, or position from 0."] = None
    group_column: Annotated[
        str | None, "A column of dates, authors or sections to see topics over: name, or position."
    ] = None
    separator: Annotated[str | None, "What separates the cells of a text table."] = None
    vocabulary: Annotated[
        Path | None,
        "The words of a file with counts, one per line; looked for beside it by default.",
    ] = None
    titles: Annotated[Path | None, "Titles of the documents, one per line."] = None
    groups: Annotated[
        Path | None,
        "Dates, authors or sections of the documents, one per line, to see topics over.",
    ] = None
    follow_links: Annotated[
        bool, "Read what symbolic links in a folder lead to, also outside of it."
    ] = False

    def read(self, source: Path) -> sl.topics.Corpus:
        """Read a corpus; columns are looked for by name first, then numbers mean positions."""
        rest: dict[str, Any] = {
            "vocabulary": self.vocabulary,
            "titles": self.titles,
            "groups": self.groups,
            "separator": self.separator,
            "follow_links": self.follow_links or None,
        }
        corpus: sl.topics.Corpus = by_name_or_position(
            lambda **columns: sl.topics.read_corpus(source, **columns, **rest),
            column=self.column,
            title_column=self.title_column,
            group_column=self.group_column,
        )
        return corpus


@dataclass(frozen=True)
class WordOptions:
    """Which words of a corpus to keep."""

    panel: ClassVar[str] = "Words"
    min_documents: Annotated[
        int | None, "Leave out words in fewer documents; 5 by default, less for small corpora."
    ] = None
    max_share: Annotated[float, "Leave out words in a larger share of the documents."] = 0.95
    stop_words: Annotated[
        str, "Words to leave out: english, none, or a file with one per line."
    ] = "english"

    def left_out(self) -> Any:
        """Return what the imager takes as `stop_words`."""
        if self.stop_words in ("english", "none"):
            return None if self.stop_words == "none" else self.stop_words
        lines = read_lines(Path(self.stop_words), "word", "--stop-words ")
        return sorted({word for line in lines for word in line.split()})


@dataclass(frozen=True)
class ImageOptions:
    """What an image may be made of."""

    panel: ClassVar[str] = "Image"
    n_words: NWords = 10
    alpha: Annotated[
        float | None,
        "A penalty of your own; by default the one that leaves as many words as asked.",
    ] = None
    radius: Radius = None
    positive: Positive = False
    exclude: Annotated[list[str] | None, "A word that may not be used; may be repeated."] = None

    def arguments(self) -> dict[str, Any]:
        """Return keyword arguments of :meth:`TopicImager.image`."""
        return {
            "n_words": self.n_words,
            "alpha": self.alpha,
            "radius": self.radius,
            "positive": True if self.positive else None,
            "exclude": tuple(self.exclude or ()),
        }
