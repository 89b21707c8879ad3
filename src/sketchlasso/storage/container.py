"""The file format of stored sketches and models.

A container for named arrays and a JSON header, without pickle. All integers are little-endian::

    offset  bytes  content
         0     16  magic: 0x93 "SKETCHLASSO" CR LF 0x1A LF
        16      4  format version, unsigned (1)
        20      8  length of the payload in bytes, unsigned
        28     32  SHA-256 of the payload
        60    ...  payload, up to the end of the file

The payload is an unsigned 8-byte length, a UTF-8 JSON header of that length, and one array
after another in NumPy's own ``.npy`` format. The header's key ``arrays`` lists their names in
order and ``content`` says what is stored; the functions that write it describe the other keys:
:meth:`sketchlasso.Sketch.save`, :func:`sketchlasso.save_model`,
:meth:`sketchlasso.topics.TopicImager.save` and :meth:`sketchlasso.topics.WordImages.save`.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from sketchlasso.errors import Name, StoredFileError
from sketchlasso.storage.atomic import replacing
from sketchlasso.storage.door import MISFITS, UnfitError, parse_json, read_array, skip_array

MAGIC = b"\x93SKETCHLASSO\r\n\x1a\n"
FORMAT_VERSION = 1
PREFIX = struct.Struct("<16sIQ32s")
LENGTH = struct.Struct("<Q")


@dataclass(frozen=True)
class Content:
    """What a container can hold, and the public names that write and read it."""

    name: str
    writer: Name
    reader: Name

    def refusal(self, text: str) -> StoredFileError:
        """Return an error whose sentence ends with the name of the writer."""
        return StoredFileError(text, self.writer, ".")


Found = TypeVar("Found")
SKETCH = Content("sketch", Name("Sketch.save"), Name("load_sketch"))
MODEL = Content("model", Name("save_model"), Name("load_model"))
TOPICS = Content("topics", Name("TopicImager.save"), Name("load_topics"))
IMAGES = Content("images", Name("TopicImager.image_all"), Name("load_images"))
KNOWN = (SKETCH, MODEL, TOPICS, IMAGES)
ANYTHING = Content("file of sketchlasso", Name("sketchlasso"), Name("sketchlasso"))


@dataclass(frozen=True)
class StoredInfo:
    """The description stored in a file, see :func:`stored_info`.

    Attributes
    ----------
    content : {"sketch", "model", "topics", "images"}
    facts : mapping
        The header of the file: method, radius, seed, fingerprint and cost of a sketch;
        estimator, settings, names, fingerprint and library version of a model.
    arrays : mapping of str to tuple
        Shapes of the arrays in the file.
    """

    content: str
    facts: Mapping[str, Any]
    arrays: Mapping[str, tuple[int, ...]]


class _HashingWriter:
    """A file that hashes and counts the bytes written to it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.digest = hashlib.sha256()
        self.length = 0

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        self.length += len(data)
        return self._file.write(data)


def write_container(
    path: str | os.PathLike[str],
    content: Content,
    header: Mapping[str, object],
    arrays: Mapping[str, NDArray[Any]],
) -> None:
    """Write a JSON header and arrays to a file, replacing it only once all is written."""
    everything = {"content": content.name, **header, "arrays": list(arrays)}
    text = json.dumps(everything, allow_nan=False).encode()
    with replacing(Path(path)) as file:
        file.write(bytes(PREFIX.size))
        writer = _HashingWriter(file)
        writer.write(LENGTH.pack(len(text)))
        writer.write(text)
        for array in arrays.values():
            np.lib.format.write_array(writer, array, allow_pickle=False)
        file.seek(0)
        file.write(PREFIX.pack(MAGIC, FORMAT_VERSION, writer.length, writer.digest.digest()))


