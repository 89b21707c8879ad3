"""Checks of the arguments of inference functions and estimators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.utils import gen_batches

from sketchlasso.data import MatrixLike, as_rows
from sketchlasso.data.transform import column_scales
from sketchlasso.errors import InvalidInputError, UnusableColumnsError, unaccepted
from sketchlasso.inference.columns import ColumnRows
from sketchlasso.io.table import nearest
from sketchlasso.types import FloatArray, IntArray

# With fewer rows neither errors of estimates nor half-samples are reliable.
FEWEST_ROWS = 10
# Columns whose standardised values differ by no more than this, in root mean square, are equal.
EQUAL = 1e-7


def check_choice(name: str, value: object, accepted: Sequence[str]) -> None:
    """Reject a value that is not one of the accepted names."""
    if not isinstance(value, str) or value not in accepted:
        raise unaccepted(name, value, f"one of {', '.join(map(repr, accepted))}")


def check_enough_rows(m: int, fewest: int = FEWEST_ROWS) -> None:
    """Reject data with too few rows."""
    if m < fewest:
        raise InvalidInputError(
            f"X has {m} sample{'s' if m != 1 else ''}, but at least {fewest} are needed; collect "
            "more."
        )


def check_own_effects(rows: ColumnRows, names: Sequence[str]) -> None:
    """Reject columns without an effect of their own, all of them at once."""
    constant, groups = np.flatnonzero(rows.constant), determined_groups(rows)
    faults = [f"column {listed(names, constant)} is constant"] if len(constant) else []
    for group in groups:
        faults.append(f"columns {listed(names, group)} are exact combinations of each other")
    if faults:
        raise UnusableColumnsError(
            f"{'; '.join(faults)}: none of them has an effect of its own; leave constant columns "
            "and one of each combination out.",
            np.concatenate([constant, *(group[-1:] for group in groups)]),
        )


def listed(names: Sequence[Any] | NDArray[Any], columns: IntArray) -> str:
    """The first names of some columns."""
    return ", ".join(str(names[j]) for j in columns[:5]) + (", ..." if len(columns) > 5 else "")


def determined_groups(rows: ColumnRows, among: IntArray | None = None) -> list[IntArray]:
    """Groups of columns that vary and are exact combinations of each other.

    Where rows do not suffice to tell, only copies are found.
    """
    among = np.arange(rows.n_features) if among is None else among
    among = among[~rows.constant[among]]
    few = len(among) < rows.n_samples
    groups = collinear_groups(rows.P[among]) if few else copied_columns(rows.P[among].T)
    return [among[group] for group in groups]


def collinear_groups(P: FloatArray) -> list[IntArray]:
    """Groups of columns that are exact combinations of each other, from rows P (n, k), n <= k.

    The projection on the combinations that vanish links the columns of a group, and no others.
    """
    triangle, order = linalg.qr(P.T, mode="r", pivoting=True)
    sizes = np.abs(np.diagonal(triangle))
    rank = int(np.sum(sizes > EQUAL * sizes.max(initial=0.0)))
    n = len(P)
    if rank == n:
        return []
    vanishing = np.zeros((n, n - rank))
    vanishing[order[:rank]] = -linalg.solve_triangular(
        triangle[:rank, :rank], triangle[:rank, rank:]
    )
    vanishing[order[rank:]] = np.eye(n - rank)
    basis = linalg.qr(vanishing, mode="economic")[0]
    links = np.abs(basis @ basis.T) > 1e-6  # a smaller part of a combination is rounding
    return [group for group in _components(links) if links[group[0], group[0]]]


def copied_columns(X: Any) -> list[IntArray]:
    """Groups of columns of X (m, n) that vary and are equal up to sign, scale and shift.

    Equal columns have equal products with any vector, which finds the candidates.
    """
    X = as_rows(X)
    m, n = X.shape
    scales = column_scales(X, np.ones(m))
    probe = np.random.default_rng(0).standard_normal(m)
    probe -= probe.mean()
    products = np.empty(n)
    for part in gen_batches(n, 1000):
        block = X[:, part]
        if isinstance(block, np.ndarray):  # a large mean would cost the product its digits
            block = block - block.mean(axis=0)
        products[part] = np.asarray(block.T @ probe).ravel()
    varying = np.flatnonzero(scales > 0)
    sizes = np.abs(products[varying] / scales[varying])
    order = np.argsort(sizes, kind="stable")
    near = np.flatnonzero(np.diff(sizes[order]) <= EQUAL * np.sqrt(m))
    pairs = []
    for first, second in zip(varying[order[near]], varying[order[near + 1]], strict=True):
        both = dense_matrix(X[:, [first, second]])
        a, b = ((both - both.mean(axis=0)) / scales[[first, second]]).T
        sign = 1.0 if a @ b >= 0 else -1.0
        if np.sqrt(np.mean((a - sign * b) ** 2)) <= EQUAL:
            pairs.append((first, second))
    i, j = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    links = coo_array((np.ones(len(i)), (i, j)), shape=(n, n))
    return [group for group in _components(links) if len(group) > 1]


def _components(links: Any) -> list[IntArray]:
    """Groups of linked columns in the order of their first ones, singles too."""
    group = connected_components(links, directed=False)[1]
    order = np.argsort(group, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
    return sorted(groups, key=lambda columns: int(columns[0]))


def checked_columns(
    name: str, columns: ArrayLike | None, n: int, names: Sequence[str] = ()
) -> IntArray:
    """Indices of columns (c,), from indices, a mask (n,), or some of the names; all by default."""
    if columns is None:
        return np.arange(n)
    values = np.asarray(columns)
    if names and values.ndim == 1 and values.dtype.kind in "UO":
        place = {title: number for number, title in enumerate(names)}
        unknown = [title for title in map(str, values) if title not in place]
        if unknown:
            raise InvalidInputError(
                f"{name} names {unknown[0]!r}, which is not a column of X"
                f"{nearest(unknown[0], names)}; give names of its columns, indices or a mask."
            )
        values = np.array([place[title] for title in map(str, values)], dtype=np.intp)
    if values.dtype == bool and values.shape == (n,):
        values = np.flatnonzero(values)
    whole = values.ndim == 1 and values.size > 0 and values.dtype.kind in "iu"
    if not whole or values.min() < -n or values.max() >= n or len({*(values % n)}) < len(values):
        raise InvalidInputError(
            f"{name} does not name different columns of X, but a list of column indices from 0 to "
            f"{n - 1} or a mask of shape ({n},) is accepted; pass one of them."
        )
    return values.astype(np.intp) % n


def column_names(given: Any, n: int) -> tuple[str, ...]:
    """Names of n columns, x0, x1, ... by default; they must differ."""
    if given is None:
        return tuple(f"x{j}" for j in range(n))
    names = tuple(map(str, given))
    if len(names) != n or len(set(names)) != n:
        raise InvalidInputError(
            f"{len(names)} names were given, {len(set(names))} of them different, but X has {n} "
            "columns; give each column its own name."
        )
    return names


def dense_matrix(X: MatrixLike) -> FloatArray:
    """X (m, n) as a dense array of doubles."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def as_numbers(name: str, values: Any) -> FloatArray:
    """An argument of any shape as a dense array of doubles; refuse text and other objects."""
    try:
        return dense_matrix(values)
    except (TypeError, ValueError) as problem:
        raise InvalidInputError(
            f"{name} holds something that is not a number, but every entry must be one; convert "
            "it first."
        ) from problem
