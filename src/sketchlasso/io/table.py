"""The table that readers return and writers take: a matrix, its responses and their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from sketchlasso.data.entries import find_entry, floating
from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.io.encoding import Encoding
from sketchlasso.types import IntArray, RealArray, is_whole

TableMatrix: TypeAlias = "RealArray | sparse.csr_array[Any, tuple[int, int]]"
Column = str | int
# Standardised columns that differ by no more than this are equal.
EQUAL = 1e-7


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A data matrix with its responses, as read from a file or to be written to one.

    Attributes
    ----------
    X : csr_array, ndarray or memmap of shape (n_samples, n_features)
        float32 or float64; a memory-mapped ``.npy`` file keeps the type it was stored with and
        is cast block by block where it is used.
    y : ndarray of shape (n_samples,) or (n_samples, n_targets), or None
        float64, or text where the file holds text labels.
    feature_names : tuple of str, or None
        One name per column of X.
    target_name : str, tuple of str, or None
        The name of y, or one name per column of y.
    source : str
        Where the table came from.
    encoding : Encoding or None
        How columns became features, where some are not plain numbers.
    rows : ndarray of shape (n_samples,), or None
        Numbers of the rows in the file, from 0, where some were left out.
    notes : tuple of str
        What was filled in, left out or unknown, for display.
    ids : ndarray of shape (n_samples,), or None
        Identifiers of the rows, text or whole numbers; the first column of CSV, TSV, Parquet and
        Arrow files, and the array ids of npz files.
    id_name : str
        The name of that column.
    gaps : ndarray of shape (n_samples, n_columns), or None
        Which cells of the columns of `encoding` were missing and have been filled.

    Raises
    ------
    InvalidInputError
        The parts do not fit together.
    """

    X: TableMatrix
    y: NDArray[Any] | None = None
    feature_names: tuple[str, ...] | None = None
    target_name: str | tuple[str, ...] | None = None
    source: str = ""
    encoding: Encoding | None = None
    rows: IntArray | None = None
    notes: tuple[str, ...] = ()
    ids: NDArray[Any] | None = None
    id_name: str = "id"
    gaps: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        X: Any = self.X
        if not (sparse.issparse(X) or isinstance(X, np.memmap)):
            X = np.asarray(X)
        title = self.source or "the table"
        if X.ndim != 2 or X.dtype.kind not in "biuf" or 0 in X.shape:
            raise InvalidInputError(
                f"{title} cannot be used: X has shape {X.shape} and type {X.dtype}, but a matrix "
                "of real numbers with at least one row and one feature is needed; convert it first."
            )
        object.__setattr__(self, "X", as_csr(X) if sparse.issparse(X) else as_real(X))
        if self.y is not None:
            object.__setattr__(self, "y", as_response(self.y))
        for what, part in (("y", self.y), ("ids", self.ids)):
            if part is not None and len(part) != X.shape[0]:
                raise InvalidInputError(
                    f"{title} has {X.shape[0]} rows but {what} has {len(part)}; give one per row."
                )
        if self.feature_names is None:
            return
        names = tuple(map(str, self.feature_names))
        object.__setattr__(self, "feature_names", names)
        if len(names) != X.shape[1] or len(set(names)) < len(names):
            twice = Counter(names).most_common(1)[0]
            several = f", several of them called {twice[0]!r}" if twice[1] > 1 else ""
            raise InvalidInputError(
                f"{title} has {X.shape[1]} features but {len(names)} feature names{several}; give "
                "one name per feature, all different."
            )

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""
        return int(self.X.shape[0]), int(self.X.shape[1])

    def __repr__(self) -> str:
        kind = "sparse" if sparse.issparse(self.X) else "dense"
        target = "no target" if self.y is None else f"target of shape {self.y.shape}"
        origin = f" from {self.source}" if self.source else ""
        return f"<Table of {self.shape[0]} x {self.shape[1]}, {kind}, {target}{origin}>"


@dataclass(frozen=True)
class Columns:
    """The roles of a file's columns by position, and the names of all columns, if they have any."""

    features: tuple[int, ...]
    target: int | None
    id: int | None
    names: tuple[str, ...] | None

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the features alone."""
        return None if self.names is None else tuple(self.names[i] for i in self.features)

    @property
    def target_name(self) -> str | None:
        """Name of the target, where it has one."""
        return None if self.names is None or self.target is None else self.names[self.target]

    def name(self, position: int) -> str:
        """The column's name, else its number from 1."""
        return str(position + 1) if self.names is None else self.names[position]


