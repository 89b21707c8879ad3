"""How the columns of a table become features: numbers unchanged, categories by their levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchlasso.errors import InvalidInputError
from sketchlasso.types import FloatArray, IntArray


@dataclass(frozen=True)
class ColumnRule:
    """How one column becomes features.

    Only a category has `levels`. A missing value becomes `fill`, a number or a level, if there is
    one.
    """

    name: str
    levels: tuple[str, ...] | None = None
    fill: float | str | None = None

    @property
    def coded(self) -> tuple[str, ...]:
        """Levels that have a feature: all of them, or the second of two."""
        levels = self.levels or ()
        return levels[1:] if len(levels) == 2 else levels

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features: the column's own, or ``city=Oslo`` for a level."""
        if self.levels is None:
            return (self.name,)
        return tuple(f"{self.name}={level}" for level in self.coded)

    def indicators(self, cells: Sequence[str | None]) -> FloatArray:
        """Return the features (m, f) of a category: 1 where a row has the level, else 0."""
        given = np.array(cells, dtype=object)[:, None]
        return np.asarray(given == np.array(self.coded, dtype=object), dtype=np.float64)

    def typical(self, known: FloatArray, impute: str) -> FloatArray:
        """Return the features (f,) that fill a gap, from those (r, f) of rows that have a value.

        They are the mean or the median, of a category the commonest level.
        """
        if self.levels is None:
            return np.asarray((np.mean if impute == "mean" else np.median)(known, axis=0))
        counts = known.sum(axis=0)
        if len(self.levels) == 2:
            return np.asarray(2 * counts > len(known), dtype=np.float64)
        return np.asarray(np.arange(len(counts)) == counts.argmax(), dtype=np.float64)


@dataclass(frozen=True)
class Encoding:
    """How the columns of a table became features, to read other rows in the same way.

    Attributes
    ----------
    columns : tuple of ColumnRule
        In the order of the features.
    """

    columns: tuple[ColumnRule, ...]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of all features."""
        return tuple(name for rule in self.columns for name in rule.feature_names)

    @property
    def plain(self) -> bool:
        """Whether every column is one of numbers without a missing value."""
        return all(rule.levels is None and rule.fill is None for rule in self.columns)

    @classmethod
    def of_numbers(cls, names: Sequence[str]) -> Encoding:
        """Return the encoding of columns of numbers, by their names."""
        return cls(tuple(ColumnRule(name) for name in names))

    def refilled(
        self, X: FloatArray, gaps: NDArray[np.bool_], rows: IntArray, impute: str
    ) -> FloatArray:
        """Fill the gaps of a table again, from some of its rows only.

        Parameters
        ----------
        X : ndarray of shape (m, n)
            The features, with gaps filled in any way.
        gaps : ndarray of shape (m, c)
            Which cells of the columns were missing.
        rows : ndarray of shape (r,)
            A column without a value in any of them does not change.
        impute : {"mean", "median"}

        Returns
        -------
        ndarray of shape (m, n)
        """
        filled, first = X.copy(), 0
        for rule, absent in zip(self.columns, gaps.T, strict=True):
            own = slice(first, first + len(rule.feature_names))
            known = X[rows[~absent[rows]], own]
            if len(known):
                filled[absent, own] = rule.typical(known, impute)
            first = own.stop
        return filled

    def to_json(self) -> list[dict[str, Any]]:
        """Return the rules as JSON, for the header of a model file."""
        return [asdict(rule) for rule in self.columns]

    @classmethod
    def from_json(cls, stored: Any) -> Encoding:
        """Return the rules that :meth:`to_json` wrote.

        Parameters
        ----------
        stored : list of dict

        Raises
        ------
        InvalidInputError
            They are not such rules.
        """
        try:
            encoding = cls(tuple(_rule(**entry) for entry in stored))
        except TypeError:
            encoding = None
        if encoding is None or len(set(encoding.feature_names)) < len(encoding.feature_names):
            raise InvalidInputError(
                "the encoding is not one that Encoding.to_json wrote; pass a list of its entries."
            )
        return encoding


def _rule(name: Any, levels: Any, fill: Any) -> ColumnRule:
    """Return a rule; refuse values of wrong types."""
    texts = [] if levels is None else levels
    right = isinstance(name, str) and isinstance(texts, list | tuple)
    right = right and all(isinstance(level, str) for level in texts)
    kind: Any = (float, int) if levels is None else str
    if not right or not (fill is None or (isinstance(fill, kind) and not isinstance(fill, bool))):
        raise TypeError("not a rule")
    number = None if fill is None else fill if levels is not None else float(fill)
    return ColumnRule(name, None if levels is None else tuple(texts), number)
