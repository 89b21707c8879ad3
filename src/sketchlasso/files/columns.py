"""Which column is the target, which ones are left out, and what the others are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from sketchlasso.errors import Argument, InvalidInputError

__all__ = ["NUMBERS_ONLY", "Column", "Columns", "choose_columns", "find_column", "nearest"]

Column = str | int
# How a refusal of a cell ends where a table is read in blocks.
NUMBERS_ONLY = (
    ", or read the file whole: tables in blocks hold numbers only, without gaps and categories."
)


@dataclass(frozen=True)
class Columns:
    """The roles of a file's columns, by position.

    Attributes
    ----------
    features : tuple of int
    target : int or None
    names : tuple of str, or None
        Names of all columns of the file.
    id : int or None
        The column that identifies rows.
    """

    features: tuple[int, ...]
    target: int | None
    names: tuple[str, ...] | None
    id: int | None = None

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the features alone."""
        return None if self.names is None else tuple(self.names[i] for i in self.features)

    @property
    def target_name(self) -> str | None:
        """Name of the target, where it has one."""
        return None if self.names is None or self.target is None else self.names[self.target]

    def label(self, position: int) -> str:
        """How a column is called in a sentence: by name, else by number from 1."""
        return str(position + 1) if self.names is None else repr(self.names[position])

    def reference(self, position: int) -> Column:
        """How a user would name a column in an argument."""
        return position if self.names is None else self.names[position]


def choose_columns(
    title: object,
    names: Sequence[str] | None,
    width: int,
    target: Column | None,
    drop: Sequence[Column],
    *,
    only: Sequence[str] | None = None,
    id: Column | None = None,
) -> Columns:
    """Find the target and the features among a file's columns.

    Parameters
    ----------
    title : object
        What the file is called in a sentence.
    names : sequence of str, or None
        Names of the columns, where the file has them.
    width : int
        Number of columns.
    target : str, int or None
        Name or position (from 0; negative from the end) of the target.
    drop : sequence of str or int
        Names or positions of columns to leave out.
    only : sequence of str, optional
        Names of the features, in order; all other columns are ignored. Columns without names
        are called by their numbers from 1.
    id : str, int or None
        Name or position of the column that identifies rows; it is no feature.

    Returns
    -------
    Columns
    """
    known = None if names is None else tuple(names)
    if known is not None and len(known) != width:
        raise InvalidInputError(
            f"{title} has {width} features but {len(known)} feature names; give one name per "
            "feature."
        )
    dropped = {find_column(title, known, width, column, "drop") for column in drop}
    chosen = None if target is None else find_column(title, known, width, target, "target")
    key = None if id is None else find_column(title, known, width, id, "id")
    if only is None:
        features = tuple(i for i in range(width) if i not in dropped and i not in (chosen, key))
    else:
        features = _found(title, known, width, only)
    if not features:
        raise InvalidInputError(
            f"{title} has no feature left: of its {width} columns all are the target or dropped; "
            "leave at least one."
        )
    if known is not None:
        used = features if chosen is None else (*features, chosen)
        _check_names(title, known, tuple(sorted(used)))
    return Columns(features, chosen, known, key)


def _found(
    title: object, names: tuple[str, ...] | None, width: int, wanted: Sequence[str]
) -> tuple[int, ...]:
    """Return the positions of the columns that a model uses; refuse a file that lacks some."""
    known = names or tuple(str(position + 1) for position in range(width))
    absent = [name for name in wanted if name not in known]
    if absent:
        raise InvalidInputError(
            f"{title} lacks {len(absent)} of the {len(wanted)} columns that the model uses: "
            f"{_some(absent)}{nearest(absent[0], known)}; give data with the columns of the fit."
        )
    return tuple(known.index(name) for name in wanted)


def nearest(word: str, known: Sequence[str]) -> str:
    """Return a remark with the names nearest to a mistyped one, or nothing."""
    lowered = {name.lower(): name for name in reversed(known)}
    close = get_close_matches(word.lower(), list(lowered), n=3, cutoff=0.6)
    if not close:
        return ""
    return " (nearest: " + ", ".join(repr(lowered[name]) for name in close) + ")"


def find_column(
    title: object, names: tuple[str, ...] | None, width: int, column: Column, role: str
) -> int:
    """Return a column's position; `role` is what the argument that names it is called."""
    if names is None and isinstance(column, str) and column.lstrip("-").isdecimal():
        column = int(column)  # a command line has no other way to write a number
    if isinstance(column, int | np.integer) and not isinstance(column, bool):
        if not -width <= column < width:
            raise InvalidInputError(
                Argument(role, column),
                f" was given, but {title} has {width} columns; give a position from 0 to "
                f"{width - 1}.",
            )
        return int(column) % width
    if not isinstance(column, str):
        raise InvalidInputError(
            Argument(role, column),
            " was given, but a column's name or position is needed; pass a string or an integer.",
        )
    if names is None:
        raise InvalidInputError(
            Argument(role, column),
            f" was given, but the columns of {title} have no names; give a position from 0 to "
            f"{width - 1}.",
        )
    if column not in names:
        raise InvalidInputError(
            Argument(role, column),
            f" is not a column of {title}{nearest(column, names)}; give one of its {width} "
            f"columns: {_some(names)}.",
        )
    if names.count(column) > 1:
        raise InvalidInputError(
            Argument(role, column),
            f" names {names.count(column)} columns of {title}; give the position of one, such as "
            f"{names.index(column)}.",
        )
    return names.index(column)


def _check_names(title: object, names: tuple[str, ...], used: tuple[int, ...]) -> None:
    seen: dict[str, int] = {}
    for position in used:
        name = names[position]
        if not name.strip():
            raise InvalidInputError(
                f"column {position + 1} of {title} has no name (row numbers, perhaps); name it or "
                f"leave it out with ",
                Argument("drop", [position]),
                ".",
            )
        if name in seen:
            raise InvalidInputError(
                f"columns {seen[name] + 1} and {position + 1} of {title} are both called "
                f"{name!r}; rename one or leave it out with ",
                Argument("drop", [position]),
                ".",
            )
        seen[name] = position


def _some(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown}, ..."
