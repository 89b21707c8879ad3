"""Other solvers on the full data; each yields a step as soon as it is done.

`full_conic` is the paper's baseline, a generic second-order solver on the full data, and
`full_barrier` our log barrier in its place. The others are the fast first-order packages that users
have today; they walk the penalties of each fold, as LassoCV does. Steps are small dictionaries, so
that a process of their own can send them.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import lasso_path

import sketchlasso as sl
from reproduction.data import Split, folds, load
from sketchlasso.engine import Batch
from sketchlasso.errors import MissingExtraError

__all__ = [
    "CONTENDERS",
    "FULL_BARRIER",
    "FULL_CONIC",
    "clarabel_answer",
    "clarabel_on_sketch",
    "steps_of",
]

FULL_CONIC, FULL_BARRIER = "full_conic", "full_barrier"


def full_conic(task: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Clarabel on more and more training rows of the first fold, one penalty, an intercept."""
    return _more_rows(task, lambda X, y, alpha: clarabel_answer(X, y, alpha, intercept=True))


def full_barrier(task: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The same by our log barrier, which gets the rows rotated by an exact decomposition."""

    def answer(X: Any, y: np.ndarray, alpha: float) -> dict[str, Any]:
        made = sl.sketch(X, method="exact", center=True, radius=0)
        batch = sl.build_problems(made, y, alphas=[alpha]).batch
        found = sl.solve(batch, "barrier", sl.Settings(tol=1e-6))
        return {"gap": float(found.relative_gap[0]), "iterations": int(found.steps[0])}

    return _more_rows(task, answer)


def _more_rows(
    task: dict[str, Any], answer: Callable[[Any, np.ndarray, float], dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    split = load(task["data"], task["rows"])
    train = folds(len(split.y), task["folds"])[0][0]
    yield {"ready": True, "rows": len(train)}
    sizes = [task["first_rows"] * 2**i for i in range(30)]
    for rows in [*(size for size in sizes if size < len(train)), len(train)]:
        chosen = train[:rows]
        X, y = split.X[chosen], split.y[chosen]
        centred = y - y.mean()
        largest = np.abs(X.T @ centred).max() / np.linalg.norm(centred)
        start = perf_counter()
        found = answer(X, y, task["penalty"] * float(largest))
        yield {"rows": rows, "seconds": perf_counter() - start, **found}


def clarabel_answer(
    A: Any, b: np.ndarray, alpha: float, *, radius: float = 0.0, intercept: bool = False
) -> dict[str, Any]:
    """Clarabel with its own tolerances, on the problem as stated.

    ::

        minimise over w, v, d, t, z    t + radius z + alpha 1'v
        subject to  (t, b - Aw - d) and (z, w) in second-order cones,  |w| <= v

    Parameters
    ----------
    A : array or sparse matrix of shape (m, n)
    b : ndarray of shape (m,)
    alpha, radius : float
        Without a radius there is no z.
    intercept : bool
        Whether there is a d.
    """
    try:
        import clarabel  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        raise MissingExtraError("the generic solver", "clarabel", "conic") from None
    m, n = A.shape
    eye = sparse.identity(n, format="csc")
    extra = int(intercept)
    rest = extra + 1 + int(radius > 0)
    size = 2 * n + rest
    blank = sparse.csc_matrix((n, rest))
    t = sparse.csc_matrix(([-1.0], ([0], [2 * n + extra])), shape=(1, size))
    ones = np.zeros((m, rest))
    ones[:, :extra] = 1.0
    rows: list[Any] = [
        t,
        sparse.hstack([sparse.csc_matrix(A), sparse.csc_matrix((m, n)), sparse.csc_matrix(ones)]),
        sparse.hstack([eye, -eye, blank]),
        sparse.hstack([-eye, -eye, blank]),
    ]
    cones = [clarabel.SecondOrderConeT(m + 1), clarabel.NonnegativeConeT(2 * n)]
    right = [np.zeros(1), b, np.zeros(2 * n)]
    if radius > 0:
        z = sparse.csc_matrix(([-1.0], ([0], [size - 1])), shape=(1, size))
        rows += [z, sparse.hstack([-eye, sparse.csc_matrix((n, n + rest))])]
        cones.append(clarabel.SecondOrderConeT(n + 1))
        right.append(np.zeros(n + 1))
    linear = np.concatenate([np.zeros(n), np.full(n, alpha), np.zeros(extra), [1.0]])
    linear = np.append(linear, radius) if radius > 0 else linear
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    problem = sparse.csc_matrix((size, size)), linear, sparse.vstack(rows, format="csc")
    found = clarabel.DefaultSolver(*problem, np.concatenate(right), cones, settings).solve()
    gap = (found.obj_val - found.obj_val_dual) / abs(found.obj_val)
    return {
        "status": str(found.status),
        "iterations": int(found.iterations),
        "objective": float(found.obj_val),
        "gap": abs(float(gap)) if math.isfinite(gap) else None,
    }


def clarabel_on_sketch(batch: Batch) -> dict[str, Any]:
    """Clarabel on the first problem over a sketch: rows R' and zeros against (c, s)."""
    root = np.eye(batch.P.shape[1]) if batch.roots is None else batch.roots[batch.root_of[0]]
    A = np.vstack([(batch.P @ root).T, np.zeros(len(batch.P))])
    b = np.append(batch.c[0], batch.s[0])
    return clarabel_answer(A, b, float(batch.alpha[0]), radius=float(batch.radius[0]))


def _walk(
    task: dict[str, Any], path: Callable[[Any, np.ndarray, np.ndarray], tuple[Any, np.ndarray]]
) -> Iterator[dict[str, Any]]:
    """Every fold's path of LASSO penalties, scored on its held-out rows."""
    split = load(task["data"], task["rows"])
    X: Any = split.X
    X = X.tocsc() if _is_sparse(X) else np.asfortranarray(X)
    grid = _lasso_grid(split, task)
    path(X[:60], split.y[:60], grid[:2])  # compiles, which is not held against anyone
    yield {"ready": True, "rows": len(split.y)}
    for number, (train, test) in enumerate(folds(len(split.y), task["folds"])):
        start = perf_counter()
        coef, intercept = path(X[train], split.y[train], grid)
        errors = np.mean((X[test] @ coef + intercept - split.y[test][:, None]) ** 2, axis=0)
        yield {
            "fold": number,
            "seconds": perf_counter() - start,
            "best": int(np.argmin(errors)),
            "answered": int(np.count_nonzero(np.any(coef != 0, axis=0))),
        }


def _lasso_grid(split: Split, task: dict[str, Any]) -> np.ndarray:
    centred = split.y - split.y.mean()
    largest = float(np.abs(split.X.T @ centred).max()) / len(split.y)
    return largest * np.geomspace(1.0, task["ratio"], task["alphas"])


def _is_sparse(X: Any) -> bool:
    return bool(sparse.issparse(X))


def _means(X: Any) -> np.ndarray:
    return np.asarray(X.mean(axis=0)).ravel()


def scikit_lasso(task: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """scikit-learn's coordinate descent, as LassoCV walks it."""

    def path(X: Any, y: np.ndarray, grid: np.ndarray) -> tuple[Any, np.ndarray]:
        means, centred = _means(X), y - y.mean()
        options: dict[str, Any] = {"alphas": grid, "tol": task["tol"]}
        if _is_sparse(X):
            data: Any = X.tocsc()
            # As LassoCV hands them over: a sparse matrix is centred implicitly.
            options |= {"X_offset": means, "X_scale": np.ones_like(means)}
        else:
            data = np.asfortranarray(X - means)
        coef = lasso_path(data, centred, check_input=False, **options)[1]
        return coef, y.mean() - means @ coef

    return _walk(task, path)


def celer_lasso(task: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Celer's LASSO path; its own LassoCV does not run on current scikit-learn."""
    from celer.homotopy import celer_path  # type: ignore[import-not-found, unused-ignore]

    def path(X: Any, y: np.ndarray, grid: np.ndarray) -> tuple[Any, np.ndarray]:
        means, centred = _means(X), y - y.mean()
        options: dict[str, Any] = {"alphas": grid, "tol": task["tol"], "prune": True}
        if _is_sparse(X):
            options |= {"X_offset": means, "X_scale": np.ones_like(means)}
            data: Any = X.tocsc()
        else:
            data = np.asfortranarray(X - means)
        coef = celer_path(data, centred, "lasso", **options)[1]
        return coef, y.mean() - means @ coef

    return _walk(task, path)


def skglm_sqrt_lasso(task: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Skglm's square-root LASSO; penalties for which it gives up come back as zeros."""
    from skglm.experimental.sqrt_lasso import (  # type: ignore[import-not-found, unused-ignore]
        SqrtLasso,
    )

    def path(X: Any, y: np.ndarray, grid: np.ndarray) -> tuple[Any, np.ndarray]:
        centred = y - y.mean()
        # The same shares of the largest penalty, in the unit of the square-root LASSO.
        alphas = grid * len(y) / np.linalg.norm(centred)
        model = SqrtLasso(fit_intercept=False, tol=task["tol"])
        coef = np.asarray(model.path(X, centred, alphas=alphas)[1]).T
        return coef, np.full(coef.shape[1], y.mean())

    return _walk(task, path)


CONTENDERS: dict[str, Callable[[dict[str, Any]], Iterator[dict[str, Any]]]] = {
    FULL_CONIC: full_conic,
    FULL_BARRIER: full_barrier,
    "scikit-learn LassoCV": scikit_lasso,
    "celer": celer_lasso,
    "skglm": skglm_sqrt_lasso,
}


def steps_of(name: str, task: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Steps of a contender, with its warnings ignored: only its result counts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from CONTENDERS[name](task)
