"""Look up words regardless of case, recognise stop words, and suggest similar spellings."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from sketchlasso.errors import InvalidInputError, UnknownWordError
from sketchlasso.types import IntArray


class Vocabulary:
    """Finds the column of a word; the `frequency` (n,) is the number of documents each is in."""

    def __init__(
        self, words: tuple[str, ...], frequency: IntArray, stop_words: frozenset[str]
    ) -> None:
        self._place = {word: number for number, word in enumerate(words)}
        self._stop_words = stop_words
        self.speller = Speller(words, frequency)

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
                close = () if stop_word else tuple(self.speller.close(word, 5))
                raise UnknownWordError(word, close, stop_word, parameter)
            found.append(self._place[own])
        return np.array(found, dtype=np.intp)


class Speller:
    """Finds words by their letters; those of larger `frequency` (n,) come first."""

    def __init__(self, words: tuple[str, ...], frequency: IntArray) -> None:
        self._frequency = frequency
        self._order = sorted(range(len(words)), key=words.__getitem__)
        self._sorted = [words[i] for i in self._order]
        self._pieces: dict[str, list[int]] = defaultdict(list)
        for place, word in enumerate(self._sorted):
            for piece in _pieces(word):
                self._pieces[piece].append(place)

    def complete(self, beginning: str, count: int) -> list[str]:
        """Words with a prefix, the most frequent first."""
        first = bisect_left(self._sorted, beginning)
        last = bisect_left(self._sorted, beginning + "\U0010ffff")
        places = range(first, last)
        ranked = sorted(places, key=lambda p: (-self._frequency[self._order[p]], self._sorted[p]))
        return [self._sorted[place] for place in ranked[:count]]

    def close(self, word: str, count: int) -> list[str]:
        """Words that share most of their pairs of letters with this one, the closest first."""
        own = _pieces(word.casefold())
        shared = np.zeros(len(self._sorted))
        for piece in own:
            shared[self._pieces.get(piece, [])] += 1.0
        near = np.flatnonzero(shared >= max(1.0, 0.3 * len(own)))
        if near.size == 0:
            return []
        sizes = np.array([len(_pieces(self._sorted[place])) for place in near])
        alike = 2.0 * shared[near] / (sizes + len(own))
        ranked = sorted(
            zip(near, alike, strict=True),
            key=lambda pair: (-pair[1], -self._frequency[self._order[pair[0]]]),
        )
        return [self._sorted[place] for place, likeness in ranked[:count] if likeness > 0.3]


def _pieces(word: str) -> set[str]:
    """Pairs of neighbouring letters, including the ends of the word."""
    bordered = f"^{word}$"
    return {bordered[i : i + 2] for i in range(len(bordered) - 1)}
