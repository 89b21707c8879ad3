"""From a file on disk to X, y and what y means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import sketchlasso as sl
from sketchlasso.interfaces.commands.options import DataOptions

__all__ = ["Given", "read_given"]

NOT_FINITE = (np.inf, -np.inf)


@dataclass(frozen=True, eq=False)
class Given:
    """Data as a command needs them.

    Attributes
    ----------
    X : ndarray or csr_array of shape (m, n)
    y : ndarray of shape (m,), or None
        Numbers or text.
    names : tuple of str, or None
        Of the features.
    target_name : str or None
    source : str
    """

    X: Any
    y: Any
    names: tuple[str, ...] | None
    target_name: str | None
    source: str

    @property
    def response(self) -> Any:
        """The response, which must be there."""
        if self.y is None:
            raise sl.InvalidInputError(
                f"{self.source} was read without a target, but the command needs one; name it "
                "with --target, --target-file or --target-word."
            )
        return self.y

    def is_classification(self, asked: bool | None) -> bool:
        """Whether y means classes: as asked, else if it is text or takes two values."""
        y = self.response
        if y.dtype.kind == "U":
            if asked is False:
                raise sl.InvalidInputError(
                    f"--regress was given, but the target of {self.source} is text such as "
                    f"{y[0]!r}; give a column of numbers, or leave --regress out."
                )
            return True
        return len(np.unique(y)) == 2 if asked is None else asked

    def signs(self, asked: bool | None) -> tuple[Any, Any]:
        """Return y as numbers, and the two classes where it means classes.

        -1 stands for the first of two classes and +1 for the second.
        """
        y = self.response
        if not self.is_classification(asked):
            return y, None
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) != 2:
            raise sl.InvalidInputError(
                f"the target of {self.source} has {len(classes)} classes, but this command takes "
                "numbers or two classes; use fit or cv, which handle several."
            )
        return np.where(codes == 1, 1.0, -1.0), classes

    def words(self) -> str:
        """Describe the data in a few words."""
        m, n = self.X.shape
        kind = "sparse" if sparse.issparse(self.X) else "dense"
        return f"{m} samples x {n} features, {kind}"

    def without(self, feature: str) -> Given:
        """Return the data with one feature as the response of the others."""
        if self.names is None:
            raise sl.InvalidInputError(
                f"--target-word {feature} was given, but the features of {self.source} have no "
                "names; give --vocabulary, or --target with a position."
            )
        if feature not in self.names:
            close = get_close_matches(feature, self.names, n=3)
            hint = f" (nearest: {', '.join(map(repr, close))})" if close else ""
            raise sl.InvalidInputError(
                f"--target-word {feature} is not a feature of {self.source}{hint}; give one of "
                f"its {len(self.names)} names."
            )
        place = self.names.index(feature)
        column: Any = self.X[:, [place]]
        column = np.asarray(column if isinstance(column, np.ndarray) else column.toarray())
        others = np.delete(np.arange(len(self.names)), place)
        return replace(
            self,
            X=self.X[:, others],
            y=column.ravel().astype(np.float64),
            names=tuple(self.names[j] for j in others),
            target_name=feature,
        )

    def with_columns(self, wanted: Sequence[str]) -> Given:
        """Return the data with the columns of a model, by name."""
        if self.names is None or tuple(wanted) == self.names:
            return self
        place = {name: j for j, name in enumerate(self.names)}
        absent = [name for name in wanted if name not in place]
        if absent:
            raise sl.InvalidInputError(
                f"{self.source} lacks {len(absent)} of the {len(wanted)} features of the model, "
                f"such as {absent[0]!r}; give data with the columns of the fit."
            )
        return replace(self, X=self.X[:, [place[name] for name in wanted]], names=tuple(wanted))


def read_given(path: Path, options: DataOptions) -> Given:
    """Read the data of a command.

    Parameters
    ----------
    path : Path
    options : DataOptions
    """
    named = [
        f"--{name.replace('_', '-')}"
        for name in ("target", "target_file", "target_word")
        if getattr(options, name) is not None
    ]
    if len(named) > 1:
        raise sl.InvalidInputError(
            f"{' and '.join(named)} were given, but there is one target; give one of them."
        )
    table = _read(path, options)
    y: Any = table.y
    if y is not None and y.ndim > 1:
        y = y[:, 0] if y.shape[1] == 1 else y
    name = table.target_name if isinstance(table.target_name, str) else None
    given = Given(table.X, y, table.feature_names, name, str(path))
    if options.target_word is not None:
        return given.without(options.target_word)
    if options.target_file is not None:
        return replace(given, y=_read_target(options.target_file, table.shape[0], path))
    return given


def _read(path: Path, options: DataOptions) -> sl.Table:
    """Columns are looked for by name first, then numbers mean positions."""
    target: Any = options.target
    drop: list[Any] = list(options.drop or ())
    rest: dict[str, Any] = {
        "format": options.format,
        "separator": options.separator,
        "n_features": options.n_features,
        "vocabulary": options.vocabulary,
    }
    try:
        return sl.read_table(path, target=target, drop=drop, **rest)
    except sl.InvalidInputError:
        numbered = [_position(column) for column in (target, *drop)]
        if numbered == [target, *drop]:
            raise
        try:
            return sl.read_table(path, target=numbered[0], drop=numbered[1:], **rest)
        except sl.InvalidInputError:
            pass
        raise


def _position(column: Any) -> Any:
    whole = isinstance(column, str) and column.lstrip("-").isdecimal()
    return int(column) if whole else column


def _read_target(path: Path, count: int, data: Path) -> Any:
    """One number or label a line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        why = "is not UTF-8 text" if isinstance(problem, ValueError) else "could not be read"
        raise sl.StoredFileError(
            f"{path} {why}; give the path of a text file with one number or label a line."
        ) from problem
    values = [line.strip() for line in lines]
    if len(values) != count:
        raise sl.InvalidInputError(
            f"{path} has {len(values)} lines but {data} has {count} rows; give one number or "
            "label a row."
        )
    numbers = [_number(value) for value in values]
    unusable = next(
        (k for k, value in enumerate(values) if not value or numbers[k] in NOT_FINITE), None
    )
    if unusable is not None:
        raise sl.InvalidInputError(
            f"{path} has no usable target in line {unusable + 1}; fill it in or leave the row out."
        )
    return np.array(values) if None in numbers else np.array(numbers, dtype=np.float64)


def _number(text: str) -> float | None:
    """The number that a text is; NaN as infinity, None for words."""
    try:
        value = float(text)
    except ValueError:
        return None
    return np.inf if np.isnan(value) else value
