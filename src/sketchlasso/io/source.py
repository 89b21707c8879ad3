"""Find files, tell their formats, open them decompressed; every failure becomes one sentence."""

from __future__ import annotations

import bz2
import glob
import gzip
import importlib
import io
import lzma
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

from sketchlasso.errors import (
    InvalidInputError,
    MissingExtraError,
    SketchlassoError,
    StoredFileError,
    unaccepted,
)

Format = Literal[
    "svmlight", "bag-of-words", "csv", "tsv", "jsonl", "parquet", "arrow", "npz", "npy",
    "matrix-market",
]  # fmt: skip
PathLike: TypeAlias = "str | os.PathLike[str]"
Paths: TypeAlias = "PathLike | Sequence[PathLike]"

# Formats and their endings; names of bag-of-words files begin with docword.
FORMATS: dict[str, tuple[str, ...]] = {
    "svmlight": (".svm", ".svmlight", ".libsvm"),
    "bag-of-words": ("docword.*.txt",),
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "jsonl": (".jsonl", ".ndjson"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".feather", ".arrow", ".ipc"),
    "npz": (".npz",),
    "npy": (".npy",),
    "matrix-market": (".mtx",),
}
# Formats of named columns, which pyarrow reads.
TABLES = ("csv", "tsv", "jsonl", "parquet", "arrow")
COMPRESSIONS = (".gz", ".bz2", ".xz")
# First bytes of compressed files, and of formats where the name says nothing.
OPENERS: dict[bytes, Any] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
BEGINNINGS = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"PK\x03\x04": "npz",
    b"\x93NUMPY": "npy",
    b"%%MatrixMarket": "matrix-market",
    b"{": "jsonl",
}


def format_of(path: PathLike, format: str | None = None) -> str:
    """Return the requested format, or that of the file's name."""
    if format is not None:
        if format not in FORMATS:
            raise unaccepted("format", format, f"one of {', '.join(map(repr, FORMATS))}")
        return format
    ending = plain_ending(path)
    for name, endings in FORMATS.items():
        if ending in endings:
            return name
    if Path(path).name.lower().startswith("docword.") and ending == ".txt":
        return "bag-of-words"
    raise InvalidInputError(
        f"cannot tell the format of {path} from its name; give the format, one of "
        f"{', '.join(FORMATS)} (save spreadsheets as CSV)."
    )


def plain_ending(path: PathLike) -> str:
    """Return the ending of a file's name, in lower case, without that of its compression."""
    place = Path(path)
    return (Path(place.stem) if place.suffix.lower() in COMPRESSIONS else place).suffix.lower()


def found_format(path: PathLike, stream: BinaryIO, format: str | None) -> str:
    """Return the format of an open file; its first bytes count where it has no name of its own."""
    if format is not None or not _nameless(path):
        return format_of(path, format)
    first = stream.read(16)
    stream.seek(0)
    return next((kind for mark, kind in BEGINNINGS.items() if first.startswith(mark)), "csv")


def title_of(path: PathLike) -> str:
    """Return the name of a file in messages."""
    return "standard input" if os.fspath(path) == "-" else str(path)


@contextmanager
def open_bytes(path: PathLike) -> Iterator[BinaryIO]:
    """Open a file, decompressed; standard input and pipes are read into memory first."""
    with ExitStack() as stack:
        with failures(path):
            raw: Any
            if _nameless(path):
                raw = io.BytesIO(piped_bytes(os.fspath(path)))
            else:
                raw = stack.enter_context(open(path, "rb"))
            first = raw.read(6)
            raw.seek(0)
        if not first:
            raise StoredFileError(f"{title_of(path)} is empty; give the path of a file with data.")
        opener = next((one for mark, one in OPENERS.items() if first.startswith(mark)), None)
        yield raw if opener is None else stack.enter_context(opener(raw, "rb"))


