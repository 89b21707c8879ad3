"""Finished parts of a long computation, in a folder beside the file to come."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from sketchlasso.errors import InvalidInputError, StoredFileError
from sketchlasso.storage.container import Content, read_container, write_container
from sketchlasso.storage.locking import only_writer

__all__ = ["Parts"]


@dataclass(frozen=True)
class Parts:
    """Parts by number; each is whole or not there, and outlives the process that wrote it."""

    folder: Path
    content: Content

    @classmethod
    @contextmanager
    def beside(
        cls, path: Path, settings: Mapping[str, Any], content: Content, what: str
    ) -> Iterator[Parts]:
        """Yield the parts of a file to come, for this process alone; others are refused.

        Where the block ends without an exception the folder is removed.

        Parameters
        ----------
        path : Path
            The file to come.
        settings : mapping
            What decides the answer, as JSON can hold it.
        content : Content
        what : str
            What the parts are of, such as "corpus", for the message about other settings.
        """
        folder = path.with_name(f"{path.name}.parts")
        parts = cls(folder, content)
        with ExitStack() as held:
            try:
                held.enter_context(only_writer(folder, path))
                same = _same_settings(folder, settings)
            except OSError as problem:
                raise StoredFileError(
                    f"{folder} could not be used for finished parts ({problem.strerror}); choose "
                    "a path in a folder that exists and can be written to."
                ) from problem
            if not same:
                raise InvalidInputError(
                    f"{folder} has parts of another {what} or other settings; go on with those, "
                    "or delete that folder to start afresh."
                )
            yield parts
            parts._remove()
        if sys.platform == "win32":  # which removes no open file, and the lock was one
            parts._remove()

    def read(self, number: int) -> tuple[dict[str, Any], Mapping[str, NDArray[Any]]] | None:
        """Header and arrays of a finished part; None where it is missing or was damaged."""
        try:
            header, arrays = read_container(self._file(number), self.content)
        except StoredFileError:
            return None
        return dict(header), arrays

    def write(
        self, number: int, header: Mapping[str, object], arrays: Mapping[str, NDArray[Any]]
    ) -> None:
        """Write a part."""
        write_container(self._file(number), self.content, header, arrays)

    def _remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _file(self, number: int) -> Path:
        return self.folder / f"{number:09d}.part"


def _same_settings(folder: Path, settings: Mapping[str, Any]) -> bool:
    """Whether the parts in a folder are of these settings; a new folder is marked with them."""
    stamp, text = folder / "settings.json", json.dumps(settings, sort_keys=True)
    if not stamp.exists():
        stamp.write_text(text, encoding="utf-8")
    return stamp.read_text(encoding="utf-8") == text
