"""Detect the format of a file and open it; every failure becomes one sentence."""

from __future__ import annotations

import atexit
import bz2
import gzip
import importlib
import io
import lzma
import os
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from sketchlasso.errors import (
    Argument,
    InvalidInputError,
    MissingExtraError,
    StoredFileError,
    unaccepted,
)
from sketchlasso.storage.door import PickledError, TooLargeError, UnfitError

# Formats and their endings; names of bag-of-words files begin with docword.
FORMATS: dict[str, tuple[str, ...]] = {
    "svmlight": (".svm", ".svmlight", ".libsvm"),
    "bag-of-words": ("docword.*.txt",),
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".feather", ".arrow", ".ipc"),
    "npz": (".npz",),
    "npy": (".npy",),
    "matrix-market": (".mtx",),
}
SPREADSHEETS = (".xlsx", ".xls", ".ods", ".numbers")
COMPRESSIONS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz"}
COMPRESSIBLE = ("svmlight", "bag-of-words", "csv", "tsv", "matrix-market")
# First bytes that identify a format or compression.
BEGINNINGS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK": "npz",
    b"\x93NUMPY": "npy",
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"%%MatrixMarket": "matrix-market",
}
MARKED = ("npz", "npy", "parquet", "matrix-market")
# A compressed file may become ANY bytes, or TIMES its size if that is more. Tables of numbers
# compress 3 to 30 times, and text rarely 400 times.
ANY, TIMES = 1 << 23, 400


class NoRowsError(InvalidInputError):
    """The file is valid but has no rows, which only shards among others may do."""


@dataclass(frozen=True)
class Source:
    """A file that exists, with its format (a key of FORMATS) and compression.

    Messages call it by its `title`, where its path means nothing to the user.
    """

    path: Path
    format: str
    compression: str | None
    title: str = ""

    def __str__(self) -> str:
        return self.title or str(self.path)

    @classmethod
    def of(
        cls, path: str | os.PathLike[str], format: str | None = None, *, shard: bool = False
    ) -> Source:
        """Check a file's name and first bytes against its format.

        An empty text file is refused, unless it is a shard among others.
        """
        if os.fspath(path) == "-":
            copy = standard_input()
            with open(copy, "rb") as file:
                kind = _kind(file.read(16))
            chosen = format or (kind if kind in FORMATS else None) or "csv"
            return cls(copy, chosen, None, "standard input")._checked(shard)
        place = Path(path)
        if not place.exists():
            raise StoredFileError(
                f"{place} does not exist; give the path of a file with data (looked in "
                f"{place.absolute().parent})."
            )
        if not place.is_file():
            raise StoredFileError(f"{place} is not a file; give the path of one file with data.")
        compression = COMPRESSIONS.get(place.suffix.lower())
        return cls(place, format_of(place, format), compression)._checked(shard)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the bytes, decompressed, with damage translated into one sentence."""
        with self.guarded():
            if self.compression is None:
                with open(self.path, "rb") as plain:
                    yield plain
            else:
                with self._decompressed() as stream:
                    try:
                        yield stream
                    except (ValueError, OverflowError):
                        with self._decompressed() as again:  # later damage may be the cause
                            while again.read(1 << 20):
                                pass
                        raise

    @contextmanager
    def open_text(self) -> Iterator[TextIO]:
        """Open the text, decompressed, UTF-8 with or without a byte-order mark."""
        with self.open() as stream:
            yield io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Translate the errors of reading into a StoredFileError."""
        try:
            yield
        except (UnfitError, MemoryError, RecursionError) as unfit:
            raise self._unfit(unfit) from unfit
        except EOFError as cut:
            raise self.damaged("is truncated (it ends before its content does)") from cut
        except (gzip.BadGzipFile, zlib.error, lzma.LZMAError) as broken:
            kind = self.compression or "compressed"
            raise self.damaged(f"is damaged (its {kind} data are broken)") from broken
        except UnicodeDecodeError as foreign:
            raise StoredFileError(
                f"{self} is not UTF-8 text (it holds the byte 0x{foreign.object[foreign.start]:02x}"
                "); save it as UTF-8 first."
            ) from foreign
        except OSError as problem:
            if self.compression is not None and problem.errno is None:
                raise self.damaged(f"is damaged (its {self.compression} data are broken)") from None
            raise StoredFileError(
                f"{self} could not be read ({problem.strerror or problem}); give the path of a "
                "file that may be read."
            ) from problem

    def damaged(self, fault: str) -> StoredFileError:
        """Return the error for a damaged file."""
        return StoredFileError(f"{self} {fault}; restore it from a copy or fetch it again.")

    def misread(self, problem: Exception) -> StoredFileError:
        """Return the error for content that another library refused, with its first sentence."""
        text = re.split(r"\.\s|\n", str(problem))[0].rstrip(". ")
        return self.damaged(f"could not be read as {self.format} ({text})")

    def check_declared(self, entries: int) -> None:
        """Refuse more entries than the file can have bytes, decompressed."""
        size = self.path.stat().st_size
        most = size if self.compression is None else max(ANY, TIMES * size)
        if entries > most:
            raise UnfitError(f"{entries} entries are declared, but at most {most} bytes are there")

    def check_count(self, found: int, wanted: int, promised: str) -> None:
        """Refuse a file with fewer or more entries than it promises."""
        if found != wanted:
            more = "more than" if found > wanted else f"{found} of"
            raise self.damaged(f"holds {more} the {wanted} {promised}")

    def _unfit(self, problem: BaseException) -> StoredFileError:
        """Return the error for content that failed a check or did not fit the memory."""
        if isinstance(problem, PickledError):
            return StoredFileError(
                f"{self} holds Python objects, which are never read because they can run code; "
                "save plain numbers and text."
            )
        if isinstance(problem, TooLargeError | MemoryError):
            clause = str(problem) if isinstance(problem, TooLargeError) else "no memory is left"
            return StoredFileError(
                f"{self} is too large to be read here ({clause}); check that it is what it should "
                "be, free memory or read it on a larger machine."
            )
        if isinstance(problem, RecursionError):
            return self.damaged("is nested too deeply")
        return self.damaged(f"is damaged or was not written as it should be ({problem})")

    @contextmanager
    def _decompressed(self) -> Iterator[BinaryIO]:
        openers: dict[str | None, Callable[..., Any]]
        openers = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}
        with open(self.path, "rb") as raw, openers[self.compression](raw, "rb") as stream:
            yield io.BufferedReader(_Inflated(stream, raw), 1 << 17)

    def _checked(self, shard: bool) -> Source:
        """Return the source itself, if the first bytes of the file are of its format."""
        with self.guarded(), open(self.path, "rb") as file:
            first = file.read(16)
        if not first:
            # Other programs write shards without rows as empty text files.
            plain = self.compression is None and self.format in ("svmlight", "csv", "tsv")
            if shard and plain:
                return self
            raise StoredFileError(f"{self} is empty; give the path of a file with data.")
        kind = _kind(first)
        if self.compression is not None:
            if kind != self.compression:
                raise StoredFileError(
                    f"{self} is not {self.compression} data although its name says so; rename it "
                    "by what it holds or fetch it again."
                )
            return self
        if kind in (*COMPRESSIONS.values(), "zstd"):
            ending = next((e for e, k in COMPRESSIONS.items() if k == kind), None)
            cure = f"add {ending} to its name" if ending else "decompress it first"
            raise StoredFileError(f"{self} holds {kind} data although its name does not; {cure}.")
        wrong = kind is not None and kind != self.format
        if wrong or (self.format in MARKED and kind != self.format):
            held = f"holds {kind} data" if kind else f"is not a file of the format {self.format}"
            known = kind in FORMATS
            raise StoredFileError(
                f"{self} {held} but is to be read as {self.format}; ",
                "pass " if known else "check its name or pass ",
                Argument("format", kind) if known else Argument("format"),
                ".",
            )
        return self


