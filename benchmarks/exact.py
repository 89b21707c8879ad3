"""Exact paths on the full data: ours against skglm and celer.

Claim under test: not slower than skglm's SqrtLasso at the same penalties and gap, never failing
where it fails, and what a LASSO solver costs at matched penalties. All sides get the same X, a
centred y and no intercept (a dense X is centred and in Fortran order, as the peers want it).
celer solves the LASSO whose penalty alpha ||r|| / m has the same solution, which it could not
know without ours. Every answer is judged by the certificate of the full square-root LASSO.
Each tolerance is ours as a relative gap, and the peers' own parameter.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.datasets import available, load
from benchmarks.harness import interleave, run_steps
from sketchlasso import certify
from sketchlasso.exact import ExactSolution, exact_alpha_max, solve_exact
from sketchlasso.problem.terms import Terms

# A peer's answer counts when its gap is within this factor of the tolerance.
FACTOR = 10.0


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", nargs="+", default=["rcv1", "20news", "imdb", "gisette_like"])
    parser.add_argument("--alphas", type=int, default=20)
    parser.add_argument("--ratio", type=float, default=0.05, help="smallest / largest penalty")
    parser.add_argument("--tols", type=float, nargs="+", default=[1e-4, 1e-6])
    parser.add_argument("--limit", type=float, default=180.0, help="of each peer, seconds")


def full_data(name: str, quick: bool) -> tuple[Any, np.ndarray]:
    """X in the form that every solver expects, and y less its mean."""
    split = load(name, quick)
    y = split.y - split.y.mean()
    if sparse.issparse(split.X):
        return sparse.csc_matrix(split.X), y
    return np.asfortranarray(split.X - split.X.mean(axis=0)), y


def our_path(X: Any, y: np.ndarray, alphas: np.ndarray, tol: float) -> ExactSolution:
    return solve_exact(X, y, alphas, terms=Terms(fit_intercept=False), tol=tol)


def skglm_steps(name: str, quick: bool, alphas: np.ndarray, tol: float) -> Iterator[Any]:
    """SqrtLasso penalty by penalty; its path has no warm start either."""
    from skglm.experimental.sqrt_lasso import SqrtLasso

    X, y = full_data(name, quick)
    model = SqrtLasso(fit_intercept=False, tol=tol)
    warnings.simplefilter("ignore")
    model.path(X, y, alphas=alphas[:1])  # compiles
    yield "ready"
    for alpha in alphas:
        start = perf_counter()
        coef = model.path(X, y, alphas=[alpha])[1][0]
        yield perf_counter() - start, sparse.csr_array(coef[None, :])


def celer_steps(name: str, quick: bool, matched: np.ndarray, tol: float) -> Iterator[Any]:
    """One warm-started path of celer, which comes compiled."""
    from celer.homotopy import celer_path

    X, y = full_data(name, quick)
    warnings.simplefilter("ignore")
    yield "ready"
    start = perf_counter()
    coef = celer_path(X, y, "lasso", alphas=matched, tol=tol, prune=True)[1]
    yield perf_counter() - start, sparse.csr_array(coef.T)


def run(options: argparse.Namespace) -> None:
    options.report.note(
        f"{options.alphas} penalties from alpha_max to {options.ratio:g} of it; worst gap: of the "
        "full square-root LASSO by our certificate; within: penalties whose gap is at most "
        f"{FACTOR:g} times the tolerance"
    )
    loaded = partial(full_data, quick=options.quick)
    for name, X, y in available(
        options.data, lambda name: (name, *loaded(name)), options.report.note
    ):
        largest = exact_alpha_max(X, y, terms=Terms(fit_intercept=False))[0]
        alphas = largest * np.geomspace(1.0, options.ratio, options.alphas)
        best = our_path(X, y, alphas, 1e-9).coef
        residual = [np.linalg.norm(y - X @ row.toarray().ravel()) for row in best]
        matched = alphas * np.array(residual) / len(y)
        for tol in options.tols:
            ours = interleave({"ours": partial(our_path, X, y, alphas, tol)}, options.repeats)[
                "ours"
            ]
            answers = {"ours, cold": (ours.median, ours.value.coef, "")}
            peers = {
                "skglm SqrtLasso": (skglm_steps, alphas),
                "celer Lasso": (celer_steps, matched),
            }
            for peer, (steps, grid) in peers.items():
                got = run_steps(steps, (name, options.quick, grid, tol), options.limit)
                seconds = sum(step[0] for step in got.done)
                coef = sparse.vstack([step[1] for step in got.done]) if got.done else None
                answers[peer] = (seconds, coef, got.failure)
            for contender, (seconds, coef, failure) in answers.items():
                row = {"data": name, "tol": tol, "contender": contender, "failure": failure}
                if coef is not None:
                    some = alphas[: coef.shape[0]]
                    gaps = certify(X, y, coef, some, fit_intercept=False).relative_gap
                    row |= {"answered": len(some), "within": int(np.sum(gaps <= FACTOR * tol))}
                    row |= {"worst gap": float(gaps.max()), "seconds": seconds}
                options.report.add(**row)