def read_container(
    path: str | os.PathLike[str], content: Content
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read back the header and arrays that :func:`write_container` wrote, after checking all.

    A file that is missing, truncated, altered, foreign, of a newer version, or that holds
    something else than `content` raises StoredFileError.
    """
    return _read(path, content, read_array)


def _read(
    path: str | os.PathLike[str], content: Content, read: Callable[[BinaryIO, int], Found]
) -> tuple[dict[str, Any], dict[str, Found]]:
    """See :func:`read_container`; `read` makes something of each array."""
    try:
        with open(path, "rb") as file:
            _check(file, path, content)
            file.seek(PREFIX.size)
            header, arrays = _payload(file, os.fstat(file.fileno()).st_size - PREFIX.size, read)
    except FileNotFoundError as missing:
        raise content.refusal(
            f"{path} does not exist; give the path of a file written by "
        ) from missing
    except OSError as problem:
        raise content.refusal(
            f"{path} could not be read ({problem.strerror}); give the path of a file written by "
        ) from problem
    except StoredFileError:
        raise
    except (*MISFITS, struct.error) as problem:
        # The checksum fits, so nothing was damaged: another program wrote the payload.
        reason = f" ({problem})" if isinstance(problem, UnfitError) else ""
        raise content.refusal(
            f"{path} has the frame of {_article(content)} but its content cannot be understood"
            f"{reason}; write it again with "
        ) from problem
    if content is not ANYTHING:
        _check_content(path, content, header.get("content"))
    return header, arrays


@contextmanager
def unpacking(path: str | os.PathLike[str], content: Content) -> Iterator[None]:
    """Turn errors of parts that do not fit together into one sentence."""
    try:
        yield
    except MISFITS as problem:
        reason = f" ({problem})" if isinstance(problem, UnfitError) else ""
        raise content.refusal(
            f"{path} holds no complete {content.name}{reason}; write it again with "
        ) from problem


def stored_info(path: str | os.PathLike[str]) -> StoredInfo:
    """Describe the content of a file: a sketch, a model, topics, or images of words.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    StoredInfo

    Raises
    ------
    StoredFileError
        The file is missing, truncated, altered, foreign, or of a newer version.
    """
    header, shapes = _read(path, ANYTHING, skip_array)
    content = header.pop("content", None)
    if not isinstance(content, str) or content not in [known.name for known in KNOWN]:
        raise StoredFileError(
            f"{path} has content unknown to this release; give a file written by sketchlasso."
        )
    return StoredInfo(content, header, shapes)


def _check(file: BufferedReader, path: str | os.PathLike[str], content: Content) -> None:
    prefix = file.read(PREFIX.size)
    if prefix[: len(MAGIC)] != MAGIC[: len(prefix)] or not prefix:
        raise content.refusal(
            f"{path} is not {_article(content, 'stored ')}; give the path of a file written by "
        )
    truncated = content.refusal(
        f"{path} is truncated (it ends before its content does); restore it from a copy or write "
        "it again with "
    )
    if len(prefix) < PREFIX.size:
        raise truncated
    _, version, length, checksum = PREFIX.unpack(prefix)
    if version != FORMAT_VERSION:
        raise StoredFileError(
            f"{path} has format version {version}, but this release reads version "
            f"{FORMAT_VERSION}; read it with a newer sketchlasso or write it again with this one."
        )
    found = os.fstat(file.fileno()).st_size - PREFIX.size
    if found < length:
        raise truncated
    if found > length or hashlib.file_digest(file, "sha256").digest() != checksum:
        raise content.refusal(
            f"{path} was altered after it was written (its checksum does not match); restore it "
            "from a copy or write it again with "
        )


def _payload(
    file: BinaryIO, length: int, read: Callable[[BinaryIO, int], Found]
) -> tuple[dict[str, Any], dict[str, Found]]:
    """Read header and arrays from a payload of `length` bytes, which end where it ends."""
    end = file.tell() + length
    (size,) = LENGTH.unpack(file.read(LENGTH.size))
    if size > end - file.tell():
        raise UnfitError(f"its header declares {size} bytes but {end - file.tell()} are there")
    header = parse_json(file.read(size))
    names: Any = header.pop("arrays") if isinstance(header, dict) else None
    listed = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not listed or len(set(names)) != len(names):
        raise UnfitError("its header does not list the arrays by name")
    arrays = {name: read(file, end - file.tell()) for name in names}
    if file.tell() != end:
        raise UnfitError("bytes are left after the last array")
    return header, arrays


def _check_content(path: str | os.PathLike[str], content: Content, found: object) -> None:
    """Refuse a file with other content than `content`."""
    for other in KNOWN:
        if found == other.name != content.name:
            raise StoredFileError(
                f"{path} holds {_article(other)}, but {_article(content)} "
                f"{'are' if content.name.endswith('s') else 'is'} needed; read it with ",
                other.reader,
                ", or give a file written by ",
                content.writer,
                ".",
            )
    if found != content.name:
        raise content.refusal(
            f"{path} does not say that it holds {_article(content)}; give a file written by "
        )


def _article(content: Content, kind: str = "") -> str:
    """Return the name with its article: "a sketch", but "topics"."""
    return f"{'' if content.name.endswith('s') else 'a '}{kind}{content.name}"
