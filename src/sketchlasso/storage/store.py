"""The package's own files: arrays and a JSON header in NumPy's npz format, without pickle.

``numpy.load(path)`` opens any of them. The array ``header`` holds UTF-8 JSON: ``format`` (2),
``content`` (what is stored), ``arrays`` (the shape of every other array by name) and ``facts``;
the functions that write a file describe its facts and arrays: :meth:`sketchlasso.Sketch.save`,
:func:`sketchlasso.save_model`, :meth:`sketchlasso.topics.TopicImager.save` and
:meth:`sketchlasso.topics.WordImages.save`. The checksums of the format notice damage.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sketchlasso.errors import StoredFileError
from sketchlasso.storage.atomic import replacing
from sketchlasso.types import SparseRows

Content = Literal["sketch", "model", "topics", "images", "part"]

FORMAT = 2


@dataclass(frozen=True)
class StoredInfo:
    """The description stored in a file, see :func:`stored_info`.

    Attributes
    ----------
    content : {"sketch", "model", "topics", "images"}
    facts : mapping
        Method, radius, seed, fingerprint and cost of a sketch; estimator, settings, names,
        fingerprint and library version of a model.
    arrays : mapping of str to tuple
        Shapes of the arrays in the file.
    """

    content: str
    facts: Mapping[str, Any]
    arrays: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Stored:
    """Facts and arrays of a file; each is checked where it is taken, and a misfit is ValueError."""

    facts: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]

    def fact(self, name: str, kind: type, optional: bool = False) -> Any:
        """Return a fact of this type; with `optional` it may be None or missing."""
        value = self.facts.get(name)
        if value is None and optional:
            return None
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            raise ValueError(f"{name!r} is {type(value).__name__}, not {kind.__name__}")
        return value

    def array(
        self,
        name: str,
        shape: tuple[int | None, ...] | None = None,
        kinds: str = "f",
        finite: bool = True,
    ) -> NDArray[Any]:
        """Return an array whose type is of these `kinds`; None in `shape` stands for any length."""
        array = self.arrays.get(name)
        if array is None or array.dtype.kind not in kinds:
            raise ValueError(f"the array {name!r} is missing or of another type")
        misfits = [
            need not in (None, own) for need, own in zip(shape or (), array.shape, strict=False)
        ]
        if any(misfits) or (shape is not None and array.ndim != len(shape)):
            raise ValueError(f"the array {name!r} has the shape {array.shape}")
        if finite and array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"the array {name!r} holds NaN or infinity")
        return array

    def matrix(self, name: str, shape: tuple[int, int]) -> SparseRows:
        """Return the sparse matrix that :func:`matrix_arrays` took apart."""
        parts = [self.array(f"{name}.{part}", (None,), "biuf") for part in MATRIX]
        matrix = sparse.csr_array((parts[0], parts[1], parts[2]), shape=shape)
        matrix.check_format(full_check=True)
        return matrix

    def strings(self, name: str) -> tuple[str, ...]:
        """Return the strings of :func:`strings_array`."""
        return tuple(map(str, json.loads(self.array(name, (None,), "u").tobytes())))

    def part(self, name: str) -> Stored:
        """Return the facts below a fact, and the arrays whose names begin with its name."""
        below = {key.removeprefix(f"{name}."): array for key, array in self.arrays.items()
                 if key.startswith(f"{name}.")}  # fmt: skip
        return Stored(self.fact(name, dict), below)


MATRIX = ("data", "indices", "indptr")


def matrix_arrays(name: str, matrix: SparseRows) -> dict[str, NDArray[Any]]:
    """Return the three arrays of a sparse matrix by name, for :meth:`Stored.matrix`."""
    return {f"{name}.{part}": getattr(matrix, part) for part in MATRIX}


def strings_array(strings: Sequence[str]) -> NDArray[np.uint8]:
    """Return strings as the bytes of a JSON list; lone surrogates become question marks."""
    text = json.dumps(list(strings), ensure_ascii=False).encode("utf-8", "replace")
    return np.frombuffer(text, dtype=np.uint8)


def write_stored(
    path: str | os.PathLike[str],
    content: Content,
    facts: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> None:
    """Write facts that JSON can hold and arrays to a file, wholly or not at all."""
    shapes = {name: array.shape for name, array in arrays.items()}
    header = {"format": FORMAT, "content": content, "arrays": shapes, "facts": facts}
    text = json.dumps(header, allow_nan=False).encode()
    if any(array.dtype.hasobject for array in arrays.values()):
        raise TypeError("arrays of objects cannot be stored without pickle")
    with replacing(Path(path)) as file:
        everything: Any = {"header": np.frombuffer(text, dtype=np.uint8), **arrays}
        np.savez(file, **everything)


@contextmanager
def reading(path: str | os.PathLike[str], content: Content) -> Iterator[Stored]:
    """Yield what :func:`write_stored` wrote.

    Whatever does not fit, in the file or in the block, ends in one sentence.
    """
    with _opened(path) as (header, archive):
        if header["content"] != content:
            raise StoredFileError(
                f"{path} holds {_with_article(header['content'])}, but {_with_article(content)} "
                f"{'are' if content.endswith('s') else 'is'} needed; give another path."
            )
        arrays = {name: archive[name] for name in archive if name != "header"}
        if {name: list(array.shape) for name, array in arrays.items()} != header["arrays"]:
            raise ValueError("it has other arrays than its header says")
        yield Stored(header["facts"], arrays)


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
        The file is missing, damaged, foreign, or of another version.
    """
    with _opened(path) as (header, _):
        shapes = {name: tuple(shape) for name, shape in header["arrays"].items()}
        return StoredInfo(header["content"], header["facts"], shapes)


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[tuple[dict[str, Any], Any]]:
    """Open a file: its header, and its arrays, which are read when they are taken."""
    try:
        with open(path, "rb") as file:
            is_npz = file.read(4) == b"PK\x03\x04"
            file.seek(0)
            archive = np.load(file, allow_pickle=False) if is_npz else {}
            if "header" not in archive:
                raise StoredFileError(
                    f"{path} was not written by sketchlasso; give the path of a sketch, a model, "
                    "topics or images."
                )
            header = json.loads(archive["header"].tobytes())
            if header["format"] != FORMAT:
                raise StoredFileError(
                    f"{path} has the format {header['format']}, but this release reads format "
                    f"{FORMAT}; read it with the release that wrote it, or make it again with this "
                    "one."
                )
            if not isinstance(header["content"], str) or not isinstance(header["facts"], dict):
                raise ValueError("its header is of an unknown kind")
            yield header, archive
    except StoredFileError:
        raise
    except OSError as problem:
        missing = isinstance(problem, FileNotFoundError)
        why = "does not exist" if missing else f"could not be read ({problem.strerror or problem})"
        raise StoredFileError(
            f"{path} {why}; give the path of a file that sketchlasso wrote."
        ) from problem
    except Exception as problem:
        raise StoredFileError(
            f"{path} is damaged or incomplete ({problem}); restore it from a copy or make it again."
        ) from problem


def _with_article(content: str) -> str:
    return content if content.endswith("s") else f"a {content}"
