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
from benchmarks.harness import Contenders, Measured, Outcome, alternate, run_limited
from sketchlasso import certify
from sketchlasso.exact import ExactSolution, exact_alpha_max, solve_exact
from sketchlasso.problem.terms import Terms

# A peer's answer counts when its gap is within this factor of the tolerance.
FACTOR = 10.0
COLD = "ours, cold"


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
    nonzeros: np.ndarray

    def gaps(self, coef: Any) -> np.ndarray:
        """Certified relative gaps of coefficients (penalties answered, n)."""
        alphas = self.alphas[: coef.shape[0]]
        return certify(self.X, self.y, coef, alphas, fit_intercept=False).relative_gap


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
    best.warn_if_unsolved()
    residual = [np.linalg.norm(y - X @ row.toarray().ravel()) for row in best.coef]
    matched = alphas * np.array(residual) / len(y)
    return Task(name, X, y, alphas, matched, best.n_nonzero)


@dataclass(frozen=True, eq=False)
class Answers:
    """Coefficients of the penalties reached in time, their seconds, and the first complaint."""

    coef: Any
    seconds: np.ndarray
    complaint: str


def skglm_path(
    name: str, quick: bool, alphas: np.ndarray, tol: float, limit: float
) -> Callable[[], Answers]:
    """SqrtLasso penalty by penalty (its path has no warm start either), compiled beforehand."""
    from skglm.experimental.sqrt_lasso import SqrtLasso

    X, y = full_data(name, quick)
    model = SqrtLasso(fit_intercept=False, tol=tol)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.path(X, y, alphas=alphas[:1])
    return partial(one_by_one, lambda alpha: model.path(X, y, alphas=[alpha])[1][0], alphas, limit)


def celer_lasso(name: str, quick: bool, matched: np.ndarray, tol: float) -> Callable[[], Answers]:
    """One warm-started path of celer, which comes compiled."""
    from celer.homotopy import celer_path

    X, y = full_data(name, quick)

    def path() -> Answers:
        begin = perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            coef = celer_path(X, y, "lasso", alphas=matched, tol=tol, prune=True)[1]
        seconds = np.array([perf_counter() - begin])
        complaint = str(caught[0].message).split("\n")[0][:80] if caught else ""
        return Answers(sparse.csr_array(coef.T), seconds, complaint)

    return path


def one_by_one(
    solve_one: Callable[[float], np.ndarray], alphas: np.ndarray, limit: float
) -> Answers:
    """Penalties in turn, until the time is over."""
    begin, found, seconds, complaint = perf_counter(), [], [], ""
    for alpha in alphas:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found.append(sparse.csr_array(solve_one(float(alpha))[None, :]))
        seconds.append(perf_counter() - begin)
        if caught and not complaint:
            complaint = str(caught[0].message).split("\n")[0][:80]
        if seconds[-1] > limit:
            break
    return Answers(sparse.vstack(found, format="csr"), np.array(seconds), complaint)


def run(options: argparse.Namespace) -> None:
    report = options.report
    report.note(
        f"{options.alphas} penalties from alpha_max to {options.ratio:g} of it; seconds are for "
        "the penalties answered, 'of ours' is ours for the same penalties; skglm is timed after "
        f"compilation; a peer stops after the penalty that passes {options.limit:g} s"
    )
    report.note(
        "worst gap: relative gap of the full square-root LASSO by our certificate; within: "
        f"penalties whose gap is at most {FACTOR:g} times the tolerance"
    )
    for task in available(options.data, partial(prepare, options=options), report.note):
        nonzeros = ", ".join(str(count) for count in task.nonzeros)
        report.note(f"{task.name}: shape {task.X.shape}, non-zeros {nonzeros}")
        for tol in options.tols:
            one_tolerance(task, tol, options)
    interpolation(options)


