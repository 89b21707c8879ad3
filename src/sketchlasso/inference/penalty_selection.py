"""Which penalty makes the graph: stability of edges, an information criterion, or likelihood."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy import linalg
from sklearn.covariance import empirical_covariance, log_likelihood

from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.graphs import Rule, join_directions
from sketchlasso.inference.column_problems import ColumnProblems, ColumnRows, column_rows, slices
from sketchlasso.inference.nodewise import Nodewise, solve_columns
from sketchlasso.inference.precision_matrix import assemble, interpolates
from sketchlasso.linalg.threads import single_blas_thread
from sketchlasso.solvers import Settings
from sketchlasso.types import FloatArray, IntArray

__all__ = ["Path", "Selected", "penalty_path", "select_by_cv", "select_by_ebic", "select_by_stars"]

OnProgress = Callable[[int, int], None]
# Penalties that are solved before the criterion is looked at.
PENALTIES_AT_A_TIME = 4
COLUMNS_AT_A_TIME = 512


@dataclass(frozen=True, eq=False)
class Path:
    """Data and decreasing penalties (a,) to choose from, of columns with standard deviation one."""

    X: FloatArray
    alphas: FloatArray
    rule: Rule
    settings: Settings

    def solve(self, X: FloatArray, alphas: FloatArray) -> tuple[ColumnRows, Nodewise]:
        """All columns of some rows of X at some penalties, adjusted to the number of rows.

        The penalty over the root of that number stays the same, as in huge and scikit-learn.
        """
        columns = column_rows(X, True)
        everyone = np.arange(columns.n_features)
        own = alphas * np.sqrt(len(X) / len(self.X))
        problems = ColumnProblems(columns, everyone, everyone, own)
        return columns, solve_columns(problems, self.settings)


@dataclass(frozen=True, eq=False)
class Selected:
    """A choice among penalties.

    Attributes
    ----------
    index : int
    criterion : ndarray of shape (a,)
        NaN where it was not computed.
    """

    index: int
    criterion: FloatArray


def penalty_path(columns: ColumnRows, count: int, ratio: float) -> FloatArray:
    """Penalties (count,) from the smallest that leaves no edge, evenly spaced in log scale."""
    if not (isinstance(count, int | np.integer) and count >= 2 and 0 < ratio < 1):
        raise InvalidInputError(
            Argument("alphas", count),
            " and ",
            Argument("alpha_min_ratio", ratio),
            " were given, but at least 2 penalties and a ratio strictly between 0 and 1 are "
            "accepted; pass such, or the penalties.",
        )
    P, largest = columns.P, 0.0
    for part in slices(len(P), COLUMNS_AT_A_TIME):
        seen = np.abs(P[part] @ P.T)
        seen[np.arange(len(seen)), np.arange(part.start, part.stop)] = 0.0
        largest = max(largest, float(seen.max()))
    largest /= np.sqrt(columns.n_samples)
    return np.asarray(max(largest, 1e-12) * np.geomspace(1.0, ratio, int(count)))


def select_by_stars(
    path: Path,
    rng: np.random.Generator,
    n_subsamples: int,
    threshold: float,
    on_progress: OnProgress | None,
) -> Selected:
    """The smallest penalty whose edges hardly change between subsamples (StARS).

    The instability of a penalty is the mean of 2 p (1 - p) over all pairs of columns, p the share
    of subsamples with that edge, and never falls along the path. Subsamples have 10 sqrt(m) rows
    (0.8 m where m <= 144), drawn without replacement. H. Liu, K. Roeder and L. Wasserman (2010).
    """
    m, n = path.X.shape
    size = int(0.8 * m) if m <= 144 else int(10 * np.sqrt(m))
    rows = [np.sort(rng.choice(m, size, replace=False)) for _ in range(n_subsamples)]
    criterion = np.full(len(path.alphas), np.nan)
    highest = 0.0
    for part in slices(len(path.alphas), PENALTIES_AT_A_TIME):
        counts: list[dict[int, int]] = [{} for _ in range(part.stop - part.start)]
        for number, chosen in enumerate(rows):
            _, found = path.solve(path.X[chosen], path.alphas[part])
            for i, seen in enumerate(counts):
                for key in _edge_keys(found.penalty(i), n, path.rule):
                    seen[key] = seen.get(key, 0) + 1
            if on_progress is not None:
                on_progress(part.start * n_subsamples + number + 1, len(path.alphas) * n_subsamples)
        for i, seen in enumerate(counts, part.start):
            shares = np.fromiter(seen.values(), dtype=float, count=len(seen)) / n_subsamples
            instability = float(np.sum(2 * shares * (1 - shares))) / max(1, n * (n - 1) / 2)
            highest = criterion[i] = max(highest, instability)
        if highest > threshold:
            break
    below = np.flatnonzero(criterion <= threshold)
    return Selected(int(below[-1]) if len(below) else 0, criterion)


def _edge_keys(found: Nodewise, n: int, rule: Rule) -> list[int]:
    """Every edge as one number."""
    row = np.repeat(found.targets, np.diff(found.coef.indptr))
    # Signs decide the "and", sizes do not.
    edges, _ = join_directions(row, found.coef.indices, np.sign(found.coef.data), n, rule)
    keys: list[int] = (edges[:, 0].astype(np.int64) * n + edges[:, 1]).tolist()
    return keys


def _descend(path: Path, value: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Values (a,) of decreasing penalties, NaN after some in a row that are below the best.

    The smallest penalties take most of the time and are hardly ever chosen.
    """
    values = np.full(len(path.alphas), np.nan)
    for part in slices(len(path.alphas), PENALTIES_AT_A_TIME):
        values[part] = value(path.alphas[part])
        if part.start > 0 and int(np.nanargmax(values)) < part.start:
            break
    return values


