"""What may be said about a file when reading it, and for which formats it means something."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.files.columns import Column
from sketchlasso.files.encoding import Encoding

__all__ = ["ReadOptions"]

TABULAR = frozenset({"target", "drop", "dtype"})
# What columns of any kind need.
MIXED = frozenset({"impute", "encoding", "id"})
IMPUTATIONS = ("mean", "median", "drop")
UNDERSTOOD: dict[str, frozenset[str]] = {
    "svmlight": frozenset({"n_features", "zero_based", "multilabel", "dtype"}),
    "bag-of-words": frozenset({"vocabulary", "dtype"}),
    "csv": TABULAR | MIXED | {"separator", "header"},
    "tsv": TABULAR | MIXED | {"separator", "header"},
    "parquet": TABULAR | MIXED,
    "arrow": TABULAR | MIXED,
    "npz": TABULAR,
    "npy": TABULAR,
    "matrix-market": TABULAR,
}
REASONS = {
    ("svmlight", "target"): "its lines begin with their target",
    ("bag-of-words", "target"): "it holds word counts without a target",
}


@dataclass(frozen=True)
class ReadOptions:
    """The options of :func:`sketchlasso.files.read_table`, which describes them.

    Without `mixed` every feature has to be a number, as in shards, whose blocks must agree.
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

    def check(self, title: object, format: str) -> None:
        """Refuse options that mean nothing for a format, and values that mean nothing at all."""
        for field in fields(self):
            given: Any = getattr(self, field.name)
            if given == field.default or field.name in UNDERSTOOD[format] | {"mixed"}:
                continue
            reason = REASONS.get((format, field.name), "it applies to other formats")
            raise InvalidInputError(
                Argument(field.name, given),
                f" means nothing for the {format} file {title} ({reason}); leave it out.",
            )
        if self.separator is not None and len(self.separator) != 1:
            raise InvalidInputError(
                Argument("separator", self.separator),
                " was given, but one character is needed; pass ',', ';', '|', ' ' or a tab, or "
                "leave it out.",
            )
        if self.impute is not None and self.impute not in IMPUTATIONS:
            raise InvalidInputError(
                Argument("impute", self.impute),
                f" was given, but {', '.join(map(repr, IMPUTATIONS[:-1]))} or {IMPUTATIONS[-1]!r} "
                "is accepted; pass one of them or leave it out.",
            )
        count: Any = self.n_features
        whole = isinstance(count, int | np.integer) and not isinstance(count, bool)
        if count is not None and not (whole and count >= 1):
            raise InvalidInputError(
                Argument("n_features", count),
                " was given, but a positive whole number is needed; pass the number of columns or "
                "leave it out.",
            )
        self.real_type()

    @property
    def column_names(self) -> list[str] | None:
        """Names of the columns that are read as features, where an encoding says."""
        return None if self.encoding is None else [rule.name for rule in self.encoding.columns]

    def real_type(self) -> np.dtype[Any] | None:
        """Return the floating type asked for, or None."""
        if self.dtype is None:
            return None
        try:
            wanted = np.dtype(self.dtype)
        except TypeError:
            wanted = np.dtype(object)
        if wanted not in (np.float32, np.float64):
            raise InvalidInputError(
                Argument("dtype", self.dtype),
                " was given, but only float32 and float64 are accepted; pass one of them or leave "
                "it out.",
            )
        return wanted
