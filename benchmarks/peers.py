"""One path of exact square-root LASSO problems: ours against skglm, the LASSO paths and Clarabel.

Claim under test: on the full data (exact sketch, radius 0) not slower than skglm's SqrtLasso at
the same penalties and gap, and never failing where it fails. All sides get centred data and no
intercept. skglm has our scaling; a LASSO penalty is matched through the solution's residual,
a = alpha ||r|| / m, and has no counterpart where the residual vanishes. Everyone's answer is
judged by one number: objective of the square-root LASSO over a proven lower bound.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import lasso_path

from benchmarks.conic import conic_on_small
from benchmarks.datasets import available, centred_small
from benchmarks.harness import Contenders, Measured, Outcome, alternate, interleave, run_limited
from sketchlasso import Settings, Solution, build_problems, sketch, solve
from sketchlasso.engine import ProblemSet

# A penalty counts as answered when the objective is this close to the lower bound.
ANSWERED = 1e-3
# Below this share of ||y|| the residual counts as gone and no LASSO penalty matches.
GONE = 1e-4
SKGLM = "skglm SqrtLasso.path"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", nargs="+", default=["gisette_sample168", "riboflavin"])
    parser.add_argument("--alphas", type=int, help="penalties (50; quick: 10)")
    parser.add_argument("--ratio", type=float, default=1e-2, help="smallest / largest penalty")
    parser.add_argument("--tol", type=float, default=1e-6, help="relative gap of ours")
    parser.add_argument("--peer-tol", type=float, default=1e-6)
    parser.add_argument("--peers", nargs="*", default=list(PATHS), choices=list(PATHS))
    parser.add_argument("--no-conic", action="store_true")


@dataclass(frozen=True, eq=False)
class Task:
    """A path to be solved, with lower bounds and matched LASSO penalties."""

    name: str
    X: np.ndarray
    y: np.ndarray
    alphas: np.ndarray
    lower: np.ndarray
    matched: np.ndarray

    def first(self, count: int) -> Task:
        """The same path, cut after some penalties."""
        cut = self.alphas[:count], self.lower[:count], self.matched[:count]
        return Task(self.name, self.X, self.y, *cut)

    def gaps(self, coef: np.ndarray) -> np.ndarray:
        """(objective - lower bound) / objective for coefficients (alphas, n)."""
        residual = np.linalg.norm(self.y[:, None] - self.X @ coef.T, axis=0)
        value = residual + self.alphas[: len(coef)] * np.abs(coef).sum(axis=1)
        return np.maximum(1.0 - self.lower[: len(coef)] / value, 0.0)


@dataclass(frozen=True, eq=False)
class Path:
    """Coefficients (alphas, n), what the solver complained of, and its share of sketching."""

    coef: np.ndarray
    complaint: str = ""
    sketch_seconds: float | None = None


def our_problems(X: np.ndarray, y: np.ndarray, alphas: np.ndarray) -> tuple[ProblemSet, float]:
    """Problems on the exact sketch, and the seconds it took."""
    made = sketch(X, method="exact", radius=0)
    return build_problems(made, y, alphas=alphas, fit_intercept=False), made.cost.seconds


def our_path(task: Task, tol: float) -> Path:
    """Exact sketch and path, all timed."""
    problems, seconds = our_problems(task.X, task.y, task.alphas)
    found = solve(problems.batch, settings=Settings(tol=tol), chain=problems.chain)
    return Path(found.coef.toarray(), "" if found.solved.all() else found.message(), seconds)


def skglm_path(task: Task, tol: float) -> Path:
    from skglm.experimental.sqrt_lasso import SqrtLasso

    model = SqrtLasso(fit_intercept=False, tol=tol)
    coef, complaint = heard(lambda: model.path(task.X, task.y, alphas=task.alphas)[1])
    return Path(coef, complaint)


def celer_lasso_path(task: Task, tol: float) -> Path:
    from celer.homotopy import celer_path

    options: dict[str, Any] = {"alphas": task.matched, "tol": tol, "prune": True}
    coef, complaint = heard(lambda: celer_path(task.X, task.y, "lasso", **options)[1])
    return Path(coef.T, complaint)


def sklearn_lasso_path(task: Task, tol: float) -> Path:
    coef, complaint = heard(
        lambda: lasso_path(task.X, task.y, alphas=task.matched, tol=tol, max_iter=10_000)[1]
    )
    return Path(coef.T, complaint)


PATHS: dict[str, Callable[[Task, float], Path]] = {
    SKGLM: skglm_path,
    "celer_path": celer_lasso_path,
    "sklearn lasso_path": sklearn_lasso_path,
}

LASSO = ("celer_path", "sklearn lasso_path")


def heard(call: Callable[[], np.ndarray]) -> tuple[np.ndarray, str]:
    """The result of a call, and its first warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return result, str(caught[0].message).split(". ")[0][:120] if caught else ""


