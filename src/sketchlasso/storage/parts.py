"""Resumable parts of a long computation, in a folder beside the output file."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sketchlasso.errors import InvalidInputError, StoredFileError
from sketchlasso.storage.container import Content, read_container, write_container
from sketchlasso.storage.door import MISFITS
from sketchlasso.storage.sparse import pack_rows, unpack_rows

Rows = TypeVar("Rows")


@dataclass(frozen=True)
class Parts:
    """Numbered parts; each is complete or missing, and survives an interruption.

    Without a folder no part is kept.
    """

    folder: Path | None
    content: Content

    @classmethod
    @contextmanager
    def beside(
        cls,
        path: str | os.PathLike[str] | None,
        settings: Mapping[str, Any],
        content: Content,
        what: str,
    ) -> Iterator[Parts]:
        """Yield the parts of an output file, if there is one; other processes are refused.

        The folder is removed if the block ends without an exception. `settings`, which JSON can
        hold, decide the result: parts of other settings are refused, in a message that calls
        the data `what`, such as "corpus".
        """
        if path is None:
            yield cls(None, content)
            return
        output = Path(path)
        folder = output.with_name(f"{output.name}.parts")
        with ExitStack() as held:
            try:
                held.enter_context(only_writer(folder, output))
                stamp, text = folder / "settings.json", json.dumps(settings, sort_keys=True)
                if not stamp.exists():
                    stamp.write_text(text, encoding="utf-8")
                same = stamp.read_text(encoding="utf-8") == text
            except OSError as problem:
                raise StoredFileError(
                    f"{folder} could not be used for finished parts ({problem.strerror}); choose "
                    "a path in a folder that exists and can be written to."
                ) from problem
            if not same:
                raise InvalidInputError(
                    f"{folder} has parts of another {what} or other settings; continue with those, "
                    "or delete that folder to start again."
                )
            yield cls(folder, content)
            shutil.rmtree(folder, ignore_errors=True)
        if sys.platform == "win32":  # Windows cannot remove an open file such as the lock
            shutil.rmtree(folder, ignore_errors=True)

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
        """Return a finished part; make and write it where it is missing, damaged or does not fit.

        It has a sparse `coef` of this shape (m, n) and vectors (m,), whose types `vectors` gives
        by name; ``rebuild(coef, *vectors)`` makes it again.
        """
        if self.folder is None:
            return make()
        file, header = self.folder / f"{number:09d}.part", {"shape": list(shape)}
        with suppress(StoredFileError, *MISFITS):
            stored, arrays = read_container(file, self.content)
            if stored.get("shape") == header["shape"]:
                coef, values = unpack_rows(arrays, shape, vectors, finite=finite)
                return rebuild(coef, *values)
        made: Any = make()
        arrays = pack_rows(made.coef, {name: getattr(made, name) for name in vectors})
        write_container(file, self.content, header, arrays)
        return made


@contextmanager
def only_writer(folder: Path, output: Path) -> Iterator[None]:
    """Make a folder and lock it; refuse where another process or thread holds the lock.

    The operating system releases the lock when the process ends. There is no protection on file
    systems without locks. The message names the `output` that is being written.
    """
    descriptor = _acquired(folder, output)
    try:
        yield
    finally:
        os.close(descriptor)


def _acquired(folder: Path, output: Path) -> int:
    while True:
        folder.mkdir(exist_ok=True)
        try:
            descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:  # its last user has just removed the folder
            continue
        try:
            free, there = _lock(descriptor), _is_at(folder / "lock", descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        if free and there:
            return descriptor
        os.close(descriptor)
        if there:
            raise StoredFileError(
                f"{output} is being written by another process; wait until it ends, or choose "
                "another path."
            )


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether an open file still has its name: the last user removes it."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _lock(descriptor: int) -> bool:
    """Lock a file until it is closed; False where another process holds the lock."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        return problem.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
    return True
