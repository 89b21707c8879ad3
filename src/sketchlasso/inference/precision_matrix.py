"""From one regression per column to a precision matrix, and the penalty that makes its graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy import linalg
from sklearn.covariance import empirical_covariance, log_likelihood
from sklearn.utils import gen_batches

from sketchlasso.errors import InvalidInputError
from sketchlasso.graphs import Rule, join_directions
from sketchlasso.inference.columns import ColumnRows, column_rows
from sketchlasso.inference.regressions import ColumnSolver, Nodewise, Progress
from sketchlasso.linalg.threads import single_blas_thread
from sketchlasso.solvers import Settings
from sketchlasso.types import FloatArray, IntArray, is_number, is_whole


@dataclass(frozen=True, eq=False)
class Assembled:
    """A symmetric estimate D (I - R) D with D = diag(sqrt(diagonal)).

    The diagonal (n,) is m / ||z_j||^2, z_j the residual of column j. R has the partial
    correlations `partial` (e,) at the `edges` (e, 2).
    """

    diagonal: FloatArray
    edges: IntArray
    partial: FloatArray

    def precision(self) -> tuple[FloatArray, float]:
        """Precision (n, n), and the share taken off the partial correlations.

        Joining both directions keeps symmetry but not positive definiteness. Where the smallest
        eigenvalue of I - R falls below 0.001, R is multiplied by the largest number that keeps
        it there: the graph and the diagonal do not change.
        """
        n, most = len(self.diagonal), 1.0 - 1e-3
        R = np.zeros((n, n))
        R[self.edges[:, 0], self.edges[:, 1]] = self.partial
        R += R.T
        kept = 1.0
        try:
            linalg.cholesky(most * np.eye(n) - R, lower=True)
        except linalg.LinAlgError:
            largest = float(linalg.eigvalsh(R, subset_by_index=[n - 1, n - 1])[0])
            kept = most / largest
            R *= kept
        root = np.sqrt(self.diagonal)
        return (np.eye(n) - R) * np.outer(root, root), 1.0 - kept

    def matrices(self) -> tuple[FloatArray, FloatArray, float]:
        """Precision (n, n), covariance (n, n), and the share that :meth:`precision` returns."""
        precision, shrinkage = self.precision()
        root = np.sqrt(self.diagonal)
        scale = np.outer(root, root)
        factor = linalg.cho_factor(precision / scale, lower=True)
        covariance = linalg.cho_solve(factor, np.eye(len(root))) / scale
        return precision, 0.5 * (covariance + covariance.T), shrinkage


def assemble(found: Nodewise, lengths: FloatArray, rule: Rule) -> Assembled:
    """Join the regressions of all columns, one penalty each, as TIGER does.

    Row j of the precision matrix is theta_jj = m / ||z_j||^2 and theta_jk = -gamma_jk theta_jj.
    Of theta_jk and theta_kj the smaller is kept ("and"; zero where one of them is, or where the
    signs differ), or the larger ("or"). `lengths` (n,) are those of the centred columns. A column
    that is constant, or fitted exactly by others, is refused: its precision would be infinite.
    """
    n = len(lengths)
    if (lengths == 0).any():
        raise InvalidInputError(
            f"column {int(np.argmin(lengths))} of X is constant, but a precision matrix needs "
            "columns that vary; drop it."
        )
    exact = found.fits_exactly(lengths)
    if exact.any():
        j = int(np.argmax(exact))
        own = slice(found.coef.indptr[j], found.coef.indptr[j + 1])
        others = ", ".join(str(k) for k in found.coef.indices[own][:5])
        raise InvalidInputError(
            f"column {j} of X is fitted exactly by others (such as column {others}) at "
            f"alpha={found.alpha[j]:.3g}, so that its precision would be infinite; drop copies and "
            "sums of other columns, or use a larger alpha."
        )
    row = np.repeat(np.arange(n), np.diff(found.coef.indptr))
    column = found.coef.indices
    # gamma_jk sqrt(theta_jj / theta_kk)
    partial = found.coef.data * found.residual_norm[column] / found.residual_norm[row]
    edges, joined = join_directions(row, column, partial, n, rule)
    return Assembled(found.n_samples / found.residual_norm**2, edges, joined)


@dataclass(frozen=True, eq=False)
class PenaltyPath:
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
        own = alphas * np.sqrt(len(X) / len(self.X))
        return columns, ColumnSolver(self.settings).solve(columns, own)


def penalty_path(columns: ColumnRows, count: int, ratio: float) -> FloatArray:
    """Penalties (count,) from the smallest that leaves no edge, evenly spaced in log scale."""
    if not (is_whole(count) and count >= 2 and is_number(ratio) and 0 < ratio < 1):
        raise InvalidInputError(
            f"alphas={count!r} and alpha_min_ratio={ratio!r} were given, but at least 2 penalties "
            "and a ratio strictly between 0 and 1 are accepted; pass these, or the penalties."
        )
    largest = columns.largest_products().max() / np.sqrt(columns.n_samples)
    return np.asarray(max(largest, 1e-12) * np.geomspace(1.0, ratio, int(count)))


def select_by_stars(
    path: PenaltyPath,
    rng: np.random.Generator,
    n_subsamples: int,
    threshold: float,
    on_progress: Progress | None,
) -> tuple[int, FloatArray]:
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
    for part in gen_batches(len(path.alphas), 4):
        seen: list[list[IntArray]] = [[] for _ in range(part.stop - part.start)]
        for number, chosen in enumerate(rows):
            _, found = path.solve(path.X[chosen], path.alphas[part])
            for i, keys in enumerate(seen):
                keys.append(_edge_keys(found.penalty(i), n, path.rule))
            if on_progress is not None:
                on_progress(part.start * n_subsamples + number + 1, len(path.alphas) * n_subsamples)
        for i, keys in enumerate(seen, part.start):
            shares = np.unique(np.concatenate(keys), return_counts=True)[1] / n_subsamples
            instability = float(np.sum(2 * shares * (1 - shares))) / max(1, n * (n - 1) / 2)
            highest = criterion[i] = max(highest, instability)
        if highest > threshold:
            break
    below = np.flatnonzero(criterion <= threshold)
    return int(below[-1]) if len(below) else 0, criterion


def _edge_keys(found: Nodewise, n: int, rule: Rule) -> IntArray:
    """Every edge as one number."""
    row = np.repeat(found.targets, np.diff(found.coef.indptr))
    # Signs decide the "and", sizes do not.
    edges, _ = join_directions(row, found.coef.indices, np.sign(found.coef.data), n, rule)
    return edges[:, 0] * n + edges[:, 1]


def _descend(path: PenaltyPath, value: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Values (a,) of decreasing penalties, NaN once they stay below the best.

    The smallest penalties take most of the time and are rarely chosen.
    """
    values = np.full(len(path.alphas), np.nan)
    for part in gen_batches(len(path.alphas), 4):
        values[part] = value(path.alphas[part])
        if part.start > 0 and int(np.nanargmax(values)) < part.start:
            break
    return values


