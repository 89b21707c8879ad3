"""Checks of everything that is read from a file, before it is used.

Shapes, lengths, offsets and indices that a file declares are compared with the bytes in the file
and with the free memory before memory is allocated. All readers, of the library's own containers
and of foreign formats, use these checks. A failed check raises :class:`UnfitError`, whose message
becomes part of the reader's own.
"""

from __future__ import annotations

import json
import math
import os
import sys
import tokenize
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sketchlasso.types import is_whole

# Memory limit and use of the control group of this process, if it has one.
GROUP = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current"))
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
    """Shape, type and order of a stored array, and the bytes before its first entry."""

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

    `size` bytes are left in the file, which is at the first byte of the array. A header that
    declares more entries than that, a negative length, or a type other than plain numbers and
    text raises UnfitError.
    """
    start = file.tell()
    try:
        version = np.lib.format.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise UnfitError(f"version {version} of the npy format is for records")
        read = getattr(np.lib.format, f"read_array_header_{version[0]}_0")
        shape, by_columns, dtype = read(file)
    except UnfitError:
        raise
    except (*MISFITS, SyntaxError, tokenize.TokenError) as problem:
        raise UnfitError("an array has a header that cannot be understood") from problem
    header = ArrayHeader(tuple(shape), dtype, by_columns, file.tell() - start)
    if dtype.hasobject:
        raise PickledError("an array holds Python objects")
    if dtype.itemsize == 0 and math.prod(header.shape) > 0:
        raise UnfitError("an array has entries without a size")
    if any(isinstance(length, bool) or length < 0 for length in header.shape):
        raise UnfitError(f"an array has the shape {_shown(header.shape)}")
    if header.n_bytes > size - header.offset:
        raise UnfitError(
            f"an array declares the shape {_shown(header.shape)}, {in_words(header.n_bytes)}, "
            f"but only {in_words(max(0, size - header.offset))} are there"
        )
    return header


def read_array(file: IO[bytes], size: int) -> NDArray[Any]:
    """Read an array of plain numbers or text in NumPy's ``.npy`` format.

    `size` bytes are left in the (decompressed) file, which is at the first byte of the array.
    """
    header = read_array_header(file, size)
    check_memory(header.n_bytes, "an array")
    content = np.empty(header.n_bytes, dtype=np.uint8)
    view, filled = content.data, 0
    while filled < header.n_bytes:
        count = file.readinto(view[filled : filled + (1 << 22)])  # type: ignore[attr-defined]
        if not count:
            raise UnfitError("an array ends before its last entry")
        filled += count
    order: Literal["F", "C"] = "F" if header.by_columns else "C"
    return np.ndarray(header.shape, header.dtype, buffer=content, order=order)


def skip_array(file: IO[bytes], size: int) -> tuple[int, ...]:
    """Return the shape of an array that :func:`read_array` would read, and go to its end."""
    header = read_array_header(file, size)
    file.seek(header.n_bytes, os.SEEK_CUR)
    return header.shape


def free_memory() -> int:
    """Return the bytes that this process can still allocate, or sys.maxsize where unknown.

    The smallest of what the machine has available, what the limit on the address space
    (``ulimit -v``) leaves, and what the control group leaves.
    """
    return max(0, min(_machine(), _address_space(), _group()))


def in_words(amount: float) -> str:
    """Return bytes as a short text, such as 1.5 GB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.3g} {unit}"
        amount /= 1000
    return f"{amount:.3g} TB"


def _machine() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on Windows
        return sys.maxsize


def _address_space() -> int:
    try:
        import resource
    except ImportError:  # not on Windows
        return sys.maxsize
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return sys.maxsize
    try:
        return limit - int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf(
            "SC_PAGE_SIZE"
        )
    except (OSError, ValueError, IndexError):
        return limit


def _group() -> int:
    try:
        limit, used = (int(path.read_text()) for path in GROUP)
    except (OSError, ValueError):  # no such group, or "max"
        return sys.maxsize
    return limit - used


def check_memory(n_bytes: int, what: str) -> None:
    """Refuse more bytes than are free."""
    free = free_memory()
    if n_bytes > free:
        raise TooLargeError(
            f"{what} takes {in_words(n_bytes)} of memory but {in_words(free)} are free"
        )


def check_shape(shape: Sequence[Any]) -> tuple[int, int]:
    """Return the shape of a matrix as two integers; refuse one that does not fit the memory."""
    lengths = tuple(shape)
    if len(lengths) != 2 or not all(map(is_whole, lengths)) or min(lengths) < 0:
        raise UnfitError(f"a matrix has the shape {_shown(lengths)}")
    rows, columns = map(int, lengths)
    # At least 64 bytes of working memory per row and column.
    check_memory(64 * (rows + columns), f"a matrix of {rows} x {columns}")
    return rows, columns


def check_lengths(ends: NDArray[Any], total: int, what: str) -> None:
    """Refuse offsets (k,) unless they are integers that rise from 0 or more to the total."""
    if ends.ndim != 1 or ends.dtype.kind not in "iu":
        raise UnfitError(f"{what} are {ends.dtype} of shape {ends.shape}, not a list of integers")
    # Compare rather than subtract: a value may exceed int64.
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
    """Parse UTF-8 JSON; refuse NaN, infinity, deep nesting and broken text."""
    try:
        content = json.loads(text.decode(), parse_constant=_finite, parse_float=_finite)
        json.dumps(content, ensure_ascii=False).encode()  # a lone surrogate cannot be encoded
    except (ValueError, RecursionError) as problem:
        raise UnfitError("its header is not JSON of plain values") from problem
    return content


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _shown(shape: Sequence[Any]) -> str:
    text = str(tuple(shape))
    return text if len(text) <= 60 else f"{text[:57]}..."
