"""Finding words by how they are written: completions of a beginning, and close spellings."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict

import numpy as np

from sketchlasso.types import IntArray

__all__ = ["Speller"]

# Beginnings longer than any word need no search.
LAST = "\U0010ffff"


class Speller:
    """Looks words of a vocabulary up by their letters.

    Parameters
    ----------
    words : sequence of str
    frequency : ndarray of shape (n,)
        Of the words; the more frequent come first.
    """

    def __init__(self, words: tuple[str, ...], frequency: IntArray) -> None:
        self._frequency = frequency
        self._order = sorted(range(len(words)), key=words.__getitem__)
        self._sorted = [words[i] for i in self._order]
        self._pieces: dict[str, list[int]] = defaultdict(list)
        for place, word in enumerate(self._sorted):
            for piece in _pieces(word):
                self._pieces[piece].append(place)

    def complete(self, beginning: str, count: int) -> list[str]:
        """Words that begin so, the most frequent first."""
        first = bisect_left(self._sorted, beginning)
        last = bisect_left(self._sorted, beginning + LAST)
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
    """Pairs of neighbouring letters, the borders of the word included."""
    bordered = f"^{word}$"
    return {bordered[i : i + 2] for i in range(len(bordered) - 1)}