class _Inflated(io.RawIOBase):
    """A decompressed stream over a binary file; an error where it outgrows that file."""

    def __init__(self, stream: Any, raw: BinaryIO) -> None:
        self._stream, self._raw = stream, raw
        self._length = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        count = int(self._stream.readinto(buffer))
        self._length += count
        if self._length > max(ANY, TIMES * self._raw.tell()):
            raise UnfitError(
                f"it becomes more than {TIMES} times as large when it is decompressed, which no "
                "table does"
            )
        return count


@cache
def standard_input() -> Path:
    """Return a temporary copy of standard input; it is removed when the process ends."""
    handle, name = tempfile.mkstemp(prefix="sketchlasso-")
    copy = Path(name)
    atexit.register(copy.unlink, missing_ok=True)
    with os.fdopen(handle, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return copy


def _kind(first: bytes) -> str | None:
    """Return the format or compression that the first bytes of a file mark, or None."""
    return next((kind for mark, kind in BEGINNINGS.items() if first.startswith(mark)), None)


def format_of(path: Path, format: str | None = None) -> str:
    """Return the requested format, or that of the file's name."""
    if format is not None and format not in FORMATS:
        raise unaccepted("format", format, f"one of {', '.join(map(repr, FORMATS))}")
    ending = plain_ending(path)
    found = format or next((key for key, endings in FORMATS.items() if ending in endings), None)
    if found is None and path.name.lower().startswith("docword.") and ending == ".txt":
        found = "bag-of-words"
    if found is None:
        if ending in SPREADSHEETS:
            raise InvalidInputError(
                f"{path} is a spreadsheet, which is not supported; save the table as CSV."
            )
        raise InvalidInputError(
            f"cannot tell the format of {path} from its name; pass ",
            Argument("format"),
            f" with one of {_listed(FORMATS)}.",
        )
    if path.suffix.lower() in COMPRESSIONS and found not in COMPRESSIBLE:
        raise InvalidInputError(
            f"{path} is a compressed {found} file, but only {_listed(COMPRESSIBLE)} are read "
            "compressed; decompress it first."
        )
    return found


def plain_ending(path: Path) -> str:
    """Return the ending of a file's name, in lower case, without that of its compression."""
    compressed = path.suffix.lower() in COMPRESSIONS
    return (Path(path.stem) if compressed else path).suffix.lower()


def read_lines(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the lines of a text file, without their ends."""
    with Source.of(path, "csv").open_text() as file:
        return tuple(line.rstrip("\r\n") for line in file)


def require(module: str, feature: str, extra: str = "files") -> Any:
    """Import a module of an optional package, which belongs to an extra; `feature` needs it."""
    try:
        return importlib.import_module(module)
    except ImportError as missing:
        raise MissingExtraError(feature, module.partition(".")[0], extra) from missing


def _listed(words: Any) -> str:
    shown = list(map(repr, words))
    return ", ".join(shown[:-1]) + f" and {shown[-1]}"
