"""The options of reading a file, the formats they apply to, and the columns they choose."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from sketchlasso.errors import Argument, InvalidInputError, unaccepted
from sketchlasso.files.encoding import Encoding
from sketchlasso.files.source import Source
from sketchlasso.types import is_whole

Column = str | int

# Options by format: tables of numbers, tables that may hold text and gaps, all formats.
TABULAR = frozenset({"target", "drop", "dtype"})
MIXED = TABULAR | {"impute", "encoding", "id"}
UNDERSTOOD: dict[str, frozenset[str]] = {
    "svmlight": frozenset({"n_features", "zero_based", "multilabel", "dtype"}),
    "bag-of-words": frozenset({"vocabulary", "dtype"}),
    "csv": MIXED | {"separator", "header"},
    "tsv": MIXED | {"separator", "header"},
    "parquet": MIXED,
    "arrow": MIXED,
    "npz": TABULAR,
    "npy": TABULAR,
    "matrix-market": TABULAR,
}
REASONS = {
    ("svmlight", "target"): "its lines begin with their target",
    ("bag-of-words", "target"): "it holds word counts without a target",
}


@dataclass(frozen=True)
class Columns:
    """The roles of a file's columns by position, and the names of all columns, if they have any."""

    features: tuple[int, ...]
    target: int | None
    names: tuple[str, ...] | None
    id: int | None = None

    @property
    def used(self) -> list[int]:
        """Positions of all columns that are read, in order."""
        others = {place for place in (self.target, self.id) if place is not None}
        return sorted(others.union(self.features))

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the features alone."""
        return None if self.names is None else tuple(self.names[i] for i in self.features)

    @property
    def target_name(self) -> str | None:
        """Name of the target, where it has one."""
        return None if self.names is None or self.target is None else self.names[self.target]

    def label(self, position: int) -> str:
        """The column in a sentence: its name, else its number from 1."""
        return str(position + 1) if self.names is None else repr(self.names[position])

    def reference(self, position: int) -> Column:
        """The column as an argument: its name, else its position."""
        return position if self.names is None else self.names[position]


@dataclass(frozen=True)
class ReadOptions:
    """The options of :func:`sketchlasso.files.read_table`, which describes them.

    Without `mixed` every feature must be a number, as in shards, whose blocks must agree.
    """

    target: Column | None = None
    drop: Sequence[Column] = ()
    separator: str | None = None
    header: bool | None = None
    n_features: int | None = None
    zero_based: bool | None = None
    multilabel: bool = False
    vocabulary: str | os.PathLike[str] | None = None
    dtype: DTypeLike | None = None
    impute: str | None = None
    encoding: Encoding | None = None
    id: Column | None = None
    mixed: bool = False

    def check(self, source: Source) -> None:
        """Reject options that do not apply to the format of a file, and invalid values."""
        for field in fields(self):
            given: Any = getattr(self, field.name)
            if given == field.default or field.name in UNDERSTOOD[source.format] | {"mixed"}:
                continue
            reason = REASONS.get((source.format, field.name), "it applies to other formats")
            raise InvalidInputError(
                Argument(field.name, given),
                f" does not apply to the {source.format} file {source} ({reason}); leave it out.",
            )
        if self.separator is not None and len(self.separator) != 1:
            remedy = "pass ',', ';', '|', ' ' or a tab, or leave it out"
            raise unaccepted("separator", self.separator, "one character", remedy)
        if self.impute not in (None, "mean", "median", "drop"):
            accepted = "'mean', 'median' or 'drop'"
            raise unaccepted("impute", self.impute, accepted)
        count = self.n_features
        if count is not None and not (is_whole(count) and count >= 1):
            remedy = "pass the number of columns or leave it out"
            raise unaccepted("n_features", count, "a positive whole number", remedy)
        self.real_type()

    def real_type(self) -> np.dtype[Any] | None:
        """Return the requested floating type, or None."""
        if self.dtype is None:
            return None
        try:
            wanted = np.dtype(self.dtype)
        except TypeError:
            wanted = np.dtype(object)
        if wanted not in (np.float32, np.float64):
            raise unaccepted("dtype", self.dtype, "float32 or float64")
        return wanted

    def type_of(self, stored: DTypeLike) -> np.dtype[Any]:
        """Return the type in which numbers stored as another are read."""
        usual = np.float32 if np.dtype(stored) == np.float32 else np.float64
        return self.real_type() or np.dtype(usual)

    def columns(self, title: object, names: Sequence[str] | None, width: int) -> Columns:
        """Find the target, the ids and the features among the columns of a file.

        `names` are those of all `width` columns, where the file has them. An encoding names the
        features in order (by numbers from 1 where columns have no names), and other columns are
        ignored.
        """
        known = None if names is None else tuple(names)
        if known is not None and len(known) != width:
            raise InvalidInputError(
                f"{title} has {width} features but {len(known)} feature names; give one name per "
                "feature."
            )
        dropped = {find_column(title, known, width, column, "drop") for column in self.drop}
        target = self.target
        chosen = None if target is None else find_column(title, known, width, target, "target")
        key = None if self.id is None else find_column(title, known, width, self.id, "id")
        if self.encoding is None:
            features = tuple(i for i in range(width) if i not in dropped and i not in (chosen, key))
        else:
            wanted = [rule.name for rule in self.encoding.columns]
            features = _found(title, known, width, wanted)
            chosen = None if chosen in dropped else chosen
            for position in dropped.intersection(features):
                raise InvalidInputError(
                    Argument("drop", [position if known is None else known[position]]),
                    " names a column that the model uses; keep it, or fit the model without it.",
                )
        if not features:
            raise InvalidInputError(
                f"{title} has no feature left: every column is the target or dropped; leave at "
                "least one."
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
        others = [name for name in known if name not in wanted]
        raise InvalidInputError(
            f"{title} lacks {len(absent)} of the {len(wanted)} columns that the model uses: "
            f"{_some(absent)}{nearest(absent[0], others)}; give data with the columns of the fit."
        )
    return tuple(known.index(name) for name in wanted)


def nearest(word: str, known: Sequence[str]) -> str:
    """Return a remark with the names closest to a mistyped one, or an empty string."""
    lowered = {name.lower(): name for name in reversed(known)}
    close = get_close_matches(word.lower(), list(lowered), n=3, cutoff=0.7)
    if not close:
        return ""
    return " (nearest: " + ", ".join(repr(lowered[name]) for name in close) + ")"


def find_column(
    title: object, names: tuple[str, ...] | None, width: int, column: Column, role: str
) -> int:
    """Return a column's position; `role` is the name of the argument that names it."""
    if names is None and isinstance(column, str) and column.lstrip("-").isdecimal():
        column = int(column)  # a command line has no other way to write a number
    if is_whole(column):
        if not -width <= column < width:
            raise unaccepted(role, column, f"a position from 0 to {width - 1} in {title}")
        return int(column) % width
    if not isinstance(column, str):
        raise unaccepted(role, column, "a column's name or position")
    if names is None:
        raise InvalidInputError(
            Argument(role, column),
            f" was given, but the columns of {title} have no names; give a position from 0 to "
            f"{width - 1}.",
        )
    if column not in names:
        raise InvalidInputError(
            Argument(role, column),
            f" is not a column of {title}{nearest(column, names)}; its columns are {_some(names)}.",
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
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
