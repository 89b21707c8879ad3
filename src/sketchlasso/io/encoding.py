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
    one. `clean` is how text was turned into numbers: "number", or the format of dates.
    """

    name: str
    levels: tuple[str, ...] | None = None
    fill: float | str | None = None
    clean: str | None = None

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
        In the order of the features; empty where columns have no names (svmlight).
    na : tuple of str or None
        The words for missing values, where they are not the usual ones.
    index_base : {0, 1} or None
        The index of the first feature in svmlight files.
    n_features : int or None
        Number of features of an svmlight file.
    """

    columns: tuple[ColumnRule, ...] = ()
    na: tuple[str, ...] | None = None
    index_base: int | None = None
    n_features: int | None = None

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of all features."""
        return tuple(name for rule in self.columns for name in rule.feature_names)

    @property
    def plain(self) -> bool:
        """Whether every column is one of numbers without a missing value."""
        return self.na is None and all(rule == ColumnRule(rule.name) for rule in self.columns)

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
            features = slice(first, first + len(rule.feature_names))
            known = X[rows[~absent[rows]], features]
            if len(known):
                filled[absent, features] = rule.typical(known, impute)
            first = features.stop
        return filled

    def to_json(self) -> dict[str, Any]:
        """Return the rules as JSON, for the header of a model file."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Any) -> Encoding:
        """Return the rules that :meth:`to_json` wrote.

        Parameters
        ----------
        stored : dict

        Raises
        ------
        InvalidInputError
            They are not such rules.
        """
        try:
            rules = []
            for column in stored["columns"]:
                rule = ColumnRule(**column)
                levels = None if rule.levels is None else tuple(map(str, rule.levels))
                fill = rule.fill if rule.fill is None or levels else float(rule.fill)
                rules.append(ColumnRule(str(rule.name), levels, fill, rule.clean))
            na = None if stored["na"] is None else tuple(map(str, stored["na"]))
            return cls(tuple(rules), na, stored["index_base"], stored["n_features"])
        except (KeyError, TypeError, ValueError):
            raise InvalidInputError(
                "the encoding is not one that Encoding.to_json wrote; pass what it returned."
            ) from None
