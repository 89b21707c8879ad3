"""Resumable parts of a long computation, in a folder beside the output file."""

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
    """Numbered parts; each is complete or missing, and survives an interruption."""

    folder: Path
    content: Content

    @classmethod
    @contextmanager
    def beside(
        cls, path: Path, settings: Mapping[str, Any], content: Content, what: str
    ) -> Iterator[Parts]:
        """Yield the parts of an output file, for this process alone; others are refused.

        The folder is removed if the block ends without an exception.

        Parameters
        ----------
        path : Path
            The output file.
        settings : mapping
            Everything that decides the result, as JSON.
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
        if sys.platform == "win32":  # Windows cannot remove an open file such as the lock
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
    """Whether the parts in a folder belong to these settings; writes them into a new folder."""
    stamp, text = folder / "settings.json", json.dumps(settings, sort_keys=True)
    if not stamp.exists():
        stamp.write_text(text, encoding="utf-8")
    return stamp.read_text(encoding="utf-8") == text