def choose_columns(
    title: object,
    names: Sequence[str] | None,
    width: int,
    *,
    target: Column | None = None,
    drop: Column | Sequence[Column] = (),
    keep: Column | Sequence[Column] | None = None,
    id: Column | None = None,
    encoding: Encoding | None = None,
) -> Columns:
    """Find the target, the ids and the features among the columns of a file.

    `names` are those of all `width` columns, where the file has them. An encoding names the
    features in order (by numbers from 1 where columns have no names); others are ignored.
    """
    known = None if names is None else tuple(names)
    if known is not None and len(known) != width:
        raise InvalidInputError(
            f"{title} has {width} columns but {len(known)} names; give one name per column."
        )
    dropped = set(find_columns(title, known, width, drop, "drop"))
    response = None if target is None else find_column(title, known, width, target, "target")
    key = None if id is None else find_column(title, known, width, id, "id")
    if encoding is not None and encoding.columns:
        labels = known or tuple(str(position + 1) for position in range(width))
        features = _encoded(title, labels, encoding, dropped)
        response = None if response in dropped else response
    else:
        every = range(width) if keep is None else find_columns(title, known, width, keep, "keep")
        features = tuple(i for i in every if i not in dropped and i not in (response, key))
    if not features:
        raise InvalidInputError(
            f"{title} has no feature left: every column is the target or dropped; leave at least "
            "one."
        )
    if known is not None:
        used = [i for i in (*features, response) if i is not None]
        counts = Counter(known[i] for i in used)
        unnamed = [str(i + 1) for i in features if not known[i].strip()]
        twice = [name for name, count in counts.items() if count > 1]
        if unnamed:
            raise InvalidInputError(
                f"{title} has columns without a name (row numbers, perhaps): column "
                f"{', '.join(unnamed)}; name them or drop them by these numbers."
            )
        if twice:
            places = [str(i + 1) for i, name in enumerate(known) if name in twice]
            raise InvalidInputError(
                f"{title} has several columns called {_some(twice)} (columns {', '.join(places)}); "
                "rename them, or drop the others by these numbers."
            )
    return Columns(features, response, key, known)


def _encoded(
    title: object, labels: tuple[str, ...], encoding: Encoding, dropped: set[int]
) -> tuple[int, ...]:
    """Return the positions of the columns of an encoding."""
    wanted = [rule.name for rule in encoding.columns]
    absent = [name for name in wanted if name not in labels]
    if absent:
        others = [name for name in labels if name not in wanted]
        raise InvalidInputError(
            f"{title} lacks {len(absent)} of the {len(wanted)} columns that the model uses: "
            f"{_some(absent)}{nearest(absent[0], others)}; give data with the columns of the fit."
        )
    place = {name: position for position, name in reversed(list(enumerate(labels)))}
    if used := [name for name in wanted if place[name] in dropped]:
        raise InvalidInputError(
            f"{_some(used)} cannot be dropped, because the model uses it; keep it, or fit the "
            "model without it."
        )
    return tuple(place[name] for name in wanted)


def find_columns(
    title: object,
    names: tuple[str, ...] | None,
    width: int,
    columns: Column | Sequence[Column],
    role: str,
) -> list[int]:
    """Return the positions of columns; text may list several with commas, or be a pattern."""
    asked = [columns] if isinstance(columns, str) or not isinstance(columns, Sequence) else columns
    found: list[int] = []
    for column in asked:
        if isinstance(column, str) and column not in (names or ()):
            matching = [i for i, name in enumerate(names or ()) if fnmatchcase(name, column)]
            if not matching and "," in column:
                parts = [part.strip() for part in column.split(",") if part.strip()]
                matching = find_columns(title, names, width, parts, role)
            if matching:
                found += matching
                continue
        found.append(find_column(title, names, width, column, role))
    return list(dict.fromkeys(found))


def find_column(
    title: object, names: tuple[str, ...] | None, width: int, column: Column, role: str
) -> int:
    """Return a column's position; `role` is the name of the argument that names it.

    A number counts from 0, as in Python. Text that is no name but a number counts from 1, as
    people count columns.
    """
    if is_whole(column):
        if not -width <= column < width:
            raise unaccepted(role, column, f"a position from 0 to {width - 1} in {title}")
        return int(column) % width
    if not isinstance(column, str):
        raise unaccepted(role, column, "a column's name or position")
    count = 0 if names is None else names.count(column)
    if count == 0 and column.isdecimal():
        if not 1 <= int(column) <= width:
            raise unaccepted(role, column, f"a name or a number from 1 to {width} in {title}")
        return int(column) - 1
    if count == 1:
        assert names is not None
        return names.index(column)
    held = f"numbers from 1 to {width}" if names is None else _some(names)
    few = f"{count} columns of this name; give a number" if count else "no such column"
    refused = InvalidInputError(
        f"{role}={column!r} was given, but {title} has {few}{nearest(column, names or ())}; it has "
        f"{held}."
    )
    refused.parameter = role
    raise refused


def nearest(word: str, known: Sequence[str]) -> str:
    """Return a remark with the names closest to a mistyped one, or an empty string."""
    lowered = {name.lower(): name for name in reversed(known)}
    close = get_close_matches(word.lower(), list(lowered), n=3, cutoff=0.7)
    if not close:
        return ""
    return " (nearest: " + ", ".join(repr(lowered[name]) for name in close) + ")"


