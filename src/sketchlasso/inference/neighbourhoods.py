"""Which columns explain which: neighbourhoods of targets among predictors, as a graph."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import ndtr
from sklearn.utils import gen_batches

from sketchlasso.data import MatrixLike, as_rows
from sketchlasso.errors import DuplicateColumnWarning, InvalidInputError, unaccepted
from sketchlasso.graphs import Rule, graph_of, join_directions
from sketchlasso.inference.checks import (
    FEWEST_ROWS,
    check_enough_rows,
    checked_columns,
    column_names,
    determined_groups,
    listed,
)
from sketchlasso.inference.columns import ColumnRows, column_rows
from sketchlasso.inference.regressions import ColumnSolver, Nodewise
from sketchlasso.instances import complementary_pairs
from sketchlasso.linalg.device import CPU
from sketchlasso.linalg.seeds import RandomState, seed_of
from sketchlasso.solvers import Settings
from sketchlasso.storage import Parts
from sketchlasso.types import BoolArray, FloatArray, IntArray, SparseRows, is_number, is_whole
from sketchlasso.warn import warn_user


@dataclass(frozen=True, eq=False, repr=False)
class Neighbourhoods:
    """Targets, and the predictors that explain each of them; made by :func:`neighbourhoods`.

    Attributes
    ----------
    names : tuple of str, of length n
        Of all columns of X.
    targets : ndarray of shape (t,)
    predictors : ndarray of shape (p,)
    weights : csr_array of shape (t, n)
        Standardised coefficients gamma_jk s_k / s_j: one standard deviation of a predictor
        changes its target by this many standard deviations.
    regressions : Nodewise
        The regressions, one row per target, with their gaps.
    half_samples : csr_array of shape (h * t, n) or None
        Signs of the coefficients on h half-samples, half-sample by half-sample.
    p_values : csr_array of shape (n, n) or None
        Of the pairs that either regression chose, where both were made; in both triangles.
    """

    names: tuple[str, ...]
    targets: IntArray
    predictors: IntArray
    weights: SparseRows
    regressions: Nodewise
    half_samples: SparseRows | None = None
    p_values: SparseRows | None = None

    def __repr__(self) -> str:
        return (
            f"<Neighbourhoods: {len(self.targets)} targets among {len(self.predictors)} "
            f"predictors, {self.weights.nnz} directed edges>"
        )

    @property
    def n_half_samples(self) -> int:
        """How many half-samples h were drawn."""
        return 0 if self.half_samples is None else self.half_samples.shape[0] // len(self.targets)

    @cached_property
    def stability(self) -> SparseRows | None:
        """Share of half-samples in which a target chose a predictor (t, n); None without any."""
        if self.half_samples is None:
            return None
        t, signs = len(self.targets), sparse.coo_array(self.half_samples)
        counts = np.abs(signs.data).astype(np.float64)
        # The same place in several half-samples is added up.
        total = sparse.csr_array((counts, (signs.row % t, signs.col)), (t, len(self.names)))
        return sparse.csr_array(total / self.n_half_samples)

    def table(self) -> dict[str, Any]:
        """Columns of a table with one row per directed edge, the strongest first.

        Returns
        -------
        dict of str to list or ndarray of shape (n_edges,)
            ``source`` (predictor), ``target``, ``weight``, ``coefficient`` (on the scale of X),
            and ``stability`` and ``p_value`` (NaN where not available) if they were computed.
        """
        row = np.repeat(np.arange(len(self.targets)), np.diff(self.weights.indptr))
        order = np.argsort(-np.abs(self.weights.data), kind="stable")
        row, column = row[order], self.weights.indices[order]
        target = self.targets[row]
        table: dict[str, Any] = {
            "source": [self.names[k] for k in column],
            "target": [self.names[j] for j in target],
            "weight": self.weights.data[order],
            "coefficient": _entries(self.regressions.coef, row, column),
        }
        if self.stability is not None:
            table["stability"] = _entries(self.stability, row, column)
        if self.p_values is not None:
            p_values = _entries(self.p_values, target, column)
            table["p_value"] = np.where(p_values > 0, p_values, np.nan)
        return table

    def graph(self, rule: Rule = "or", *, min_stability: float = 0.0) -> Any:
        """Return the undirected graph of all columns that are targets or predictors.

        Parameters
        ----------
        rule : {"or", "and"}
            Whether an edge needs one regression of a pair or both, where both were made.
        min_stability : float
            Keep edges that appear in at least this share of the half-samples.

        Returns
        -------
        networkx.Graph
            Edges have a `weight`, the absolute value of the larger ("or") or smaller ("and")
            standardised coefficient, and a `sign`, 1 or -1; a `stability` where half-samples were
            drawn; and a `p_value` where the pair was tested. Needs the extra `graph`.
        """
        share = is_number(min_stability) and 0 <= min_stability <= 1
        if not share or (min_stability > 0 and self.half_samples is None):
            raise InvalidInputError(
                f"min_stability={min_stability!r} was given, but a share from 0 to 1 is accepted, "
                "and only 0 without half-samples; pass one, or draw half-samples."
            )
        used = np.union1d(self.targets, self.predictors)
        edges, weights = self._joined(self.weights, rule)
        attributes = {}
        if self.half_samples is not None:
            attributes["stability"] = self._edge_stability(edges, rule)
        if self.p_values is not None:
            p_values = _entries(self.p_values, edges[:, 0], edges[:, 1])
            attributes["p_value"] = np.where(p_values > 0, p_values, np.nan)
        if min_stability > 0:
            stable = attributes["stability"] >= min_stability
            edges, weights = edges[stable], weights[stable]
            attributes = {name: values[stable] for name, values in attributes.items()}
        names = tuple(self.names[j] for j in used)
        return graph_of(names, np.searchsorted(used, edges), weights, rule, attributes)

    def _joined(self, weights: Any, rule: Rule) -> tuple[IntArray, FloatArray]:
        """Edges and weights of a matrix (t, n) of directed weights."""
        n = len(self.names)
        row = self.targets[np.repeat(np.arange(len(self.targets)), np.diff(weights.indptr))]
        column, values = weights.indices.astype(np.intp), weights.data.astype(np.float64)
        # Pairs of which only one regression was made are joined by that one.
        both = self._mutual(row, column)
        edges, joined = join_directions(row[both], column[both], values[both], n, rule)
        more, single = join_directions(row[~both], column[~both], values[~both], n, "or")
        edges, joined = np.concatenate([edges, more]), np.concatenate([joined, single])
        order = np.lexsort((edges[:, 1], edges[:, 0]))
        return edges[order], joined[order]

    def _mutual(self, j: IntArray, k: IntArray) -> BoolArray:
        """Whether both columns of pairs (e,) are targets and predictors."""
        able = np.zeros(len(self.names), dtype=bool)
        able[np.intersect1d(self.targets, self.predictors)] = True
        return np.asarray(able[j] & able[k])

    def _edge_stability(self, edges: IntArray, rule: Rule) -> FloatArray:
        """Share of the half-samples in which each edge (e, 2) appears under a rule."""
        assert self.half_samples is not None
        n, t = len(self.names), len(self.targets)
        keys = edges[:, 0] * n + edges[:, 1]
        counts = np.zeros(len(keys))
        for number in range(self.n_half_samples):
            found, _ = self._joined(self.half_samples[number * t : (number + 1) * t], rule)
            counts += np.isin(keys, found[:, 0] * n + found[:, 1])
        return counts / self.n_half_samples


def _entries(matrix: Any, row: Any, column: Any) -> FloatArray:
    """Entries of a sparse matrix at positions (e,)."""
    if len(row) == 0:
        return np.empty(0)
    return np.asarray(matrix[row, column], dtype=np.float64).ravel()


def neighbourhoods(
    X: MatrixLike,
    targets: ArrayLike | None = None,
    predictors: ArrayLike | None = None,
    *,
    names: Sequence[str] | None = None,
    alpha: float | str = "pivotal",
    n_half_samples: int = 0,
    p_values: bool = False,
    tol: float = 1e-6,
    n_threads: int = -1,
    device: str = CPU,
    random_state: RandomState = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Neighbourhoods:
    """Find the predictors that explain each target, by one square-root LASSO per target.

    Every regression is solved on the full data to a proved gap, see :func:`nodewise`.

    Parameters
    ----------
    X : array-like, data frame, sparse matrix, BlockMatrix or dask array of shape (m, n)
    targets, predictors : array-like, optional
        Columns as names, indices or masks; all by default. A target is never its own predictor.
    names : sequence of str, optional
        Of all columns; those of a data frame, or x0, x1, ..., by default.
    alpha : "pivotal" or float
        Penalty, of columns with standard deviation one. A number is meant for all rows: on
        half-samples it is divided by the root of two.
    n_half_samples : int
        Even number of half-samples, drawn as complementary pairs, on which the stability of the
        edges is measured; 0 for none.
    p_values : bool
        Whether to test the pairs that either regression chose, where both were made, by Liu's
        statistic of the two residuals: two-sided, and not adjusted for the number of pairs. Links
        of columns that others determine have none; a :class:`DuplicateColumnWarning` names them.
    tol : float
        Relative duality gap on the full data.
    n_threads : int
        -1 for all cores.
    device : str
        Where to solve, see :class:`Settings`.
    random_state : int, Generator, RandomState or None
        Of the half-samples.
    checkpoint : path-like, optional
        An interrupted call with the same `random_state` continues from parts kept beside this path.
    progress : callable, optional
        Called with the regressions done and their number after each part.

    Returns
    -------
    Neighbourhoods

    Examples
    --------
    >>> import numpy as np
    >>> from sketchlasso.inference import neighbourhoods
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> X[:, 0] += X[:, 3]
    >>> found = neighbourhoods(X, targets=[0, 1], predictors=[2, 3, 4])
    >>> found.table()["source"], found.table()["target"]
    (['x3'], ['x0'])
    """
    rows = as_rows(X)
    m, n = rows.shape
    check_enough_rows(m)
    titles = column_names(getattr(X, "columns", None) if names is None else names, n)
    explained = checked_columns("targets", targets, n, titles)
    explaining = checked_columns("predictors", predictors, n, titles)
    if not is_whole(n_half_samples) or n_half_samples < 0 or n_half_samples % 2:
        raise unaccepted("n_half_samples", n_half_samples, "an even number >= 0")
    if n_half_samples and m < 2 * FEWEST_ROWS:
        raise InvalidInputError(
            f"X has {m} rows, but half-samples need at least {2 * FEWEST_ROWS}; pass "
            "n_half_samples=0, or collect more samples."
        )
    if not isinstance(alpha, str) and np.ndim(alpha) != 0:
        raise InvalidInputError(
            f"alpha must be 'pivotal' or one number > 0, not an array of shape {np.shape(alpha)}; "
            "use nodewise for several."
        )
    settings = Settings(tol=tol, n_threads=n_threads, device=device)
    columns, seed = column_rows(rows, True), seed_of(random_state)
    decisive = {
        "alpha": alpha,
        "tol": tol,
        "half_samples": n_half_samples,
        "seed": seed if n_half_samples else 0,
        "device": device,
        "P": columns.P,
        "targets": explained,
        "predictors": explaining,
    }
    total, signs = len(explained) * (1 + n_half_samples), []
    with Parts.beside(checkpoint, decisive, "data set") as parts:
        solver = ColumnSolver(settings, total, progress, parts)
        regressions = solver.solve(columns, alpha, explained, explaining)
        halves = complementary_pairs(m, n_half_samples // 2, seed) if n_half_samples else ()
        for half in halves:
            train = half.train(m)
            # The same penalty per root of a row, so that it leaves the same links.
            level = alpha if isinstance(alpha, str) else alpha * np.sqrt(len(train) / m)
            own = column_rows(rows[train], True)
            coef: Any = solver.solve(own, level, explained, explaining).coef
            signs.append(coef.sign().astype(np.int8))
    regressions.warn_if_unsolved()
    result = Neighbourhoods(
        titles,
        explained,
        explaining,
        columns.transform.scale(regressions.coef, columns.scales[regressions.targets]),
        regressions,
        sparse.csr_array(sparse.vstack(signs, format="csr")) if signs else None,
    )
    return replace(result, p_values=_pair_tests(result, columns, rows)) if p_values else result


def _pair_tests(result: Neighbourhoods, columns: ColumnRows, rows: Any) -> SparseRows:
    """P-values (n, n) of the pairs that either regression chose, where both were made.

    Pairs with a column that others determine have none. With r_j = ||z_j||^2 / m the statistic

        sqrt(m) ( z_j'z_k / m + r_j gamma_kj + r_k gamma_jk ) / sqrt(r_j r_k)

    is close to standard normal where x_j and x_k are independent given the others. W. Liu, Annals
    of Statistics 41 (2013).
    """
    regressions, n = result.regressions, len(result.names)
    m = regressions.n_samples
    pairs, _ = result._joined(regressions.coef.sign(), "or")
    pairs = pairs[result._mutual(pairs[:, 0], pairs[:, 1])]
    pairs = pairs[~_determined(result, columns)[pairs].any(axis=1)]
    place = np.zeros(n, dtype=np.intp)
    place[result.targets] = np.arange(len(result.targets))
    needed = np.unique(pairs)
    Z = regressions.take(place[needed]).residuals(rows)
    j, k = (np.searchsorted(needed, side) for side in pairs.T)
    inner = np.empty(len(pairs))
    for part in gen_batches(max(1, len(pairs)), 4096):
        inner[part] = np.einsum("ij,ij->j", Z[:, j[part]], Z[:, k[part]])
    squares = np.einsum("ij,ij->j", Z, Z) / m
    first = _entries(regressions.coef, place[pairs[:, 1]], pairs[:, 0])
    second = _entries(regressions.coef, place[pairs[:, 0]], pairs[:, 1])
    bridge = inner / m + squares[j] * first + squares[k] * second
    score = np.sqrt(m) * bridge / np.sqrt(squares[j] * squares[k])
    p = np.maximum(2.0 * ndtr(-np.abs(score)), 1e-300)  # zero stands for "not tested"
    both = np.concatenate([pairs, pairs[:, ::-1]])
    return sparse.csr_array((np.tile(p, 2), (both[:, 0], both[:, 1])), shape=(n, n))


def _determined(result: Neighbourhoods, columns: ColumnRows) -> BoolArray:
    """Which columns (n,) others determine, or fit exactly, with a warning that names them."""
    groups = determined_groups(columns, np.union1d(result.targets, result.predictors))
    if groups:
        more = f" (and {len(groups) - 1} more such groups)" if len(groups) > 1 else ""
        warn_user(
            DuplicateColumnWarning(
                f"columns {listed(result.names, groups[0])} are exact combinations of each "
                f"other{more}, so their links have no p-value; leave all but one of them out."
            )
        )
    determined = np.zeros(columns.n_features, dtype=bool)
    determined[[j for group in groups for j in group]] = True
    determined[result.targets[result.regressions.fits_exactly(columns.lengths)]] = True
    return determined
