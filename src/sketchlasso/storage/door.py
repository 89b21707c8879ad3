"""Checks that everything read from a file passes before it is used.

Shapes, lengths, offsets and indices that a file declares are compared with the bytes in the file
and with the free memory before memory is allocated. All readers, of the library's
own containers and of foreign formats, use these checks. A failed check raises
:class:`UnfitError`, whose message the reader makes part of its own.
"""

from __future__ import annotations

import json
import math
import tokenize
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sketchlasso.storage.memory import free_memory, in_words

__all__ = [
    "MISFITS",
    "ArrayHeader",
    "PickledError",
    "TooLargeError",
    "UnfitError",
    "check_facts",
    "check_lengths",
    "check_memory",
    "check_numbers",
    "check_shape",
    "parse_json",
    "read_array",
    "read_array_header",
]

# Bytes of working memory per row or column, at least.
VECTORS = 64
# Largest header of an array in bytes; NumPy has the same limit.
HEADER = 10_000
# Bytes read at a time.
CHUNK = 1 << 22
# Errors that content of the wrong kind can raise.
MISFITS = (
    ValueError,
    KeyError,
    TypeError,
    IndexError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    MemoryError,
)


class UnfitError(ValueError):
    """A part of a file contradicts the rest of it, or cannot be used."""


class PickledError(UnfitError):
    """A file holds Python objects, which can run code."""


class TooLargeError(UnfitError):
    """A file needs more memory than is free."""


@dataclass(frozen=True)
class ArrayHeader:
    """Shape, type and place of a stored array.

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype
    by_columns : bool
        Whether the array is stored column by column.
    offset : int
        Bytes before the first entry.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    by_columns: bool
    offset: int

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def n_bytes(self) -> int:
        """Bytes of the entries."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_array_header(file: IO[bytes], size: int) -> ArrayHeader:
    """Read the header of an array in NumPy's ``.npy`` format, and check what it declares.

    Parameters
    ----------
    file : binary file
        At the first byte of the array.
    size : int
        Bytes left in the file from there.

    Returns
    -------
    ArrayHeader

    Raises
    ------
    UnfitError
        It is no such header, it declares more entries than there are bytes, a negative length,
        or a type that is no plain number or text.
    """
    start = file.tell()
    try:
        version = np.lib.format.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise UnfitError(f"version {version} of the npy format is for records")
        read = np.lib.format.read_array_header_1_0
        if version == (2, 0):
            read = np.lib.format.read_array_header_2_0
        shape, by_columns, dtype = read(file, max_header_size=HEADER)
    except UnfitError:
        raise
    except (*MISFITS, SyntaxError, tokenize.TokenError) as problem:
        raise UnfitError("an array has a header that cannot be understood") from problem
    header = ArrayHeader(tuple(shape), dtype, by_columns, file.tell() - start)
    if dtype.hasobject:
        raise PickledError("an array holds Python objects")
    if dtype.itemsize == 0 and math.prod(header.shape) > 0:
        raise UnfitError("an array has entries without a size")
    if any(length < 0 for length in header.shape):
        raise UnfitError(f"an array has the shape {_shown(header.shape)}")
    if header.n_bytes > size - header.offset:
        raise UnfitError(
            f"an array declares the shape {_shown(header.shape)}, {in_words(header.n_bytes)}, "
            f"but only {in_words(max(0, size - header.offset))} are there"
        )
    return header


def read_array(file: IO[bytes], size: int) -> NDArray[Any]:
    """Read an array in NumPy's ``.npy`` format of which the file holds every byte.

    Parameters
    ----------
    file : binary file
        At the first byte of the array.
    size : int
        Bytes left in the file from there, decompressed.

    Returns
    -------
    ndarray
        Of plain numbers or text; Python objects are never read.
    """
    header = read_array_header(file, size)
    check_memory(header.n_bytes, "an array")
    content = np.empty(header.n_bytes, dtype=np.uint8)
    view, filled = content.data, 0
    while filled < header.n_bytes:
        count = file.readinto(view[filled : filled + CHUNK])  # type: ignore[attr-defined]
        if not count:
            raise UnfitError("an array ends before its last entry")
        filled += count
    order: Literal["F", "C"] = "F" if header.by_columns else "C"
    return np.ndarray(header.shape, header.dtype, buffer=content, order=order)


def check_memory(n_bytes: int, what: str) -> None:
    """Refuse what does not fit the free memory."""
    free = free_memory()
    if n_bytes > free:
        raise TooLargeError(
            f"{what} takes {in_words(n_bytes)} of memory but {in_words(free)} are free"
        )


def check_shape(shape: Sequence[Any]) -> tuple[int, int]:
    """Return the shape of a matrix as two integers; refuse it where it does not fit the memory."""
    lengths = tuple(shape)
    whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in lengths)
    if len(lengths) != 2 or not whole or min(lengths) < 0:
        raise UnfitError(f"a matrix has the shape {_shown(lengths)}")
    rows, columns = map(int, lengths)
    check_memory(VECTORS * (rows + columns), f"a matrix of {rows} x {columns}")
    return rows, columns


def check_lengths(ends: NDArray[Any], total: int, what: str) -> None:
    """Refuse offsets (k,) that are no integers, or do not rise from 0 or more to the total."""
    if ends.ndim != 1 or ends.dtype.kind not in "iu":
        raise UnfitError(f"{what} are {ends.dtype} of shape {ends.shape}, not a list of integers")
    # One value may exceed int64; falling is compared before any subtraction.
    falls = bool(np.any(ends[1:] < ends[:-1]))
    last = int(ends[-1]) if len(ends) else 0
    if falls or last != total or (len(ends) and int(ends[0]) < 0):
        raise UnfitError(f"{what} do not rise from 0 to {total}")


def check_facts(header: Mapping[str, Any], kinds: Mapping[str, tuple[type, ...]]) -> None:
    """Refuse a header that lacks a fact or holds it as another type."""
    if not isinstance(header, Mapping):
        raise UnfitError("facts are missing in its header")
    for name, accepted in kinds.items():
        if name not in header:
            raise UnfitError(f"{name!r} is missing in its header")
        value = header[name]
        if not isinstance(value, accepted) or (isinstance(value, bool) and bool not in accepted):
            raise UnfitError(f"{name!r} is of the type {type(value).__name__} in its header")


def check_numbers(values: Any, what: str, kinds: str = "f", *, finite: bool = True) -> None:
    """Refuse an array whose type is not of these kinds, or that holds NaN or infinity."""
    if values.dtype.kind not in kinds:
        raise UnfitError(f"{what} is {values.dtype}")
    if finite and values.dtype.kind == "f" and not np.isfinite(values).all():
        raise UnfitError(f"{what} holds NaN or infinity")


def parse_json(text: bytes) -> Any:
    """Return what UTF-8 JSON says; NaN, infinity, deep nesting and broken text are refused."""
    try:
        content = json.loads(text.decode(), parse_constant=_refused, parse_float=_finite)
        json.dumps(content, ensure_ascii=False).encode()  # half a character cannot be written
    except (ValueError, RecursionError) as problem:
        raise UnfitError("its header is not JSON of plain values") from problem
    return content


def _refused(name: str) -> float:
    raise ValueError(name)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _shown(shape: Sequence[Any]) -> str:
    text = str(tuple(shape))
    return text if len(text) <= 60 else f"{text[:57]}..."
