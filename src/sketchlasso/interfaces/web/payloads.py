"""What the API answers with; importing this needs the extra `web`."""

from __future__ import annotations

import gzip
import math
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Any

from fastapi import Request, Response
from pydantic import BaseModel, BeforeValidator, Field

from sketchlasso.errors import UnknownWordError

# JSON has no numbers that are not finite.
Finite = Annotated[float | None, BeforeValidator(lambda x: x if math.isfinite(x) else None)]


class WordCount(BaseModel):
    """A word and the number of documents that contain it."""

    word: str
    documents: int


class Words(BaseModel):
    """Words that begin with a prefix, the most frequent first."""

    prefix: str
    words: list[WordCount]


class WordWeight(BaseModel):
    """A word of an image: its weight says how strongly and with what sign it predicts."""

    word: str
    weight: float
    documents: int
    askable: bool = Field(
        description="Whether it can be asked for; not if it is too long, blank, or not text."
    )


class Image(BaseModel):
    """The image of a word: the sparse regression of that word on all the others."""

    query: list[str] = Field(description="The word, or the words asked for together.")
    words: list[WordWeight] = Field(description="The strongest words, strongest first.")
    n_nonzero: int = Field(description="Words with a weight in the whole solution.")
    alpha: Finite = Field(description="The penalty.")
    radius: Finite = Field(description="The robust radius.")
    gap: Finite = Field(description="Relative duality gap: how far from optimal, at most.")
    explained: Finite = Field(
        description="Share of the query's variance that the words explain, over all documents."
    )
    held_out: Finite = Field(
        description="The same in documents that the words were not chosen from; null if unknown."
    )
    quality: str = Field(description="strong, fair, weak or unknown: held_out as a word.")
    advice: str = Field(description="What would help a weak image; empty for the others.")
    seconds: float = Field(description="Time of the computation.")
    excluded: list[str]


class MatchedDocument(BaseModel):
    """A document that contains words of an image."""

    number: int = Field(description="Row of the corpus, from zero.")
    title: str
    score: Finite
    excerpt: str | None


class Documents(BaseModel):
    """The documents behind an image, best first."""

    image: Image
    documents: list[MatchedDocument]


class ComparedImages(BaseModel):
    """The images of two words side by side."""

    first: Image
    second: Image
    shared: list[str] = Field(description="Words of both images.")
    overlap: float = Field(description="Shared words as a share of all words of both images.")


class Topic(BaseModel):
    """A group of words that explain each other."""

    label: list[str] = Field(description="The words that set it apart from the others.")
    words: list[WordCount] = Field(description="Its most distinctive words.")
    n_words: int
    n_documents: int = Field(description="Documents that have most of this topic.")
    stability: Finite = Field(
        description="Share of pairs of its ten leading words that stay together in half-samples."
    )
    examples: list[str] = Field(description="Titles of documents about it.")


class Topics(BaseModel):
    """Topics to begin with, the largest first."""

    topics: list[Topic]


class MapWord(BaseModel):
    """A word's place on the map."""

    word: str
    x: float
    y: float
    community: int = Field(description="Its topic, counted from zero; -1 for none.")
    size: int = Field(description="Number of documents that contain the word.")


class Map(BaseModel):
    """The graph of the whole vocabulary."""

    nodes: list[MapWord]
    edges: list[tuple[int, int, float]] = Field(
        description="Places of two words in `nodes` and the weight of their link."
    )
    labels: list[list[str]] = Field(
        default=[], description="Words that set each community apart, where they are known."
    )
    n_words: int = Field(description="Words of the vocabulary, shown or not.")
    n_edges: int = Field(description="Links of the whole graph, shown or not.")


class About(BaseModel):
    """The model behind this server, and limits of requests."""

    version: str
    source: str
    n_documents: int
    n_words: int
    settings: dict[str, Any] = Field(description="Parameters of the model.")
    has_map: bool
    has_texts: bool
    has_phrases: bool = Field(description="Whether words of the vocabulary hold spaces.")
    limits: dict[str, int]


class Health(BaseModel):
    """Whether the server answers, and how busy it is."""

    status: str
    inside: int = Field(description="Queries that are solved or wait.")


class Problem(BaseModel):
    """The reason for a refusal, in one sentence."""

    message: str


class UnknownWord(Problem):
    """A word that is not in the vocabulary."""

    word: str
    suggestions: list[str]
    stop_word: bool = Field(description="Whether it was left out as a stop word.")

    @classmethod
    def of(cls, error: UnknownWordError) -> UnknownWord:
        """Describe an error."""
        return cls(
            message=str(error),
            word=error.word,
            suggestions=list(error.suggestions),
            stop_word=error.stop_word,
        )


class Images(BaseModel):
    """The image of each of several words by itself."""

    images: list[Image] = Field(description="Those of the words in the vocabulary.")
    unknown: list[UnknownWord] = Field(description="The words that are not, and what to do.")


@dataclass(frozen=True)
class Page:
    """A document, encoded once for all requests; `zipped` is empty if it is not compressed."""

    content: bytes
    kind: str
    tag: str
    zipped: bytes = b""

    @classmethod
    def of(cls, text: str, kind: str, *, zipped: bool = False) -> Page:
        """Encode a document."""
        content = text.encode()
        tag = f'"{sha256(content).hexdigest()[:16]}"'
        return cls(content, kind, tag, gzip.compress(content, 6, mtime=0) if zipped else b"")

    async def response(self, request: Request) -> Response:
        """Return the document in an encoding that the request accepts, or 304 if it is cached."""
        # Clients cache it but revalidate each time, so that a new version shows at once.
        headers = {"etag": self.tag, "cache-control": "no-cache"}
        content = self.content
        if self.zipped:
            headers["vary"] = "accept-encoding"
        if self.tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if self.zipped and "gzip" in request.headers.get("accept-encoding", ""):
            content = self.zipped
            headers["content-encoding"] = "gzip"
        return Response(content, media_type=self.kind, headers=headers)
