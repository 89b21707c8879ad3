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
from benchmarks.conic import conic_answer, conic_problem
from benchmarks.cv import (
    celer_fits,
    lasso_alpha_max,
    lasso_fits,
    peer_layout,
    sqrt_lasso_alpha_max,
)
from sklearn.linear_model import lasso_path

import sketchlasso as sl
from reproduction.barrier import solve_barrier
from reproduction.data import folds, load
from sketchlasso.engine import Batch
from sketchlasso.errors import MissingExtraError

FULL_CONIC, FULL_BARRIER = "full_conic", "full_barrier"


def full_conic(task: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Clarabel on more and more training rows of the first fold, one penalty, an intercept."""
    return _more_rows(task, lambda X, y, alpha: clarabel_answer(X, y, alpha, intercept=True))


def full_barrier(task: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The same by our log barrier, which gets the rows rotated by an exact decomposition."""

    def answer(X: Any, y: np.ndarray, alpha: float) -> dict[str, Any]:
        made = sl.sketch(X, method="exact", center=True, radius=0)
        batch = sl.build_problems(made, y, alphas=[alpha]).batch
        found = solve_barrier(batch)
        return {"gap": found.relative_gap, "iterations": found.steps}

    return _more_rows(task, answer)


def _more_rows(
    task: dict[str, Any], answer: Callable[[Any, np.ndarray, float], dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    split = load(task["data"], task["rows"])
    train = folds(len(split.y), task["folds"])[0][0]
    yield {"rows": len(train)}
    sizes = [task["first_rows"] * 2**i for i in range(30)]
    for rows in [*(size for size in sizes if size < len(train)), len(train)]:
        chosen = train[:rows]
        X, y = split.X[chosen], split.y[chosen]
        alpha = task["penalty"] * sqrt_lasso_alpha_max(X, y)
        start = perf_counter()
        found = answer(X, y, alpha)
        yield {"rows": rows, "seconds": perf_counter() - start, **found}


def clarabel_answer(
    A: Any, b: np.ndarray, alpha: float, *, radius: float = 0.0, intercept: bool = False
) -> dict[str, Any]:
    """Clarabel with its own tolerances, on the problem as stated: A (m, n) against b (m,)."""
    try:
        problem = conic_problem(A, b, alpha, intercept, radius)
    except ImportError:
        raise MissingExtraError("the generic solver", "clarabel", "conic") from None
    found = conic_answer(problem, A.shape[1], None)
    return {
        "status": found.status,
        "iterations": int(found.iterations),
        "objective": float(found.primal),
        "gap": abs(float(found.gap)) if math.isfinite(found.gap) else None,
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
    X = peer_layout(split.X)
    grid = lasso_alpha_max(X, split.y) * np.geomspace(1.0, task["ratio"], task["alphas"])
    path(X[:60], split.y[:60], grid[:2])  # compiles, which is not held against anyone
    yield {"rows": len(split.y)}
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


def scikit_lasso(task: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """scikit-learn's coordinate descent, as LassoCV walks it."""

    def path(X: Any, y: np.ndarray, grid: np.ndarray) -> tuple[Any, np.ndarray]:
        return lasso_fits(lasso_path, X, y, grid, tol=task["tol"], check_input=False)[:2]

    return _walk(task, path)


def celer_lasso(task: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Celer's LASSO path; its own LassoCV does not run on current scikit-learn."""
    return _walk(task, lambda X, y, grid: celer_fits(X, y, grid, task["tol"])[:2])


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
