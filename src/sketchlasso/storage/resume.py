"""Resumable parts of a long computation, in a folder beside the output file."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from filelock import FileLock, Timeout

from sketchlasso.errors import InvalidInputError, StoredFileError
from sketchlasso.storage.atomic import replacing
from sketchlasso.storage.store import matrix_arrays, reading, write_stored

Rows = TypeVar("Rows")


@dataclass(frozen=True)
class Parts:
    """Numbered parts; each is complete or missing, and survives an interruption.

    Without a folder no part is kept.
    """

    folder: Path | None

    @classmethod
    @contextmanager
    def beside(
        cls, path: str | os.PathLike[str] | None, settings: Mapping[str, Any], what: str
    ) -> Iterator[Parts]:
        """Yield the parts of an output file, if there is one; other processes are refused.

        The folder is removed if the block ends without an exception. `settings`, which JSON can
        hold, and arrays decide the result: parts of other settings are refused, in a message that
        calls the data `what`, such as "corpus".
        """
        if path is None:
            yield cls(None)
            return
        folder = Path(f"{os.fspath(path)}.parts")
        with _locked(folder, path):
            stamp = folder / "settings.json"
            text = json.dumps(settings, sort_keys=True, default=_digest).encode()
            if not stamp.exists():
                with replacing(stamp) as file:
                    file.write(text)
            if stamp.read_bytes() != text:
                raise InvalidInputError(
                    f"{folder} has parts of another {what} or other settings; continue with those, "
                    "or delete that folder to start again."
                )
            yield cls(folder)
            shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)  # on Windows an open lock cannot be removed

    def resumed(
        self,
        number: int,
        make: Callable[[], Rows],
        shape: tuple[int, int],
        vectors: Mapping[str, str],
        rebuild: Callable[..., Rows],
        *,
        finite: bool = True,
    ) -> Rows:
        """Return a finished part; make and write it where it is missing or does not fit.

        It has a sparse `coef` of this shape (m, n) and vectors (m,), whose types `vectors` gives
        by name; ``rebuild(coef, *vectors)`` makes it again.
        """
        if self.folder is None:
            return make()
        file = self.folder / f"{number:09d}.part"
        with suppress(StoredFileError), reading(file, "part") as stored:
            values = [stored.array(name, shape[:1], kind, finite) for name, kind in vectors.items()]
            return rebuild(stored.matrix("coef", shape), *values)
        part: Any = make()
        arrays = {name: getattr(part, name) for name in vectors}
        write_stored(file, "part", {}, arrays | matrix_arrays("coef", part.coef))
        return part


def _digest(array: Any) -> str:
    array = np.ascontiguousarray(array)
    return hashlib.sha256(f"{array.dtype} {array.shape}".encode() + array.tobytes()).hexdigest()


@contextmanager
def _locked(folder: Path, output: str | os.PathLike[str]) -> Iterator[None]:
    """Make a folder and lock it; refuse where another process or thread holds the lock.

    The operating system releases the lock when the process ends. There is no protection on file
    systems without locks.
    """
    lock = FileLock(folder / "lock")
    try:
        folder.mkdir(exist_ok=True)
        with suppress(NotImplementedError):  # a file system without locks
            lock.acquire(blocking=False)
    except Timeout:
        raise StoredFileError(
            f"{output} is being written by another process; wait until it ends, or choose "
            "another path."
        ) from None
    except OSError as problem:
        raise StoredFileError(
            f"{folder} could not be used for finished parts ({problem.strerror or problem}); "
            "choose a path in a folder that exists and can be written to."
        ) from problem
    try:
        yield
    finally:
        lock.release()
