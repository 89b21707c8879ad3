"""Other solvers behind plain functions: celer's and scikit-learn's LASSO paths, and Clarabel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse


def peer_layout(X: Any) -> Any:
    """X as coordinate descent works on it: columns in one piece."""
    return X.tocsc() if hasattr(X, "tocsc") else np.asfortranarray(X)


def lasso_alpha_max(X: Any, y: np.ndarray) -> float:
    """The smallest penalty at which the LASSO with an intercept is empty."""
    return float(np.abs(X.T @ (y - y.mean())).max() / len(y))


def sqrt_lasso_alpha_max(X: Any, y: np.ndarray) -> float:
    """The same for the square-root LASSO without a sketch."""
    centred = y - y.mean()
    return float(np.abs(X.T @ centred).max() / np.linalg.norm(centred))


def lasso_fits(
    path: Callable[..., Any], X: Any, y: np.ndarray, grid: np.ndarray, **options: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (n, alphas) and intercepts (alphas,) of a path with an intercept."""
    means = np.asarray(X.mean(axis=0)).ravel()
    if hasattr(X, "tocsc"):
        # As LassoCV passes it: a sparse matrix is centred implicitly.
        options |= {"X_offset": means, "X_scale": np.ones_like(means)}
        data = X.tocsc()
    else:
        data = np.asfortranarray(X - means)
    coef = path(data, y - y.mean(), alphas=grid, **options)[1]
    return coef, y.mean() - means @ coef


def celer_fits(
    X: Any, y: np.ndarray, grid: np.ndarray, tol: float
) -> tuple[np.ndarray, np.ndarray]:
    """The same by celer, whose own LassoCV does not run on current scikit-learn."""
    from celer.homotopy import celer_path

    return lasso_fits(celer_path, X, y, grid, pb="lasso", tol=tol, prune=True)


@dataclass(frozen=True, eq=False)
class ConicAnswer:
    """Clarabel's own account of its solution."""

    status: str
    iterations: int
    primal: float
    dual: float
    coef: np.ndarray

    @property
    def gap(self) -> float:
        return (self.primal - self.dual) / abs(self.primal)


def conic_problem(
    X: Any, y: np.ndarray, alpha: float, intercept: bool, radius: float = 0.0
) -> tuple[Any, ...]:
    """P, q, A, b and cones of

        minimise over w, v, d, t, z    t + radius z + alpha 1'v
        subject to  (t, y - Xw - d) and (z, w) in second-order cones,  |w| <= v

    for Clarabel. Without an intercept there is no d, without a radius no z.
    """
    import clarabel

    m, n = X.shape
    eye, extra = sparse.identity(n, format="csc"), int(intercept)
    rest = extra + 1 + int(radius > 0)
    size = 2 * n + rest
    blank = sparse.csc_matrix((n, rest))
    ones = np.zeros((m, rest))
    ones[:, :extra] = 1.0
    rows = [
        sparse.csc_matrix(([-1.0], ([0], [2 * n + extra])), shape=(1, size)),
        sparse.hstack([sparse.csc_matrix(X), sparse.csc_matrix((m, n)), sparse.csc_matrix(ones)]),
        sparse.hstack([eye, -eye, blank]),
        sparse.hstack([-eye, -eye, blank]),
    ]
    q = np.concatenate([np.zeros(n), np.full(n, alpha), np.zeros(extra), [1.0]])
    b = np.concatenate([[0.0], y, np.zeros(2 * n)])
    cones = [clarabel.SecondOrderConeT(m + 1), clarabel.NonnegativeConeT(2 * n)]
    if radius > 0:
        z = sparse.csc_matrix(([-1.0], ([0], [size - 1])), shape=(1, size))
        rows += [z, sparse.hstack([-eye, sparse.csc_matrix((n, n + rest))])]
        q, b = np.append(q, radius), np.append(b, np.zeros(n + 1))
        cones.append(clarabel.SecondOrderConeT(n + 1))
    return sparse.csc_matrix((size, size)), q, sparse.vstack(rows, format="csc"), b, cones


def conic_answer(problem: tuple[Any, ...], n: int, tol: float | None = None) -> ConicAnswer:
    """Solve by Clarabel to a relative gap, or to its own tolerances."""
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    if tol is not None:
        settings.tol_gap_rel = settings.tol_gap_abs = tol
    solution = clarabel.DefaultSolver(*problem, settings).solve()
    return ConicAnswer(
        str(solution.status),
        solution.iterations,
        solution.obj_val,
        solution.obj_val_dual,
        np.asarray(solution.x)[:n],
    )
