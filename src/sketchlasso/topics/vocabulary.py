"""Look up words regardless of case, recognise stop words, and suggest similar spellings."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from difflib import get_close_matches

import numpy as np

from sketchlasso.errors import InvalidInputError, UnknownWordError
from sketchlasso.types import IntArray


class Vocabulary:
    """Finds words; the `frequency` (n,) is the number of documents that each is in."""

    def __init__(
        self, words: tuple[str, ...], frequency: IntArray, stop_words: frozenset[str]
    ) -> None:
        self._place = {word: number for number, word in enumerate(words)}
        self._stop_words = stop_words
        order = sorted(range(len(words)), key=words.__getitem__)
        self._sorted = [words[i] for i in order]
        self._frequency = frequency[order]

    def written(self, word: str) -> str:
        """Return a word as the vocabulary spells it, regardless of case and form of accents."""
        for form in (word, unicodedata.normalize("NFC", word)):
            for own in (form, form.casefold(), form.lower()):
                if own in self._place:
                    return own
        return word

    def indices(self, words: Sequence[str], parameter: str | None = None) -> IntArray:
        """Return the columns (k,) of words; reject the first unknown one.

        The error names the `parameter` that the words come from; None for the words of a query.
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
        first = bisect_left(self._sorted, beginning)
        last = bisect_left(self._sorted, beginning + "\U0010ffff")
        ranked = sorted(range(first, last), key=lambda place: -self._frequency[place])
        return [self._sorted[place] for place in ranked[:count]]

    def close(self, word: str, count: int) -> list[str]:
        """Words with a similar spelling, the closest first."""
        return get_close_matches(word.casefold(), self._sorted, count, cutoff=0.7)
