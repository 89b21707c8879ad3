"""Text files below a folder: one document per file."""

from __future__ import annotations

import codecs
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from sketchlasso.errors import Argument, InvalidInputError, StoredFileError

ENDINGS = (".txt", ".text", ".md", ".rst", ".tex", ".org", ".adoc", ".py")
# Folders that hold no documents.
SKIPPED = frozenset({"__pycache__", "node_modules"})
MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def read_folder(
    folder: Path, endings: Sequence[str], max_bytes: int, *, follow_links: bool = False
) -> tuple[list[str], list[str], dict[str, int]]:
    """Read all text files below a folder, in the order of their paths.

    Returns the texts, their titles (paths below the folder, with forward slashes), and how many
    files were longer than allowed and cut, and how many links were not followed.

    Hidden files and folders, and binary files (with zero bytes), are skipped. Text is UTF-8,
    UTF-16 with a byte-order mark, or else Windows-1252. `follow_links` says whether to follow
    symbolic links to folders, and to files outside the folder.
    """
    wanted = {ending.lower() for ending in endings}
    texts, titles, cut = [], [], 0
    others: Counter[str] = Counter()
    left_out: list[str] = []
    for path in _files_below(folder, follow_links, left_out):
        if path.suffix.lower() not in wanted:
            others[path.suffix.lower()] += 1
            continue
        data = _bytes(path, max_bytes + 1)
        text = _decoded(data[:max_bytes], whole=len(data) <= max_bytes)
        if text is not None:
            texts.append(text)
            titles.append(path.relative_to(folder).as_posix())
            cut += len(data) > max_bytes
    if not texts:
        found = ", ".join(ending or "none" for ending, _ in others.most_common(5)) or "no files"
        if left_out:
            raise InvalidInputError(
                f"the folder {folder} holds no text files besides {len(left_out)} symbolic links "
                "out of it, which are not followed; pass ",
                Argument("follow_links", True),
                " to read them.",
            )
        raise InvalidInputError(
            f"the folder {folder} holds no text files with the endings {', '.join(endings)} "
            f"(there: {found}); pass ",
            Argument("endings"),
            " with those to read ('' for names without one).",
        )
    return texts, titles, {"cut_files": cut, "links_left_out": len(left_out)}


def _files_below(folder: Path, follow_links: bool, left_out: list[str]) -> Iterator[Path]:
    """Yield the files below a folder; add links out of it that are not followed to `left_out`."""
    home = os.path.realpath(folder)
    seen: set[str] = set()

    def wanted(path: str) -> bool:
        """Whether to read a file or enter a folder."""
        if follow_links or not os.path.islink(path):
            return True
        inside = Path(os.path.realpath(path)).is_relative_to(home)
        if not inside:
            left_out.append(path)
        # A folder inside is visited anyway; following a link to it would read it twice.
        return inside and not os.path.isdir(path)

    for place, folders, names in os.walk(folder, onerror=_refuse, followlinks=follow_links):
        if follow_links:
            real = os.path.realpath(place)
            if real in seen:  # links can lead in a circle
                folders.clear()
                continue
            seen.add(real)
        visible = sorted(n for n in folders if n not in SKIPPED and not n.startswith("."))
        folders[:] = [name for name in visible if wanted(os.path.join(place, name))]
        for name in sorted(names):
            path = Path(place) / name
            if not name.startswith(".") and path.is_file() and wanted(str(path)):
                yield path


def _refuse(problem: OSError) -> None:
    raise StoredFileError(
        f"{problem.filename} could not be read ({problem.strerror}); give a folder that may "
        "be read."
    ) from problem


def _bytes(path: Path, most: int) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(most)
    except OSError as problem:
        raise StoredFileError(
            f"{path} could not be read ({problem.strerror or problem}); make it readable or take "
            "it out of the folder."
        ) from problem


def _decoded(data: bytes, *, whole: bool) -> str | None:
    """Return the text, or None for binary data; a cut may split a character."""
    encoding = next((name for mark, name in MARKS.items() if data.startswith(mark)), None)
    if encoding is None and b"\0" in data:
        return None
    for name in (encoding or "utf-8", "cp1252"):
        try:
            return codecs.getincrementaldecoder(name)().decode(data, final=whole)
        except UnicodeDecodeError:
            continue
    return data.decode("utf-8", "replace")
