"""From queries about topics to payloads; importing this needs the extra `web`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces.web import payloads
from sketchlasso.interfaces.web.limits import Amount, ImageQuery, Limits, read_word

# Documents may be books: look for an excerpt in this many characters.
SEARCHED = 50_000
# Lines drawn with characters, as below headings of plain text.
RULE = re.compile(r"(?<!\S)([-=~^_*#.])\1{2,}(?!\S)")
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


class Answers:
    """Answers of one fitted model; safe to use from several threads."""

    def __init__(
        self, imager: sl.topics.TopicImager, images: sl.topics.WordImages | None, limits: Limits
    ) -> None:
        self._imager = imager
        self._images = images
        self._limits = limits
        self.frequency = {
            str(word): int(count)
            for word, count in zip(imager.words_, imager.document_frequency_, strict=True)
        }
        if images is not None:
            images.check_words(imager.words_)

    def warm(self) -> None:
        """Run compiled code once, so that the first visitor does not wait for it."""
        word = max(self.frequency, key=self.frequency.__getitem__)
        self.documents(ImageQuery((word,), alpha=Amount(0.9, "auto")), 1)

    def about(self) -> payloads.About:
        """Describe the model."""
        imager, corpus = self._imager, self._imager.corpus_
        return payloads.About(
            version=sl.__version__,
            source=corpus.name,
            n_documents=corpus.shape[0],
            n_words=len(self.frequency),
            settings={name: _plain(value) for name, value in imager.get_params().items()},
            has_map=self._images is not None,
            has_texts=corpus.texts is not None,
            has_phrases=any(" " in word for word in self.frequency),
            limits={
                name: getattr(self._limits, name)
                for name in ("word_length", "words", "excluded", "n_words", "documents")
            },
        )

    def words(self, prefix: str, count: int) -> payloads.Words:
        """Complete a prefix."""
        complete = self._imager.complete
        found = complete(prefix, count) or complete(prefix.casefold(), count)
        return payloads.Words(
            prefix=prefix, words=[self._counted(word) for word in found if self._is_askable(word)]
        )

    def image(self, query: ImageQuery) -> payloads.Image:
        """Compute an image."""
        return self._shown(self._solve(query))

    def images(self, words: Sequence[str], n_words: int) -> payloads.Images:
        """Compute the image of each word that the vocabulary has.

        Raises an UnknownWordError if it has none of them.
        """
        known, unknown = list(words), []
        while True:
            try:
                # Words are looked up before anything is solved.
                found = self._imager.images(known, n_words, judge=False)
                break
            except sl.errors.UnknownWordError as missing:
                unknown.append(missing)
                known = [word for word in known if word != missing.word]
                if not known:
                    raise unknown[0] from None
        return payloads.Images(
            images=[self._shown(image) for image in found],
            unknown=[payloads.UnknownWord.of(missing) for missing in unknown],
        )

    def documents(self, query: ImageQuery, count: int) -> payloads.Documents:
        """Compute an image and find the documents behind it."""
        image = self._solve(query)
        matches = [
            payloads.MatchedDocument(
                number=match.number,
                title=match.title,
                score=match.score,
                excerpt=excerpt(match.text, (*image.query, *image.words), self._limits.excerpt),
            )
            for match in self._imager.documents(image, count)
        ]
        return payloads.Documents(image=self._shown(image), documents=matches)

    def compare(self, first: ImageQuery, second: ImageQuery) -> payloads.ComparedImages:
        """Compute two images and what they share."""
        compared = sl.topics.ComparedImages.of(self._solve(first), self._solve(second))
        return payloads.ComparedImages(
            first=self._shown(compared.first),
            second=self._shown(compared.second),
            shared=list(compared.shared),
            overlap=compared.overlap,
        )

    def _solve(self, query: ImageQuery) -> sl.topics.TopicImage:
        ask = partial(
            self._imager.image,
            list(query.words),
            min(query.n_words, len(self.frequency) - len(query.words)),
            exclude=query.exclude,
            positive=query.positive,
        )
        quick = partial(ask, judge=False)
        radius: float | str | None = _absolute(query.radius, lambda: quick().radius)
        if query.radius.of in ("spectral", "realised"):
            radius = f"{query.radius.factor!r}*{query.radius.of}"
        alpha = _absolute(query.alpha, lambda: quick(radius=radius).alpha)
        return ask(radius=radius, alpha=alpha)

    def _is_askable(self, word: str) -> bool:
        """Return whether a request can ask for a word of the vocabulary."""
        try:
            return read_word("word", word, self._limits) == word.strip() == word
        except InvalidInputError:
            return False

    def _counted(self, word: str) -> payloads.WordCount:
        return payloads.WordCount(word=word, documents=self.frequency.get(word, 0))

    def _shown(self, image: sl.topics.TopicImage) -> payloads.Image:
        words = [
            payloads.WordWeight(
                word=word,
                weight=weight,
                documents=self.frequency.get(word, 0),
                askable=self._is_askable(word),
            )
            for word, weight in zip(image.words, image.weights, strict=True)
        ]
        same = payloads.Image.model_fields.keys() - {"words"}
        return payloads.Image(words=words, **{name: getattr(image, name) for name in same})


def _absolute(amount: Amount, automatic: Callable[[], float]) -> float | None:
    """Return a penalty or radius as a number; None for the imager's choice."""
    if amount.of == "auto":
        return None if amount.factor == 1.0 else amount.factor * automatic()
    return amount.factor


def _plain(value: Any) -> str | int | float | bool | None:
    """Return a parameter for JSON; of an object only its type."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return type(value).__name__


def excerpt(text: str | None, words: Sequence[str], length: int) -> str | None:
    """Return at most `length` characters of a text: those with most of the words (lower case).

    The beginning of a longer word counts too (a plural). White space is normalised, rules are
    removed, and cuts fall between words.
    """
    if text is None:
        return None
    plain = " ".join(RULE.sub(" ", text[:SEARCHED]).split())
    if len(plain) <= length:
        return plain
    start = _best_start(plain, words, length)
    # Two of the characters are for the ellipses.
    end = min(len(plain), start + length - 2)
    piece = plain[start:end]
    if start:
        piece = piece.partition(" ")[2] or piece
    if end < len(plain):
        piece = piece.rpartition(" ")[0] or piece
    return f"{ELLIPSIS if start else ''}{piece}{ELLIPSIS if end < len(plain) else ''}"


def _best_start(plain: str, words: Sequence[str], length: int) -> int:
    """Return where the window with most different words begins, the first of equals."""
    pattern = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    if not pattern:
        return 0
    found = [
        (match.start(), match[0].casefold())
        for match in re.finditer(rf"(?<!\w)(?:{pattern})", plain, re.IGNORECASE)
    ]
    reach = int(0.8 * length)
    best, start = 0, 0
    for number, (place, _) in enumerate(found):
        inside = {word for at, word in found[number : number + 200] if at < place + reach}
        if len(inside) > best:
            best, start = len(inside), place
    # Start some words before the first match, or at the beginning of the text if it is near.
    start = max(0, start - length // 8)
    return 0 if start < length // 4 else min(start, len(plain) - length)
