"""Exact paths on the full data: ours against skglm and celer.

Claim under test: not slower than skglm's SqrtLasso at the same penalties and gap, never failing
where it fails, and what a LASSO solver costs at matched penalties. All sides get the same X, a
centred y and no intercept (a dense X is centred and in Fortran order, as the peers want it).
celer solves the LASSO whose penalty alpha ||r|| / m has the same solution, which it could not
know without ours. Every answer is judged by the certificate of the full square-root LASSO.
Each tolerance is ours as a relative gap, and the peers' own parameter; celer, whose tolerance
means less, also runs at a hundredth of it.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.datasets import available, load
from benchmarks.harness import interleave, run_limited
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
    parser.add_argument("--no-peers", action="store_true")


@dataclass(frozen=True, eq=False)
class Task:
    """A path on the full data, and the LASSO penalties of the same solutions."""

    name: str
    X: Any
    y: np.ndarray
    alphas: np.ndarray
    matched: np.ndarray


def full_data(name: str, quick: bool) -> tuple[Any, np.ndarray]:
    """X in the form that every solver expects, and y less its mean."""
    split = load(name, quick)
    y = split.y - split.y.mean()
    if sparse.issparse(split.X):
        return sparse.csc_matrix(split.X), y
    return np.asfortranarray(split.X - split.X.mean(axis=0)), y


def our_path(X: Any, y: np.ndarray, alphas: np.ndarray, tol: float) -> ExactSolution:
    return solve_exact(X, y, alphas, terms=Terms(fit_intercept=False), tol=tol)


def prepare(name: str, options: argparse.Namespace) -> Task:
    X, y = full_data(name, options.quick)
    largest = exact_alpha_max(X, y, terms=Terms(fit_intercept=False))[0]
    alphas = largest * np.geomspace(1.0, options.ratio, options.alphas)
    best = our_path(X, y, alphas, 1e-9)
    residual = [np.linalg.norm(y - X @ row.toarray().ravel()) for row in best.coef]
    nonzeros = ", ".join(str(count) for count in best.n_nonzero)
    options.report.note(f"{name}: shape {X.shape}, non-zeros {nonzeros}")
    return Task(name, X, y, alphas, alphas * np.array(residual) / len(y))


# Coefficients (penalties answered, n), their seconds, and the first complaint.
Answer = tuple[Any, float, str]


def skglm_path(
    name: str, quick: bool, alphas: np.ndarray, tol: float, limit: float
) -> Callable[[], Answer]:
    """SqrtLasso penalty by penalty (its path has no warm start either), until time is over."""
    from skglm.experimental.sqrt_lasso import SqrtLasso

    X, y = full_data(name, quick)
    model = SqrtLasso(fit_intercept=False, tol=tol)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.path(X, y, alphas=alphas[:1])  # compiles

    def run() -> Answer:
        start, rows = perf_counter(), []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for alpha in alphas:
                rows.append(sparse.csr_array(model.path(X, y, alphas=[alpha])[1][0][None, :]))
                if perf_counter() - start > limit:
                    break
        return sparse.vstack(rows, format="csr"), perf_counter() - start, complaint_of(caught)

    return run


def celer_path(name: str, quick: bool, matched: np.ndarray, tol: float) -> Callable[[], Answer]:
    """One warm-started path of celer, which comes compiled."""
    from celer.homotopy import celer_path as path

    X, y = full_data(name, quick)

    def run() -> Answer:
        start = perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            coef = path(X, y, "lasso", alphas=matched, tol=tol, prune=True)[1]
        return sparse.csr_array(coef.T), perf_counter() - start, complaint_of(caught)

    return run


def complaint_of(caught: list[warnings.WarningMessage]) -> str:
    return str(caught[0].message).split("\n")[0][:80] if caught else ""


def run(options: argparse.Namespace) -> None:
    options.report.note(
        f"{options.alphas} penalties from alpha_max to {options.ratio:g} of it; 'of ours' is ours "
        "for the penalties that a peer answered; worst gap: of the full square-root LASSO by our "
        f"certificate; within: penalties whose gap is at most {FACTOR:g} times the tolerance"
    )
    for task in available(options.data, partial(prepare, options=options), options.report.note):
        for tol in options.tols:
            one_tolerance(task, tol, options)
    interpolation(options, min(options.tols))


def one_tolerance(task: Task, tol: float, options: argparse.Namespace) -> None:
    """Ours, then every peer once, under a limit."""
    ours = interleave(
        {"ours": partial(our_path, task.X, task.y, task.alphas, tol)}, options.repeats
    )["ours"]
    add_row(task, tol, "ours, cold", (ours.value.coef, ours.median, ""), ours.median, options)
    if options.no_peers:
        return
    shared, hard = (task.name, options.quick), options.limit + 120.0
    peers: dict[str, tuple[Callable[..., Any], tuple[Any, ...], float]] = {
        "skglm SqrtLasso": (skglm_path, (*shared, task.alphas, tol, options.limit), hard),
        "celer Lasso": (celer_path, (*shared, task.matched, tol), options.limit),
        "celer Lasso, tol / 100": (celer_path, (*shared, task.matched, tol / 100), options.limit),
    }
    for name, (setup, arguments, limit) in peers.items():
        outcome = run_limited(setup, arguments, limit)
        if outcome.failure:
            options.report.add(data=task.name, tol=tol, contender=name, complaint=outcome.failure)
            continue
        same, count = ours.median, outcome.value[0].shape[0]
        if count < len(task.alphas):
            start = perf_counter()
            our_path(task.X, task.y, task.alphas[:count], tol)
            same = perf_counter() - start
        add_row(task, tol, name, outcome.value, same, options)


def add_row(
    task: Task, tol: float, name: str, answer: Answer, ours: float, options: argparse.Namespace
) -> None:
    coef, seconds, complaint = answer
    alphas = task.alphas[: coef.shape[0]]
    gaps = certify(task.X, task.y, coef, alphas, fit_intercept=False).relative_gap
    options.report.add(
        **{
            "data": task.name,
            "tol": tol,
            "contender": name,
            "answered": coef.shape[0],
            "within": int(np.sum(gaps <= FACTOR * tol)),
            "worst gap": float(gaps.max()),
            "seconds": seconds,
            "of ours": ours,
            "theirs / ours": seconds / ours,
            "complaint": complaint,
        }
    )


def interpolation(options: argparse.Namespace, tol: float) -> None:
    """Ten 20 x 60 problems whose residual vanishes on the way, 20 penalties each."""
    solved, seconds = 0, 0.0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(20, 60)), rng.normal(size=20)
        largest = exact_alpha_max(X, y, terms=Terms(fit_intercept=False))[0]
        alphas = largest * np.geomspace(1.0, 0.05, 20)
        start = perf_counter()
        path = our_path(X, y, alphas, tol)
        seconds += perf_counter() - start
        gaps = certify(X, y, path.coef, alphas, fit_intercept=False).relative_gap
        solved += int(np.sum(gaps <= tol))
    options.report.note(
        f"ten 20 x 60 problems, 20 penalties each, relative gap {tol:g}: ours solved {solved} of "
        f"200 in {seconds:.2f} s"
    )