def one_tolerance(task: Task, tol: float, options: argparse.Namespace) -> None:
    """Ours in turns with the peers, each of them once and under a limit."""
    ours: Contenders = {
        COLD: partial(our_path, task.X, task.y, task.alphas, tol),
    }
    asked = (task.name, options.quick)
    hard = options.limit + 120.0
    peers: dict[str, Callable[[], Outcome]] = {
        "skglm SqrtLasso": partial(
            run_limited, skglm_path, (*asked, task.alphas, tol, options.limit), hard
        ),
        "celer Lasso": partial(
            run_limited, celer_lasso, (*asked, task.matched, tol), options.limit
        ),
        "celer Lasso, tol / 100": partial(
            run_limited, celer_lasso, (*asked, task.matched, tol / 100), options.limit
        ),
    }
    measured, outcomes = alternate(ours, {} if options.no_peers else peers, options.repeats)
    for name, times in measured.items():
        row = row_of(task, tol, name, times.value.coef, times.median, measured[COLD].median)
        options.report.add(**row, spread=times.spread)
    for name, outcome in outcomes.items():
        options.report.add(**peer_row(task, tol, name, outcome, measured[COLD]))


def row_of(
    task: Task, tol: float, name: str, coef: Any, seconds: float, ours: float
) -> dict[str, Any]:
    gaps = task.gaps(coef)
    return {
        "data": task.name,
        "tol": tol,
        "contender": name,
        "answered": coef.shape[0],
        "within": int(np.sum(gaps <= FACTOR * tol)),
        "worst gap": float(gaps.max()),
        "seconds": seconds,
        "of ours": ours,
        "theirs / ours": seconds / ours,
    }


def peer_row(task: Task, tol: float, name: str, outcome: Outcome, ours: Measured) -> dict[str, Any]:
    if not outcome.finished:
        failed = {"data": task.name, "tol": tol, "contender": name, "answered": 0}
        return {**failed, "seconds": outcome.seconds, "complaint": outcome.failure}
    answers: Answers = outcome.value
    count, same = answers.coef.shape[0], ours.median
    if count < len(task.alphas):
        begin = perf_counter()
        our_path(task.X, task.y, task.alphas[:count], tol)
        same = perf_counter() - begin
    row = row_of(task, tol, name, answers.coef, float(answers.seconds[-1]), same)
    return {**row, "complaint": answers.complaint}


def interpolation(options: argparse.Namespace) -> None:
    """Ten 20 x 60 problems whose residual vanishes on the way, 20 penalties each."""
    tol = min(options.tols)
    ours, theirs, seconds = 0, 0, 0.0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(20, 60)), rng.normal(size=20)
        largest = exact_alpha_max(X, y, terms=Terms(fit_intercept=False))[0]
        alphas = largest * np.geomspace(1.0, 0.05, 20)
        begin = perf_counter()
        found = our_path(X, y, alphas, tol)
        seconds += perf_counter() - begin
        gaps = certify(X, y, found.coef, alphas, fit_intercept=False).relative_gap
        ours += int(np.sum(gaps <= tol))
        theirs += 0 if options.no_peers else _skglm_answers(X, y, alphas, tol)
    options.report.note(
        f"ten 20 x 60 problems, 20 penalties each, relative gap {tol:g}: ours solved {ours} of "
        f"200 in {seconds:.2f} s"
        + ("" if options.no_peers else f", skglm's path {theirs} (gap <= {FACTOR * tol:g})")
    )


def _skglm_answers(X: np.ndarray, y: np.ndarray, alphas: np.ndarray, tol: float) -> int:
    try:
        from skglm.experimental.sqrt_lasso import SqrtLasso
    except ImportError:
        return 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        coef = SqrtLasso(fit_intercept=False, tol=tol).path(np.asfortranarray(X), y, alphas=alphas)[
            1
        ]
    gaps = certify(X, y, coef, alphas, fit_intercept=False).relative_gap
    return int(np.sum(gaps <= FACTOR * tol))
