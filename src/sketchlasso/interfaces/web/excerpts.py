"""The part of a document that says most about an image."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["excerpt"]

# Documents may be books; an excerpt comes from their beginning.
SEARCHED = 50_000
# Lines drawn with characters, as below headings of plain text.
RULE = re.compile(r"(?<!\S)([-=~^_*#.])\1{2,}(?!\S)")
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


def excerpt(text: str | None, words: Sequence[str], length: int) -> str | None:
    """Return at most `length` characters of a text: where most of the words stand.

    Parameters
    ----------
    text : str or None
    words : sequence of str
        Words that count, in lower case. A word may go on (a plural) and still counts.
    length : int

    Returns
    -------
    str or None
        None for no text. White space is made plain, rules are taken out, and cuts fall between
        words.
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
    # Some words before the first match; the beginning of the text where it is near.
    start = max(0, start - length // 8)
    return 0 if start < length // 4 else min(start, len(plain) - length)