def select_by_ebic(path: Path, gamma: float) -> Selected:
    """The penalty with the smallest extended BIC of its neighbourhoods.

    The sum over columns of m log(||z_j||^2 / m) + s_j (log m + 2 gamma log(n - 1)), z_j what least
    squares on the s_j chosen columns leaves of column j. J. Chen and Z. Chen (2008).
    """
    m, n = path.X.shape

    def value(alphas: FloatArray) -> FloatArray:
        columns, found = path.solve(path.X, alphas)
        sizes = np.diff(found.coef.indptr)
        with single_blas_thread():
            squares = np.array([_refitted(columns, found, i) for i in range(len(sizes))])
        lengths = np.sum(columns.P**2, axis=1)[found.targets]
        with np.errstate(divide="ignore"):
            fit = m * np.log(np.where(squares > 1e-12 * lengths, squares, 0.0) / m)
        total = fit + sizes * (np.log(m) + 2 * gamma * np.log(max(n - 1, 1)))
        # An exact fit says nothing about the graph.
        total = np.where(np.isfinite(total) & (sizes < m - 1), total, np.inf)
        return -np.asarray(total.reshape(n, -1).sum(axis=0))

    criterion = -_descend(path, value)
    return Selected(int(np.nanargmin(criterion)), criterion)


def _refitted(columns: ColumnRows, found: Nodewise, i: int) -> float:
    """||z||^2 of a column after least squares on its chosen columns."""
    y = columns.P[found.targets[i]]
    part = slice(found.coef.indptr[i], found.coef.indptr[i + 1])
    rows = columns.P[found.coef.indices[part]]
    if not 0 < len(rows) < columns.n_samples - 1:
        return float(y @ y) if len(rows) == 0 else 0.0
    seen = rows @ y
    try:
        weights = linalg.solve(rows @ rows.T, seen, assume_a="pos")
    except linalg.LinAlgError:
        weights = linalg.lstsq(rows.T, y)[0]
    rest = y - weights @ rows
    return float(rest @ rest)


def select_by_cv(
    path: Path, folds: Iterable[tuple[IntArray, IntArray]], on_progress: OnProgress | None
) -> Selected:
    """The penalty with the largest mean log-likelihood of rows held out."""
    splits, done = list(folds), 0

    def value(alphas: FloatArray) -> FloatArray:
        nonlocal done
        scores = np.empty((len(splits), len(alphas)))
        for number, (train, test) in enumerate(splits):
            columns, found = path.solve(path.X[train], alphas)
            rest = path.X[test] - path.X[train].mean(axis=0)
            held_out = empirical_covariance(rest, assume_centered=True)
            lengths = np.linalg.norm(columns.P, axis=1) * columns.scales * columns.unit
            for i in range(len(alphas)):
                scores[number, i] = _likelihood(found.penalty(i), lengths, path.rule, held_out)
            done += len(alphas)
            if on_progress is not None:
                on_progress(done, len(splits) * len(path.alphas))
        return np.asarray(scores.mean(axis=0))

    criterion = _descend(path, value)
    return Selected(int(np.nanargmax(criterion)), criterion)


def _likelihood(found: Nodewise, lengths: FloatArray, rule: Rule, held_out: FloatArray) -> float:
    if (lengths == 0).any() or interpolates(found, lengths).any():
        return -np.inf
    precision = assemble(found, lengths, rule).precision()[0]
    return float(log_likelihood(held_out, precision))
