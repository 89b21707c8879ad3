"""Look up words regardless of case, recognise stop words, and suggest similar spellings."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from sketchlasso.errors import InvalidInputError, UnknownWordError
from sketchlasso.types import IntArray


class Vocabulary:
    """Finds words; the `frequency` (n,) is the number of documents that each is in."""

    def __init__(
        self, words: tuple[str, ...], frequency: IntArray, stop_words: frozenset[str]
    ) -> None:
        self._words, self._frequency, self._stop_words = words, frequency, stop_words
        self._place = {word: number for number, word in enumerate(words)}
        # Words by the pairs of letters that they contain.
        self._pieces: dict[str, list[int]] = defaultdict(list)
        for place, word in enumerate(words):
            for piece in _pieces(word):
                self._pieces[piece].append(place)

    def written(self, word: str) -> str:
        """Return a word as the vocabulary spells it, regardless of case and form of accents."""
        for form in (word, unicodedata.normalize("NFC", word)):
            for own in (form, form.casefold(), form.lower()):
                if own in self._place:
                    return own
        return word

    def indices(self, words: Sequence[str], parameter: str | None = None) -> IntArray:
        """Return the columns (k,) of words; reject the first unknown one.

        The error names the `parameter` that the words are from, unless they were asked for.
        """
        found = []
        for word in words:
            if not isinstance(word, str):
                raise InvalidInputError(f"{word!r} is not a word; pass words as str.")
            own = self.written(word)
            if own not in self._place:
                stop_word = word.casefold() in self._stop_words or word in self._stop_words
                close = () if stop_word else tuple(self.close(word, 5))
                raise UnknownWordError(word, close, stop_word, parameter)
            found.append(self._place[own])
        return np.array(found, dtype=np.intp)

    def complete(self, beginning: str, count: int) -> list[str]:
        """Words with a prefix, the most frequent first."""
        found = [place for word, place in self._place.items() if word.startswith(beginning)]
        found.sort(key=lambda place: (-self._frequency[place], self._words[place]))
        return [self._words[place] for place in found[:count]]

    def close(self, word: str, count: int) -> list[str]:
        """Words that share most of their pairs of letters with this one, the closest first."""
        own = _pieces(word.casefold())
        shared = np.zeros(len(self._words))
        for piece in own:
            shared[self._pieces.get(piece, [])] += 1.0
        likeness = {
            int(place): 2.0 * shared[place] / (len(_pieces(self._words[place])) + len(own))
            for place in np.flatnonzero(shared >= max(1.0, 0.3 * len(own)))
        }
        found = sorted(
            (place for place, alike in likeness.items() if alike > 0.3),
            key=lambda place: (-likeness[place], -self._frequency[place], self._words[place]),
        )
        return [self._words[place] for place in found[:count]]


def _pieces(word: str) -> set[str]:
    """Pairs of neighbouring letters, including the ends of the word."""
    bordered = f"^{word}$"
    return {bordered[i : i + 2] for i in range(len(bordered) - 1)}
