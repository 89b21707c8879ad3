"""Many responses over one set of columns, each solved on the few columns that it needs.

A response y_t with columns P (one row per column) is first solved on the columns that correlate
most with it, along the knots of its path. One product then correlates the residuals of all
responses with all columns; columns that exceed their threshold join, and the walk is repeated.
The certificate covers all columns.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from sketchlasso.exact.path import MOST_ACTIVE, MOST_JOINING, MOST_KNOTS, NEAR
from sketchlasso.exact.working_set import largest
from sketchlasso.kernels.gram_path import (
    COLUMN,
    EXACT,
    FIT,
    SLOPE,
    blank_solutions,
    gram_path,
    walk_gram,
)
from sketchlasso.linalg.rows import rounding_of_sums, stack_rows
from sketchlasso.linalg.threads import map_rows, single_blas_thread
from sketchlasso.problem.formulas import relative_gap
from sketchlasso.problem.full_problem import dual_bound, full_primal
from sketchlasso.problem.terms import spread_factors
from sketchlasso.types import FloatArray, IntArray, SparseRows

# A response starts with at most so many columns.
MOST_AT_FIRST = 150
# Checks of all columns before another solver gets the rest.
MOST_LOOKS = 10
# Entries of the inner products of all columns, if these are worth computing.
MOST_GRAM = 2**24
# Responses, each at one penalty, whose residuals are correlated with all columns at a time.
LOOKS = 256
# A residual of no more than this share of its response is an exact fit.
EXACT_FIT = 1e-9
NO_COLUMNS = np.empty(0, dtype=np.int64)
Piece = tuple[IntArray, FloatArray]


def solve_many(
    P: FloatArray, Y: FloatArray, own: IntArray, alphas: FloatArray, tol: float, n_threads: int
) -> tuple[SparseRows, FloatArray]:
    """Minimise ||y_t - P'w|| + alpha ||w||_1 for every response and penalty.

    P (p, k) has one row per column, Y (t, k) one per response, none of them zero. A response must
    not use the column in `own` (t,); -1 for none. Penalties (t, a) are > 0, in any order, and `tol`
    is a relative duality gap.

    Returns coefficients (t * a, p), penalty fastest, and their relative gaps (t * a,) on all
    columns. Those above the tolerance are for another solver.
    """
    search = _Search(P, Y, own, alphas, tol, n_threads)
    search.run()
    gap = np.empty_like(alphas)
    np.put_along_axis(gap, search.order, search.gap, axis=1)
    back = np.argsort(search.order, axis=1)
    pieces = [search.pieces[t][i] for t, row in enumerate(back) for i in row]
    return stack_rows(pieces, len(P)), gap.ravel()


class _Search:
    """Rounds of walks on the columns in use and checks of all columns.

    `order` (t, a) are the penalties of each response from the largest down. In that order `gap`
    (t, a) is inf for those that no walk has reached, and `pieces` are (indices, values).
    """

    def __init__(
        self,
        P: FloatArray,
        Y: FloatArray,
        own: IntArray,
        alphas: FloatArray,
        tol: float,
        n_threads: int,
    ) -> None:
        self._P, self._Y, self._own, self._tol, self._n_threads = P, Y, own, tol, n_threads
        self.order = np.argsort(-alphas, axis=1, kind="stable")
        self._alphas = np.ascontiguousarray(np.take_along_axis(alphas, self.order, axis=1))
        self._null = np.linalg.norm(Y, axis=1)
        # Columns may see this much more of a direction of length one than was computed.
        longest = np.linalg.norm(P, axis=1).max(initial=0.0)
        self._rounding = np.array([rounding_of_sums(P.shape[1]) * longest])
        self.gap: FloatArray = np.full(alphas.shape, np.inf)
        nothing: Piece = (NO_COLUMNS, np.empty(0))
        self.pieces: list[list[Piece]] = [[nothing] * alphas.shape[1] for _ in Y]
        self._work: list[IntArray] = [NO_COLUMNS] * len(Y)
        self._gram: FloatArray | None = None
        # Dual directions of exact fits, whose residuals point nowhere.
        self._tight: dict[int, FloatArray] = {}
        # How many penalties the last walk reached.
        self._reached = np.zeros(len(Y), dtype=np.intp)

    def run(self) -> None:
        """Repeat until every response is proved or gains no more columns."""
        limits = NEAR * self._alphas[:, -1] * self._null
        for start in range(0, len(self._Y), LOOKS):
            part = slice(start, start + LOOKS)
            for t, scores in enumerate(self._seen(self._Y[part], self._own[part]), start):
                near = np.flatnonzero(scores > limits[t])
                self._work[t] = largest(near, scores, MOST_AT_FIRST)
        open_ = np.arange(len(self._Y))
        for _ in range(MOST_LOOKS):
            self._walk_all(open_)
            open_ = self._look(open_)
            if len(open_) == 0:
                return

    def _seen(self, residuals: FloatArray, own: IntArray) -> FloatArray:
        """|x_j'r| of every column (b, p), zero for the column a response must not use."""
        seen = np.abs(residuals @ self._P.T)
        inside = np.flatnonzero(own >= 0)
        seen[inside, own[inside]] = 0.0
        return seen

    def _walk_all(self, responses: IntArray) -> None:
        p = len(self._P)
        wanted = sum(len(self._work[t]) ** 2 for t in responses)
        if self._gram is None and p**2 <= min(wanted, MOST_GRAM):
            self._gram = self._P @ self._P.T
        with single_blas_thread():
            map_rows(lambda i: self._walk(int(responses[i])), len(responses), self._n_threads)

    def _walk(self, t: int) -> None:
        """Solve one response at its penalties on the columns in use."""
        columns, alphas = self._work[t], self._alphas[t]
        rows = self._P[columns]
        most = min(len(columns), rows.shape[1], MOST_ACTIVE)
        if most == 0:
            # No column comes near its threshold: w = 0 remains to be proved.
            self._reached[t] = len(alphas)
            return
        out = blank_solutions(len(alphas), most)
        G = rows @ rows.T if self._gram is None else self._gram[columns].take(columns, axis=1)
        path = gram_path(
            G,
            rows @ self._Y[t],
            spread_factors(columns),
            most,
            float(self._null[t] ** 2),
            False,
            False,
            False,
        )
        done, _, count, why = walk_gram(path, 0, 0, alphas, out, MOST_KNOTS)
        for i in range(done):
            values = out.values[i, : out.counts[i]]
            kept = np.flatnonzero(values)
            self.pieces[t][i] = _ordered(columns[out.indices[i, kept]], values[kept])
        if why == EXACT and done < len(alphas):
            # All smaller penalties have the same solution, and the dual point alpha t of length at
            # most one with x_j't = sign(w_j) on its support.
            active = path.active[COLUMN, :count]
            self.pieces[t][done:] = [_ordered(columns[active], path.parts[FIT, :count])] * (
                len(alphas) - done
            )
            signs = path.parts[SLOPE, :count]
            inner = linalg.cho_solve((path.L[:count, :count], True), signs, check_finite=False)
            self._tight[t] = inner @ rows[active]
            done = len(alphas)
        self._reached[t] = done

    def _look(self, open_: IntArray) -> IntArray:
        """Certify the solutions on all columns; return the responses (s,) that gained columns."""
        gained = []
        per_look = max(1, LOOKS // self.gap.shape[1])
        for start in range(0, len(open_), per_look):
            block = open_[start : start + per_look]
            excess = self._excess(block)
            for t, ratios in zip(block, excess, strict=True):
                ratios[self._work[t]] = 0.0
                limit = max(MOST_JOINING, len(self._work[t]) // 2)
                joining = largest(np.flatnonzero(ratios > 1.0), ratios, limit)
                if len(joining):
                    self._work[t] = np.concatenate([self._work[t], joining])
                    gained.append(t)
        return np.array(gained, dtype=np.intp)

    def _excess(self, block: IntArray) -> FloatArray:
        """Write the gaps of some responses; |x_j'r| / (alpha ||r||) of each, the largest (b, p).

        Only penalties that are not proved count: where all are, the ratios are zero.
        """
        a, p = self.gap.shape[1], len(self._P)
        excess = np.zeros((len(block), p))
        for i in range(a):
            rows = np.flatnonzero((self._reached[block] > i) & ~(self.gap[block, i] <= self._tol))
            if len(rows) == 0:
                continue
            t = block[rows]
            coef = stack_rows([self.pieces[j][i] for j in t], p)
            residual = self._Y[t] - coef @ self._P
            alpha = self._alphas[t, i]
            l1 = np.asarray(abs(coef).sum(axis=1), dtype=np.float64)
            primal = full_primal(np.linalg.norm(residual, axis=1), alpha, l1)
            limit = alpha * np.linalg.norm(residual, axis=1)
            for row, j in enumerate(t):
                if j in self._tight and limit[row] <= EXACT_FIT * alpha[row] * self._null[j]:
                    residual[row], limit[row] = self._tight[j], 1.0
            length = np.linalg.norm(residual, axis=1)
            seen = self._seen(residual, self._own[t])
            inner = np.einsum("ij,ij->i", self._Y[t], residual)
            largest_seen = seen.max(axis=1)[None]
            dual = dual_bound(
                largest_seen, length, inner, alpha, np.ones(1), self._rounding, positive=True
            )
            self.gap[t, i] = relative_gap(primal, dual, self._null[t])
            open_ = np.flatnonzero(~(self.gap[t, i] <= self._tol) & (length > 0))
            ratios = seen[open_] / limit[open_, None]
            excess[rows[open_]] = np.maximum(excess[rows[open_]], ratios)
        return excess


def _ordered(indices: IntArray, values: FloatArray) -> Piece:
    order = np.argsort(indices)
    return indices[order], values[order]