def _some(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def real_type(dtype: DTypeLike | None, stored: DTypeLike = np.float64) -> np.dtype[Any]:
    """Return the requested floating type, or else the one in which stored numbers are read."""
    if dtype is None:
        return np.dtype(np.float32 if np.dtype(stored) == np.float32 else np.float64)
    if dtype not in (np.float32, np.float64, "float32", "float64"):
        raise unaccepted("dtype", dtype, "float32 or float64")
    return np.dtype(dtype)


def as_real(values: NDArray[Any], dtype: np.dtype[Any] | None = None) -> RealArray:
    """Return numbers of a type; by default float32 stays and all others become float64.

    By default a memory map is not cast, which would read all of it.
    """
    if dtype is None and isinstance(values, np.memmap):
        return values
    return values.astype(floating(values.dtype) if dtype is None else dtype, copy=False)


def as_csr(X: Any, dtype: np.dtype[Any] | None = None) -> sparse.csr_array[Any, tuple[int, int]]:
    """Return a sparse matrix (m, n) as sorted CSR; its type is that of :func:`as_real`.

    Indices have 64 bits only where they are needed. The arrays of `X` never change.
    """
    array = sparse.csr_array(X)
    if not array.has_canonical_format:
        array = array.copy()
        array.sum_duplicates()
    array.data = as_real(array.data, dtype)
    widest = max(*array.shape, len(array.data))
    if array.indices.dtype != np.int32 and widest <= np.iinfo(np.int32).max:
        array.indices = array.indices.astype(np.int32)
        array.indptr = array.indptr.astype(np.int32)
    return array


def as_response(y: Any) -> NDArray[Any]:
    """Return responses as float64, or as text, of shape (m,) or (m, t)."""
    values = np.asarray(y)
    if values.ndim not in (1, 2) or values.dtype.kind not in "biufU":
        raise InvalidInputError(
            f"y has shape {values.shape} and type {values.dtype}, but one column of numbers or "
            "text, or several of numbers, are needed; convert it first."
        )
    return values if values.dtype.kind == "U" else values.astype(np.float64)


def matrix_table(
    title: str,
    X: Any,
    y: Any = None,
    names: Sequence[str] | None = None,
    target_name: Any = None,
    ids: Any = None,
    *,
    dtype: DTypeLike | None = None,
    encoding: Encoding | None = None,
    **roles: Any,
) -> Table:
    """Make a table of a stored matrix (m, n), less its target and dropped columns.

    `roles` are those of :func:`choose_columns`. Numbers that are not finite are refused, but for
    those of a memory map, which are read where they are used.
    """
    if encoding is not None:  # matrices hold features, by their names
        encoding = None if names is None else Encoding.of_numbers(encoding.feature_names)
    X = Table(X, source=title).X
    columns = choose_columns(title, names, X.shape[1], encoding=encoding, **roles)
    if columns.target is not None:
        response: Any = X[:, [columns.target]]
        y = np.asarray(response.toarray() if sparse.issparse(X) else response, dtype=float).ravel()
        target_name = columns.target_name
    features, first = columns.features, columns.features[0]
    if features == tuple(range(first, first + len(features))):
        X = X[:, first : first + len(features)]  # a view of a memory map stays one
    else:
        X = X[:, list(features)]
    wanted = None if dtype is None else real_type(dtype)
    X = as_csr(X, wanted) if sparse.issparse(X) else as_real(X, wanted)
    table = Table(X, y, columns.feature_names, target_name, title, ids=ids)
    if not isinstance(table.X, np.memmap):
        refuse_infinite(table)
    return table


def refuse_infinite(table: Table) -> None:
    """Refuse NaN and infinite entries, naming the first one's row and column (from 1)."""
    found = find_entry(table.X, lambda values: ~np.isfinite(values))
    where = ""
    if found is not None:
        label = f" ({table.feature_names[found[1]]!r})" if table.feature_names else ""
        where = f"row {found[0] + 1}, column {found[1] + 1}{label}"
    elif table.y is not None and table.y.dtype.kind == "f":
        found = find_entry(table.y.reshape(len(table.y), -1), lambda values: ~np.isfinite(values))
        where = "" if found is None else f"the target of row {found[0] + 1}"
    if found is not None:
        raise InvalidInputError(
            f"{table.source or 'the table'} holds {found[2]} in {where}, but every number must be "
            "finite; fill in or leave out such entries first."
        )


def useless_columns(X: Any) -> tuple[list[int], list[int]]:
    """Find columns of X (m, n) that are constant, and those that equal an earlier column.

    Columns are equal up to shift, scale and sign.
    """
    X = np.asarray(X, dtype=np.float64)
    m, n = X.shape
    constant = np.ptp(X, axis=0) == 0
    units = np.where(constant, 0.0, X - X.mean(axis=0))
    units /= np.where(constant, 1.0, np.linalg.norm(units, axis=0))
    duplicate: list[int] = []
    for start in range(0, n, 256):  # some columns at a time, as there may be many
        angles = np.abs(units[:, : start + 256].T @ units[:, start : start + 256])
        equal = np.triu(1.0 - angles <= EQUAL**2 * m, k=1 - start)
        duplicate += (start + np.flatnonzero(equal.any(axis=0))).tolist()
    return np.flatnonzero(constant).tolist(), duplicate
