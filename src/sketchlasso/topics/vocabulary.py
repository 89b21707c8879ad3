"""Words by how people write them: case folded, stop words named, close spellings offered."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np

from sketchlasso.errors import InvalidInputError, UnknownWordError
from sketchlasso.topics.spelling import Speller
from sketchlasso.types import IntArray

__all__ = ["Vocabulary"]

SUGGESTED = 5


class Vocabulary:
    """Finds the column of a word.

    Parameters
    ----------
    words : tuple of str, of length n
    frequency : ndarray of shape (n,)
        Documents each word is in.
    stop_words : frozenset of str
        Words that were left out whatever their frequency.
    """

    def __init__(
        self, words: tuple[str, ...], frequency: IntArray, stop_words: frozenset[str]
    ) -> None:
        self._place = {word: number for number, word in enumerate(words)}
        self._stop_words = stop_words
        self.speller = Speller(words, frequency)

    def written(self, word: str) -> str:
        """Return a word as the vocabulary writes it, where only case or accents' form differ."""
        for form in (word, unicodedata.normalize("NFC", word)):
            for own in (form, form.casefold(), form.lower()):
                if own in self._place:
                    return own
        return word

    def indices(self, words: Sequence[str]) -> IntArray:
        """Return the columns of words.

        Raises
        ------
        UnknownWordError
            The first word that is not there: a stop word, or one with suggestions.
        """
        found = []
        for word in words:
            if not isinstance(word, str):
                raise InvalidInputError(f"{word!r} is no word; pass words as str.")
            own = self.written(word)
            if own not in self._place:
                raise self._unknown(word)
            found.append(self._place[own])
        return np.array(found, dtype=np.intp)

    def _unknown(self, word: str) -> UnknownWordError:
        if word.casefold() in self._stop_words or word in self._stop_words:
            return UnknownWordError(word, stop_word=True)
        return UnknownWordError(word, tuple(self.speller.close(word, SUGGESTED)))
