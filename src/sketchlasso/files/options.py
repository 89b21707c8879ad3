"""What may be said about a file when reading it, and for which formats it means something."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from sketchlasso.errors import InvalidInputError
from sketchlasso.files.columns import Column

__all__ = ["ReadOptions"]

TABULAR = frozenset({"target", "drop", "dtype"})
UNDERSTOOD: dict[str, frozenset[str]] = {
    "svmlight": frozenset({"n_features", "zero_based", "multilabel", "dtype"}),
    "bag-of-words": frozenset({"vocabulary", "dtype"}),
    "csv": TABULAR | {"separator", "header"},
    "tsv": TABULAR | {"separator", "header"},
    "parquet": TABULAR,
    "arrow": TABULAR,
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
    """The options of :func:`sketchlasso.files.read_table`, which describes them."""

    target: Column | None = None
    drop: Sequence[Column] = ()
    separator: str | None = None
    header: bool | None = None
    n_features: int | None = None
    zero_based: bool | None = None
    multilabel: bool = False
    vocabulary: str | os.PathLike[str] | None = None
    dtype: DTypeLike | None = None

    def check(self, title: object, format: str) -> None:
        """Refuse options that mean nothing for a format, and values that mean nothing at all."""
        for field in fields(self):
            given: Any = getattr(self, field.name)
            if given == field.default or field.name in UNDERSTOOD[format]:
                continue
            reason = REASONS.get((format, field.name), "it applies to other formats")
            raise InvalidInputError(
                f"{field.name}={given!r} means nothing for the {format} file {title} ({reason}); "
                "leave it out."
            )
        if self.separator is not None and len(self.separator) != 1:
            raise InvalidInputError(
                f"separator={self.separator!r} was given, but one character is needed; pass ',', "
                "';', '|', ' ' or a tab, or leave it out."
            )
        count: Any = self.n_features
        whole = isinstance(count, int | np.integer) and not isinstance(count, bool)
        if count is not None and not (whole and count >= 1):
            raise InvalidInputError(
                f"n_features={count!r} was given, but a positive whole number is needed; pass the "
                "number of columns or leave it out."
            )
        self.real_type()

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
                f"dtype={self.dtype!r} was given, but only float32 and float64 are accepted; pass "
                "one of them or leave it out."
            )
        return wanted
