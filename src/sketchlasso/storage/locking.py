"""One writer at a time: a lock that the operating system lifts when its process ends."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sketchlasso.errors import StoredFileError

__all__ = ["only_writer"]

LOCK = "lock"
TAKEN = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)


@contextmanager
def only_writer(folder: Path, output: Path) -> Iterator[None]:
    """Make a folder and lock it against other processes that write the same output.

    The operating system lifts the lock when the process ends. File systems
    without locks protect nothing.

    Parameters
    ----------
    folder : Path
        Folder for work in progress; the lock is a file in it.
    output : Path
        The file to be written, for the message.

    Raises
    ------
    StoredFileError
        Another process, or another thread, holds the lock.
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
            descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:  # its last user has just removed the folder
            continue
        try:
            free, there = _lock(descriptor), _is_at(folder / LOCK, descriptor)
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
        return problem.errno not in TAKEN
    return True