def read_lines(path: PathLike) -> tuple[str, ...]:
    """Return the lines of a UTF-8 text file, without their ends.

    Only line feeds and carriage returns end a line, as editors count them.

    Parameters
    ----------
    path : path-like
        Perhaps compressed; ``-`` for standard input.

    Returns
    -------
    tuple of str
    """
    with open_bytes(path) as stream, failures(path):
        text = stream.read().decode("utf-8-sig")
    return tuple(line.rstrip("\r\n") for line in io.StringIO(text, newline=None))


@contextmanager
def failures(path: PathLike, format: str = "") -> Iterator[None]:
    """Translate what libraries raise where they parse a file; nothing else belongs inside."""
    title = title_of(path)
    try:
        yield
    except SketchlassoError:
        raise
    except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as broken:
        raise StoredFileError(
            f"{title} is truncated or damaged; restore it from a copy or fetch it again."
        ) from broken
    except (OSError, MemoryError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem) or "not enough memory"
        raise StoredFileError(
            f"{title} could not be read ({reason}); give the path of a file that may be read."
        ) from problem
    except (ValueError, TypeError, KeyError, OverflowError, NotImplementedError) as problem:
        text = re.split(r"\.\s|\n", str(problem))[0].rstrip(". ")
        if isinstance(problem, UnicodeDecodeError) or "UTF8" in text:
            raise StoredFileError(
                f"{title} is not UTF-8 text; give its text encoding, such as latin-1 or cp1252."
            ) from problem
        if text.startswith("CSV parse error"):
            raise InvalidInputError(
                f"{title} has rows of different lengths or a quotation mark that is not closed "
                f"({text[17:]}); correct them or give the separator."
            ) from problem
        kind = f" as {format}" if format else ""
        raise StoredFileError(
            f"{title} could not be read{kind} ({text}); check that it is what its name says."
        ) from problem


@cache
def piped_bytes(path: str) -> bytes:
    """Return what standard input ("-") or a pipe holds; it can be read only once."""
    return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()


def _nameless(path: PathLike) -> bool:
    """Whether a path is standard input or a pipe."""
    return os.fspath(path) == "-" or (Path(path).exists() and not Path(path).is_file())


def find_files(paths: Paths, format: str | None = None) -> list[Path]:
    """Return the files of paths: each a file, a folder or a pattern, in natural order."""
    found: list[Path] = []
    for path in [paths] if isinstance(paths, str | os.PathLike) else paths:
        place = Path(path)
        if place.is_dir():
            held = [item for item in place.iterdir() if _is_data(item, format)]
        elif place.exists() or str(path) == "-":
            held = [place]
        else:
            held = [
                Path(one) for one in glob.glob(str(path), recursive=True) if Path(one).is_file()
            ]
        if not held:
            raise StoredFileError(
                f"{place} does not exist, or holds no file of a known format (looked in "
                f"{Path.cwd()}); give files, a folder with data files or a pattern such as "
                "'part-*.npz'."
            )
        found += sorted(held, key=natural_order)
    if not found:
        raise InvalidInputError("no file was given; give files, a folder or a pattern.")
    if len(set(found)) < len(found):
        twice = next(place for place in found if found.count(place) > 1)
        raise InvalidInputError(
            f"{twice} was given twice, but every row counts once; name each file once."
        )
    return found


def natural_order(path: PathLike) -> list[Any]:
    """A key for sorting: numbers inside a name count as numbers."""
    parts = re.split(r"(\d+)", str(path))
    return [int(part) if place % 2 else part for place, part in enumerate(parts)]


def _is_data(place: Path, format: str | None) -> bool:
    """Whether a file in a folder is data: hidden files and markers such as _SUCCESS are not."""
    if place.name.startswith((".", "_")) or not place.is_file():
        return False
    try:
        return bool(format_of(place, format))
    except InvalidInputError:
        return False


def require(module: str, feature: str, extra: str = "cli") -> Any:
    """Import a module of an optional package, which belongs to an extra; `feature` needs it."""
    try:
        return importlib.import_module(module)
    except ImportError as missing:
        raise MissingExtraError(feature, module.partition(".")[0], extra) from missing
