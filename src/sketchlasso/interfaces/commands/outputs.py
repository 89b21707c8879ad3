"""Files that a command is to write, checked before the work that they would hold."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer

from sketchlasso.errors import InvalidInputError, MissingExtraError, StoredFileError

__all__ = ["check_outputs", "output_option", "panels", "plot_option", "save_picture"]

# Tables with names in a column, and pictures.
TABLES = (".csv", ".tsv", ".tab", ".parquet", ".pq", ".feather", ".arrow", ".ipc")
COMPRESSED = (".gz", ".bz2", ".xz")
PICTURES = (".png", ".svg", ".pdf")
# Inches of one panel.
PANEL = (5.2, 4.0)


def output_option(help: str) -> Any:
    """Return the option -o."""
    return typer.Option("--output", "-o", show_default=False, help=help)


def plot_option(what: str) -> Any:
    """Return the option --plot."""
    return typer.Option("--plot", show_default=False, help=f"{what} (.png, .svg, .pdf).")


def check_outputs(table: Path | None, *pictures: Path | None) -> None:
    """Refuse folders that do not exist and endings that name no format.

    Parameters
    ----------
    table : Path or None
        To be written with a column of text.
    *pictures : Path or None
    """
    for path in (table, *pictures):
        if path is not None and not path.absolute().parent.is_dir():
            raise StoredFileError(
                f"{path} cannot be written, for there is no folder {path.parent}; choose a path in "
                "a folder that exists."
            )
    if table is not None and not _plain(table).endswith(TABLES):
        _refuse(table, "a table", ".csv, .tsv, .parquet or .feather")
    for picture in pictures:
        if picture is not None and picture.suffix.lower() not in PICTURES:
            _refuse(picture, "a picture", ".png, .svg or .pdf")


def panels(names: list[Any], height: float | None = None) -> dict[str, Any]:
    """Return the axes of a figure, by name; a name in several places is one panel.

    Parameters
    ----------
    names : list of list of str
        What stands in each row of the figure, from left to right.
    height : float, optional
        Inches; by default for as many rows.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as missing:
        raise MissingExtraError("--plot", "matplotlib", "plot") from missing
    width, each = PANEL
    size = (width * len(names[0]), height or 0.8 + (each - 0.8) * len(names))
    found: dict[str, Any] = Figure(figsize=size, layout="constrained").subplot_mosaic(names)
    return found


def save_picture(axes: Any, path: Path) -> None:
    """Write the figure of axes to a file whose ending has passed :func:`check_outputs`.

    The figure is closed: pyplot would keep it until the process ends.
    """
    try:
        axes.figure.savefig(path, dpi=150)
    except OSError as problem:
        raise StoredFileError(
            f"{path} could not be written ({problem.strerror or problem}); choose a path in a "
            "folder that can be written to."
        ) from problem
    finally:
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is not None:
            pyplot.close(axes.figure)


def _plain(path: Path) -> str:
    """The name without what says that text is compressed."""
    name = path.name.lower()
    inner = name.removesuffix(path.suffix) if path.suffix.lower() in COMPRESSED else name
    return inner if inner.endswith((".csv", ".tsv", ".tab")) else name


def _refuse(path: Path, what: str, endings: str) -> None:
    raise InvalidInputError(
        f"{path} was given for {what}, but its ending says what to write; end it in {endings}."
    )
