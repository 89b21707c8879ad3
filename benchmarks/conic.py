"""A generic conic solver on the full data, one problem, against our cross-validation of 500.

Claim under test: at least 10,000 times faster than Clarabel on the full data looped over the same
instances. Clarabel solves one square-root LASSO on the training rows of the first fold at a
relative gap of 1e-6, and the loop is that time multiplied by the number of instances. The peer
gets ``--peer-limit`` seconds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.cv import pipeline, speed_up, sqrt_lasso_alpha_max
from benchmarks.datasets import centred_small, folds, load
from benchmarks.harness import Measured, alternate, run_limited


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", help="(gisette_like; quick: digits)")
    parser.add_argument("--penalty", type=float, default=0.1, help="share of the largest penalty")
    parser.add_argument("--share", type=float, default=0.1, help="our radius / spectral radius")
    parser.add_argument("--rank", type=int, default=50)
    parser.add_argument("--method", default="randomized", help="of the sketch")
    parser.add_argument("--alphas", type=int, default=100)
    parser.add_argument("--ratio", type=float, default=1e-3, help="smallest / largest penalty")
    parser.add_argument("--tol", type=float, default=1e-6)


@dataclass(frozen=True, eq=False)
class ConicAnswer:
    """What Clarabel says it found."""

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


def conic_answer(problem: tuple[Any, ...], n: int, tol: float | None) -> ConicAnswer:
    """What Clarabel finds at a relative gap, or at its own tolerances."""
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    if tol is not None:
        settings.tol_gap_rel = settings.tol_gap_abs = tol
    found = clarabel.DefaultSolver(*problem, settings).solve()
    coef = np.asarray(found.x)[:n]
    return ConicAnswer(str(found.status), found.iterations, found.obj_val, found.obj_val_dual, coef)


def conic_on_fold(name: str, quick: bool, penalty: float, tol: float) -> Callable[[], Any]:
    """Clarabel on the training rows of the first fold, with an intercept."""
    split = load(name, quick)
    train = folds(len(split.y))[0][0]
    X, y = split.X[train], split.y[train]
    problem = conic_problem(X, y, penalty * sqrt_lasso_alpha_max(X, y), True)
    return partial(conic_answer, problem, X.shape[1], tol)


def conic_on_small(name: str, alpha: float, tol: float) -> Callable[[], Any]:
    """Clarabel on a small centred set."""
    X, y = centred_small(name)
    return partial(conic_answer, conic_problem(X, y, alpha, False), X.shape[1], tol)


def run(options: argparse.Namespace) -> None:
    name = options.data or ("digits" if options.quick else "gisette_like")
    split = load(name, options.quick)
    instances = 5 * options.alphas
    report = options.report
    report.note(
        f"Clarabel: {name}, training rows of one fold, penalty {options.penalty:g} of the largest "
        f"at radius 0; loop: {instances} times that. Ours: sketch, 5 folds x {options.alphas} "
        f"penalties, scores and refit at {options.share:g} of the spectral radius"
    )
    arguments = (name, options.quick, options.penalty, options.tol)
    ours, theirs = alternate(
        {"ours": partial(pipeline, split, options.share, options)},
        {"Clarabel": partial(run_limited, conic_on_fold, arguments, options.peer_limit)},
        options.repeats,
    )
    measured, outcome = ours["ours"], theirs["Clarabel"]
    one = Measured([measured.median / instances])
    answer = outcome.value
    report.add(
        **{
            "data": name,
            "Clarabel s, one problem": outcome.seconds,
            "failure": outcome.failure,
            "status": answer.status if answer else None,
            "iterations": answer.iterations if answer else None,
            "Clarabel gap": answer.gap if answer else None,
            "ours s, whole": measured.median,
            "ours ms per problem": 1e3 * one.median,
            "loop / ours": speed_up(outcome, one),
            "our worst gap": measured.value.worst_gap,
        }
    )
