"""Other solvers on the full data: timed where they finish, else extended and marked.

`full_conic` is the paper's baseline, a generic second-order solver on the full data. The others
are the fast first-order packages that users have today; they walk the penalties of each fold, as
LassoCV does. Steps are small dictionaries, so that a process of their own can send them.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np
from benchmarks.harness import run_steps
from benchmarks.peers import (
    celer_fits,
    conic_answer,
    conic_problem,
    lasso_alpha_max,
    lasso_fits,
    peer_layout,
    sqrt_lasso_alpha_max,
)
from sklearn.linear_model import lasso_path

from reproduction.data import folds, load
from reproduction.experiment import Results
from sketchlasso.engine import Batch
from sketchlasso.errors import MissingExtraError

Path = tuple[Any, np.ndarray]  # coefficients (n, alphas) and intercepts (alphas,)


def clarabel_answer(
    A: Any, b: np.ndarray, alpha: float, *, radius: float = 0.0, intercept: bool = False
) -> Results:
    """Clarabel with its own tolerances, on the problem as stated: A (m, n) against b (m,)."""
    try:
        problem = conic_problem(A, b, alpha, intercept, radius)
    except ImportError:
        raise MissingExtraError("the generic solver", "clarabel", "conic") from None
    answer = conic_answer(problem, A.shape[1])
    gap = abs(float(answer.gap)) if math.isfinite(answer.gap) else None
    return {"objective": float(answer.primal), "gap": gap}


def clarabel_on_sketch(batch: Batch) -> Results:
    """Clarabel on the first problem over a sketch: rows R' and zeros against (c, s)."""
    root = np.eye(batch.P.shape[1]) if batch.roots is None else batch.roots[batch.root_of[0]]
    A = np.vstack([(batch.P @ root).T, np.zeros(len(batch.P))])
    b = np.append(batch.c[0], batch.s[0])
    return clarabel_answer(A, b, float(batch.alpha[0]), radius=float(batch.radius[0]))


def full_conic(task: Results) -> Iterator[Results]:
    """Clarabel on more and more training rows of the first fold, one penalty, an intercept."""
    split = load(task["data"], task["rows"])
    train = folds(len(split.y), task["folds"])[0][0]
    yield {"rows": len(train)}
    sizes = [task["first_rows"] * 2**i for i in range(30)]
    for rows in [*(size for size in sizes if size < len(train)), len(train)]:
        X, y = split.X[train[:rows]], split.y[train[:rows]]
        alpha = task["penalty"] * sqrt_lasso_alpha_max(X, y)
        start = perf_counter()
        gap = clarabel_answer(X, y, alpha, intercept=True)["gap"]
        yield {"rows": rows, "seconds": perf_counter() - start, "gap": gap}


def _walk(task: Results, path: Callable[[Any, np.ndarray, np.ndarray], Path]) -> Iterator[Results]:
    """Every fold's path of LASSO penalties, scored on its held-out rows."""
    split = load(task["data"], task["rows"])
    X = peer_layout(split.X)
    grid = lasso_alpha_max(X, split.y) * np.geomspace(1.0, task["ratio"], task["alphas"])
    path(X[:60], split.y[:60], grid[:2])  # compiles, which is not held against anyone
    yield {"rows": len(split.y)}
    for train, test in folds(len(split.y), task["folds"]):
        start = perf_counter()
        coef, intercept = path(X[train], split.y[train], grid)
        np.mean((X[test] @ coef + intercept - split.y[test][:, None]) ** 2, axis=0)
        yield {"seconds": perf_counter() - start}


def scikit_lasso(task: Results) -> Iterator[Results]:
    """scikit-learn's coordinate descent, as LassoCV walks it."""

    def path(X: Any, y: np.ndarray, grid: np.ndarray) -> Path:
        return lasso_fits(lasso_path, X, y, grid, tol=task["tol"], check_input=False)

    return _walk(task, path)


def celer_lasso(task: Results) -> Iterator[Results]:
    """Celer's LASSO path."""
    return _walk(task, lambda X, y, grid: celer_fits(X, y, grid, task["tol"]))


def skglm_sqrt_lasso(task: Results) -> Iterator[Results]:
    """Skglm's square-root LASSO; penalties for which it gives up come back as zeros."""
    from skglm.experimental.sqrt_lasso import SqrtLasso

    def path(X: Any, y: np.ndarray, grid: np.ndarray) -> Path:
        centred = y - y.mean()
        # The same shares of the largest penalty, in the unit of the square-root LASSO.
        alphas = grid * len(y) / np.linalg.norm(centred)
        model = SqrtLasso(fit_intercept=False, tol=task["tol"])
        coef = np.asarray(model.path(X, centred, alphas=alphas)[1]).T
        return coef, np.full(coef.shape[1], y.mean())

    return _walk(task, path)


CONTENDERS: dict[str, Callable[[Results], Iterator[Results]]] = {
    "full_conic": full_conic,
    "scikit-learn LassoCV": scikit_lasso,
    "celer": celer_lasso,
    "skglm": skglm_sqrt_lasso,
}


def steps_of(name: str, task: Results) -> Iterator[Results]:
    """Steps of a contender, with its warnings ignored: only its result counts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from CONTENDERS[name](task)


def one_full_solve(task: Results, limit: float | None) -> Results:
    """One problem on the full data by a second-order solver, or a lower bound from fewer rows.

    `one` is in seconds of one solve on all rows; `at_least` says whether it is a lower bound.
    """
    steps = run_steps(steps_of, ("full_conic", task), limit)
    if not steps.done:
        return {"one": None, "at_least": True, "words": steps.failure}
    last, every = steps.done[-1], steps.ready["rows"]
    whole = last["rows"] == every
    rows = f"{last['rows']:,}" if whole else f"{last['rows']:,} of {every:,}"
    return {
        # The paper's O(m n^2) grows like m; measured growth is faster, so this errs against us.
        "one": last["seconds"] * every / last["rows"],
        "at_least": not whole,
        "gap": last["gap"],
        "words": f"{last['seconds']:.3g} s for one problem on {rows} rows",
    }


def every_fold(name: str, task: Results, limit: float | None) -> Results:
    """Seconds of a peer for all folds, from those that it finished within the limit."""
    steps = run_steps(steps_of, (name, task), limit)
    done, wanted = len(steps.done), task["folds"]
    result: Results = {"folds": done, "failure": steps.failure, "at_least": False}
    if done:
        total = sum(step["seconds"] for step in steps.done)
        return {**result, "seconds": total * wanted / done, "extrapolated": done < wanted}
    if limit is not None and steps.failure.startswith("over"):
        return {**result, "seconds": wanted * limit, "at_least": True}
    return {**result, "seconds": None}