def prepare(name: str, count: int, ratio: float) -> Task:
    """Data, grid, and lower bounds from our own solve at a gap of 1e-9."""
    X, y = centred_small(name)
    alphas = np.abs(X.T @ y).max() / np.linalg.norm(y) * np.geomspace(1.0, ratio, count + 1)[1:]
    problems, _ = our_problems(X, y, alphas)
    found: Solution = solve(problems.batch, settings=Settings(tol=1e-9), chain=problems.chain)
    residual = np.linalg.norm(y[:, None] - X @ found.coef.toarray().T, axis=0)
    seen = int(np.sum(np.cumprod(residual > GONE * np.linalg.norm(y))))
    return Task(name, X, y, alphas, found.dual, (alphas * residual / len(y))[:seen])


def run(options: argparse.Namespace) -> None:
    options.alphas = options.alphas or (10 if options.quick else 50)
    report = options.report
    report.note(
        f"{options.alphas} penalties down to {options.ratio:g} of the largest; tol "
        f"{options.tol:g} for ours (relative gap), {options.peer_tol:g} for each peer (its own "
        "stopping rule); every solver warmed up on the same data"
    )
    report.note(f"answered: penalties whose objective is within {ANSWERED:g} of the lower bound")
    prepared = partial(prepare, count=options.alphas, ratio=options.ratio)
    for task in available(options.data, prepared, report.note):
        whole_path(task, options)
        if not options.no_conic:
            one_penalty(task, options)


def whole_path(task: Task, options: argparse.Namespace) -> None:
    """All solvers in turns over the whole grid."""
    contenders: Contenders = {"ours": partial(our_path, task, options.tol)}
    for name in options.peers:
        contenders[name] = partial(attempt, PATHS[name], task, options.peer_tol)
    measured = interleave(contenders, options.repeats)
    for name, times in measured.items():
        options.report.add(**path_row(task, name, times, measured["ours"]))
    if SKGLM in measured:
        reached = int(np.sum(task.gaps(measured[SKGLM].value.coef) <= ANSWERED))
        if 0 < reached < len(task.alphas):
            common_part(task.first(reached), options)


def common_part(task: Task, options: argparse.Namespace) -> None:
    """Only the penalties that skglm answers."""
    both = {
        "ours": partial(our_path, task, options.tol),
        SKGLM: partial(attempt, skglm_path, task, options.peer_tol),
    }
    measured = interleave(both, options.repeats)
    for name, times in measured.items():
        label = f"{name}, only what skglm answers"
        options.report.add(**path_row(task, label, times, measured["ours"]))


def attempt(path: Callable[[Task, float], Path], task: Task, tol: float) -> Path:
    """A peer's path, or why there is none."""
    try:
        return path(task, tol)
    except Exception as error:  # a peer may fail in any way: the report says how
        return Path(np.zeros((0, task.X.shape[1])), f"{type(error).__name__}: {error}"[:120])


def path_row(task: Task, name: str, times: Measured, ours: Measured) -> dict[str, Any]:
    path: Path = times.value
    gaps = task.gaps(path.coef)
    answered = gaps[gaps <= ANSWERED]
    return {
        "data": task.name,
        "contender": name,
        "asked": len(task.matched) if name in LASSO else len(task.alphas),
        "answered": len(answered),
        "seconds": times.median,
        "of it sketch s": path.sketch_seconds,
        "peer / ours": times.median / ours.median,
        "worst gap answered": float(answered.max()) if len(answered) else None,
        "worst gap": float(gaps.max()) if len(gaps) else None,
        "complaint": path.complaint,
        "spread": times.spread,
    }


def exact_conic(name: str, alpha: float, tol: float) -> Callable[[], np.ndarray]:
    """solver="conic" on the exact sketch, ready to run in a process of its own."""
    X, y = centred_small(name)
    batch = our_problems(X, y, np.array([alpha]))[0].batch
    return lambda: solve(batch, "conic", Settings(tol=tol)).coef.toarray()[0]


def one_penalty(task: Task, options: argparse.Namespace) -> None:
    """Clarabel at the middle of the grid, on the full data and on the exact sketch."""
    middle = len(task.alphas) // 2
    alpha = task.alphas[[middle]]
    single = Task(task.name, task.X, task.y, alpha, task.lower[[middle]], task.matched[:0])
    arguments = (task.name, float(alpha[0]), options.tol)
    ours, theirs = alternate(
        {"ours": partial(our_path, single, options.tol)},
        {
            "Clarabel, full data": partial(
                run_limited, conic_on_small, arguments, options.peer_limit
            ),
            'solver="conic", exact sketch': partial(
                run_limited, exact_conic, arguments, options.peer_limit
            ),
        },
        options.repeats,
    )
    options.report.add(**path_row(single, "ours, one penalty", ours["ours"], ours["ours"]))
    for name, outcome in theirs.items():
        options.report.add(**conic_row(single, name, outcome, ours["ours"]))


def conic_row(task: Task, name: str, outcome: Outcome, ours: Measured) -> dict[str, Any]:
    if not outcome.finished:
        row = {"data": task.name, "contender": name, "asked": 1, "answered": 0}
        return {**row, "seconds": outcome.seconds, "complaint": outcome.failure}
    coef = getattr(outcome.value, "coef", outcome.value)
    complaint = getattr(outcome.value, "status", "")
    path = Path(coef[None, :], "" if complaint in ("", "Solved") else complaint)
    return path_row(task, name, Measured([outcome.seconds], path), ours)