def select_by_ebic(path: PenaltyPath, gamma: float) -> tuple[int, FloatArray]:
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
    return int(np.nanargmin(criterion)), criterion


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
    path: PenaltyPath, folds: Iterable[tuple[IntArray, IntArray]], on_progress: Progress | None
) -> tuple[int, FloatArray]:
    """The penalty with the largest mean log-likelihood of rows held out."""
    splits, done = list(folds), 0

    def value(alphas: FloatArray) -> FloatArray:
        nonlocal done
        scores = np.empty((len(splits), len(alphas)))
        for number, (train, test) in enumerate(splits):
            columns, found = path.solve(path.X[train], alphas)
            rest = path.X[test] - path.X[train].mean(axis=0)
            held_out = empirical_covariance(rest, assume_centered=True)
            lengths = columns.lengths
            for i in range(len(alphas)):
                own = found.penalty(i)
                if (lengths == 0).any() or own.fits_exactly(lengths).any():
                    scores[number, i] = -np.inf
                else:
                    precision = assemble(own, lengths, path.rule).precision()[0]
                    scores[number, i] = log_likelihood(held_out, precision)
            done += len(alphas)
            if on_progress is not None:
                on_progress(done, len(splits) * len(path.alphas))
        return np.asarray(scores.mean(axis=0))

    criterion = _descend(path, value)
    return int(np.nanargmax(criterion)), criterion
