"""UCI bag-of-words: three counts (documents D, words W, entries N), then N triples.

::

    D
    W
    N
    document word count
    ...

Documents and words are numbered from 1. The words themselves are the lines of a file
``vocab.NAME.txt`` beside ``docword.NAME.txt``.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sketchlasso.errors import Argument, InvalidInputError, StoredFileError
from sketchlasso.files.options import ReadOptions
from sketchlasso.files.source import COMPRESSIONS, Source, read_lines
from sketchlasso.files.table import GrowingArray, Table, as_csr, refuse_target
from sketchlasso.storage import replacing
from sketchlasso.storage.door import check_shape

# Bytes of text parsed at a time.
BLOCK = 1 << 23
# Lines before the first entry.
HEADER = 3


def read_bag_of_words(source: Source, options: ReadOptions) -> Table:
    """Read word counts into a sparse table without a target, one row per document."""
    with source.open() as file:
        shape, entries = _header(source, file)
        rows, columns, counts = _triples(source, file, shape, entries, options)
    X: Any
    if np.all(rows[1:] >= rows[:-1]):
        # Usual files are sorted by document, so counting the rows is enough.
        indptr = np.searchsorted(rows, np.arange(shape[0] + 1, dtype=rows.dtype))
        del rows
        X = sparse.csr_array((counts, columns, indptr), shape=shape)
    else:
        X = sparse.coo_array((counts, (rows, columns)), shape=shape)
    words = _vocabulary(source, options.vocabulary, shape[1])
    return Table(as_csr(X), None, words, None, str(source))


def write_bag_of_words(path: Path, table: Table) -> None:
    """Write word counts, and the words to a vocab file if they are known."""
    refuse_target(path, table)
    X = sparse.csr_array(table.X, copy=True)  # the caller's own keeps its stored zeros
    X.eliminate_zeros()
    wrong = X.data[(X.data < 1) | (X.data != np.rint(X.data))]
    if len(wrong):
        raise InvalidInputError(
            f"{path} cannot be written: bag-of-words files hold counts but the table holds "
            f"{wrong[0]}; round it or write an npz file."
        )
    if table.feature_names is not None:
        _write_words(path, table.feature_names)
    with replacing(path, compress=True) as file:
        file.write("{}\n{}\n{}\n".format(*X.shape, X.nnz).encode())
        for row in range(X.shape[0]):
            chosen = slice(X.indptr[row], X.indptr[row + 1])
            triple = f"{row + 1} {{}} {{}}\n".format
            words = (X.indices[chosen] + 1).tolist()
            file.write("".join(map(triple, words, X.data[chosen].astype(int).tolist())).encode())


def _header(source: Source, file: BinaryIO) -> tuple[tuple[int, int], int]:
    lines = [file.readline(80).strip() for _ in range(HEADER)]
    if not all(line.isdigit() for line in lines):
        raise StoredFileError(
            f"{source} does not begin with three lines of one number each (documents, words, "
            "entries), as bag-of-words files do; check its format or pass ",
            Argument("format"),
            ".",
        )
    documents, words, entries = map(int, lines)
    if 0 in (documents, words):
        raise StoredFileError(f"{source} holds no documents or no words; give a file with data.")
    source.check_declared(entries)
    return check_shape((documents, words)), entries


def _triples(
    source: Source, file: BinaryIO, shape: tuple[int, int], entries: int, options: ReadOptions
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return rows, columns (both from 0) and counts, each of shape (entries,)."""
    kinds = [np.int32 if size <= np.iinfo(np.int32).max else np.int64 for size in shape]
    kept = [GrowingArray(kind) for kind in (*kinds, options.type_of(np.float64))]
    for block in line_blocks(file):
        done = len(kept[0])
        values = parse_numbers(block, np.int64)
        if values is None or len(values) != 3 * (block.count(b"\n") + 1):
            raise _explained(source, block, done)
        triples = values.reshape(-1, 3)
        _check(source, triples, shape, done)
        for part, values, first in zip(kept, triples.T, (1, 1, 0), strict=True):
            part.append(values - first)
        if len(kept[0]) > entries:
            break
    source.check_count(len(kept[0]), entries, "entries its third line promises")
    rows, columns, counts = (part.take() for part in kept)
    return rows, columns, counts


def line_blocks(file: BinaryIO) -> Iterator[bytes]:
    """Yield the file in large blocks of whole lines, without blank lines at their ends."""
    rest = b""
    while block := file.read(BLOCK):
        block = rest + block
        end = block.rfind(b"\n") + 1
        rest = block[end:]
        if lines := block[:end].strip():
            yield lines
    if lines := rest.strip():
        yield lines


def parse_numbers(block: bytes, dtype: Any) -> NDArray[Any] | None:
    """Return the numbers (k,) of a block of text, or None if some word is not a number."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # NumPy before 2.3 only warns
            return np.fromstring(block, dtype=dtype, sep=" ")
    except (ValueError, DeprecationWarning):
        return None


def _explained(source: Source, block: bytes, done: int) -> StoredFileError:
    for number, line in enumerate(block.split(b"\n"), start=done + HEADER + 1):
        words = line.split()
        if len(words) != 3 or not all(word.isdigit() for word in words):
            shown = line.strip()[:60].decode("utf-8", "replace")
            return StoredFileError(
                f"{source} holds {shown!r} in line {number}, but three whole numbers (document, "
                "word, count) are needed; correct it or fetch the file again."
            )
    return source.damaged("could not be read as bag-of-words")  # pragma: no cover


def _check(source: Source, triples: NDArray[np.int64], shape: tuple[int, int], done: int) -> None:
    # NumPy reads numbers beyond 64 bits as the largest or smallest one.
    limits = np.array([*shape, np.iinfo(np.int64).max - 1])
    wrong = (triples < (1, 1, 0)) | (triples > limits)
    if not wrong.any():
        return
    row, column = np.argwhere(wrong)[0]
    what = ("document", "word", "count")[column]
    allowed = f"{0 if column == 2 else 1} to {limits[column]}"
    raise StoredFileError(
        f"{source} holds the {what} {triples[row, column]} in line {done + row + HEADER + 1}, but "
        f"{allowed} is possible; correct the header or that line."
    )


def _vocabulary(
    source: Source, given: str | os.PathLike[str] | None, words: int
) -> tuple[str, ...] | None:
    place = _beside(source.path) if given is None else Path(given)
    if place is None or (given is None and not place.is_file()):
        return None
    names = read_lines(place)
    if len(names) != words:
        raise InvalidInputError(
            f"{place} holds {len(names)} words but {source} has {words} columns; give the "
            "vocabulary that belongs to it."
        )
    return names


def _beside(path: Path) -> Path | None:
    """Return the path of the vocabulary of docword.NAME.txt: vocab.NAME.txt, never compressed."""
    name = path.stem if path.suffix.lower() in COMPRESSIONS else path.name
    if not name.lower().startswith("docword."):
        return None
    return path.with_name("vocab." + name[len("docword.") :])


def _write_words(path: Path, words: tuple[str, ...]) -> None:
    place = _beside(path)
    if place is None:
        raise InvalidInputError(
            f"{path} cannot be written: its words belong in a vocab file beside it, which only "
            "files called docword.NAME.txt have; rename it or leave out the feature names."
        )
    broken = next((word for word in words if word.splitlines() != [word]), None)
    if broken is not None:
        raise InvalidInputError(
            f"{place} cannot be written: it holds one word per line but {broken!r} is not one "
            "line; rename it."
        )
    with replacing(place) as file:
        file.write("".join(f"{word}\n" for word in words).encode())
