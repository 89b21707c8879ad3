"""Text from files on a terminal: control characters as escapes instead of their effects."""

from __future__ import annotations

import re

# Controls of terminals, separators of lines, changes of direction, and halves of characters.
HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str, keep: str = "") -> str:
    r"""Return text with control characters as escapes, except those in `keep`.

    >>> visible("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """

    def escaped(found: re.Match[str]) -> str:
        character = found[0]
        return character if character in keep else character.encode("unicode_escape").decode()

    return HIDDEN.sub(escaped, text)


def visible_in_json(document: str) -> str:
    r"""Return a JSON document with the control characters of its strings as ``\u`` escapes."""

    def escaped(found: re.Match[str]) -> str:
        # JSON itself escapes what lies below a space; line breaks are those between entries.
        return found[0] if found[0] < " " else f"\\u{ord(found[0]):04x}"

    return HIDDEN.sub(escaped, document)
