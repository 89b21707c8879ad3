"""A limit on how much a compressed file may become."""

from __future__ import annotations

import io
from typing import Any, BinaryIO

from sketchlasso.storage.door import UnfitError

__all__ = ["Inflated", "most_inflated"]

# Bytes that any file may become, and times its size that a larger one may. Tables of numbers
# compress 3 to 30 times, and hardly any text 400 times.
ANY, TIMES = 1 << 23, 400


def most_inflated(size: int) -> int:
    """Return the bytes that a compressed file of this size may become."""
    return max(ANY, TIMES * size)


class Inflated(io.RawIOBase):
    """A decompressed stream that ends in an error where it outgrows its file.

    Parameters
    ----------
    stream : file
        Of decompressed bytes.
    raw : binary file
        That the stream reads; its position says how much was used.
    """

    def __init__(self, stream: Any, raw: BinaryIO) -> None:
        self._stream = stream
        self._raw = raw
        self._length = 0

    def readable(self) -> bool:
        """Whether it can be read: yes."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fill a buffer; return the number of bytes."""
        count = int(self._stream.readinto(buffer))
        self._length += count
        if self._length > most_inflated(self._raw.tell()):
            raise UnfitError(
                f"it becomes more than {TIMES} times as large when it is decompressed, which no "
                "table does"
            )
        return count
