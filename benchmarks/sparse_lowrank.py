"""Sparse plus low-rank: a few hundred exact columns beside the sketch, against `response` alone.

Question: with columns S of X kept as they are, the others sketched as ``method="response"``
sketches them, and the robust term on the sketched part only,

    minimise   || X_S a + Q P'b - y ||_2  +  radius ||b||_2  +  alpha (||a||_1 + ||b||_1)

is the F1 better than that of `response` at equal time? Everything is found on training rows
alone, fold by fold: S, the response directions of the rest, and the radius, which is zero or
the fixed point of ||(X_R - QP')b|| / ||b||. The unsupervised directions are shared by the folds
on both sides. Same rank means the same k of the low-rank part. `response` is also run at larger
ranks: k + |S| has the same dimension, and one of them takes about the same time. All sides get
the same folds and penalties. Seconds are CPU seconds on one thread, of sketches,
cross-validation and the path on all training rows. The library is compiled, the experiment's
solver is NumPy.

S is chosen by `correlation`, the largest |x_j'(y - mean y)|, or by `support`, the largest
|w_j| ||x_j|| of a response-sketched solution that has at least |S| non-zeros. The Krylov
directions of the rest start from y, as in `response`, or from both y and its residual after a
fit on S; from `none` stands for the exact columns alone, no sketch beside them.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from time import process_time
from typing import Any

import numpy as np
from scipy import sparse

import sketchlasso as sl
from benchmarks.cv import sqrt_lasso_alpha_max
from benchmarks.datasets import SEED, Split, available, load
from benchmarks.report import Report
from benchmarks.sparse_lowrank_model import Clock, Recipe, Start, Task, TrainingRows
from sketchlasso.engine import score

DATA = ("rcv1", "20news", "gisette_like", "imdb")
COUNTS = (200, 800, 1800)
# Smallest over largest penalty, the library's own for realised radii.
RATIO = 1e-3
BOOTSTRAPS = 200


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", nargs="+", default=list(DATA))
    parser.add_argument("--rank", type=int, default=50, help="of the low-rank part")
    parser.add_argument("--columns", type=int, nargs="+", default=[100, 300], help="sizes of S")
    parser.add_argument(
        "--ranks", type=int, nargs="+", default=[100, 150], help="larger ones of `response` alone"
    )
    parser.add_argument("--alphas", type=int, default=12, help="penalties")
    parser.add_argument("--tol", type=float, default=1e-5, help="relative gap, all sides")


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a contender found.

    Attributes
    ----------
    scores : ndarray of shape (folds, alphas searched)
        F1 on held-out rows.
    models : LinearModels
        Of all training rows, one for every penalty of the path.
    seconds : float
    gap : float
        The worst relative one.
    radii : ndarray of shape (alphas,)
        On the path.
    unsolved : int
        Instances that were given up.
    solver_seconds : float
        Part of the seconds, where the experiment's solver did the work.
    """

    scores: np.ndarray
    models: sl.engine.LinearModels
    seconds: float
    gap: float
    radii: np.ndarray
    unsolved: int = 0
    solver_seconds: float = float("nan")

    @property
    def chosen(self) -> int | None:
        """Number on the path of the penalty with the best mean F1; None without scores."""
        return 2 * int(np.argmax(self.scores.mean(axis=0))) if self.scores.size else None


def penalties(X: Any, y: np.ndarray, count: int) -> np.ndarray:
    """Penalties from where all models are empty at radius 0; 2 count - 1 of them."""
    return sqrt_lasso_alpha_max(X, y) * np.geomspace(1.0, RATIO, 2 * count - 1)


def base_sketch(task: Task, rank: int) -> sl.Sketch:
    return sl.sketch(
        task.split.X,
        task.split.y,
        method="response",
        rank=min(rank, *task.split.X.shape),
        center=True,
        random_state=SEED,
    )


def response_alone(task: Task, rank: int) -> Outcome:
    """The library's own: response sketch, realised radii."""
    split, settings = task.split, sl.Settings(tol=task.tol, n_threads=1)
    start = process_time()
    made = base_sketch(task, rank)
    found = sl.cross_validate(
        made,
        split.X,
        split.y,
        cv=task.folds,
        metrics=("f1",),
        alphas=task.searched,
        radii="realised",
        settings=settings,
    )
    path = sl.sqrt_lasso_path(
        split.X, split.y, made, alphas=task.alphas, radius="realised", settings=settings
    )
    seconds = process_time() - start
    gap = float(max(found.relative_gap.max(), path.relative_gap.max()))
    return Outcome(found.scores["f1"][:, 0, 0], path.models, seconds, gap, path.radius)


def full_data(task: Task) -> Outcome:
    """The path without any sketch, for orientation: larger penalties, not cross-validated."""
    split, start = task.split, process_time()
    alphas = task.alphas[: 4 * len(task.alphas) // 5]
    settings = sl.Settings(tol=1e-3, n_threads=1)
    path = sl.sqrt_lasso_path(split.X, split.y, None, alphas=alphas, settings=settings)
    seconds, gap = process_time() - start, float(path.relative_gap.max())
    return Outcome(np.empty((0, 0)), path.models, seconds, gap, path.radius)


def sparse_and_low_rank(task: Task, recipe: Recipe) -> Outcome:
    """The experiment: S, sketch of the rest and path for every fold, and for all rows."""
    split, clock = task.split, Clock()
    start = process_time()
    base = base_sketch(task, task.rank)
    scores = []
    for train, test in task.folds:
        part = TrainingRows.of(task, base, recipe, train)
        models, _ = part.path(task.searched, recipe.realised, task.tol, clock)
        scores.append(score("f1", split.y[test], models.predict(split.X[test])))
    whole = TrainingRows.of(task, base, recipe, np.arange(len(split.y)))
    models, radii = whole.path(task.alphas, recipe.realised, task.tol, clock)
    seconds = process_time() - start
    return Outcome(
        np.array(scores), models, seconds, clock.gap, radii, clock.unsolved, clock.seconds
    )


def row_of(task: Task, contender: str, outcome: Outcome, judge: Outcome | None) -> dict[str, Any]:
    """Scores on the test rows: at the chosen penalty, the best, and at given non-zeros.

    `gain` is over the judge at its own chosen penalty, +- a standard error over the test rows.
    """
    split, models, best = task.split, outcome.models, outcome.chosen
    f1 = score("f1", split.y_test, models.predict(split.X_test))
    nonzeros = models.n_nonzero
    row: dict[str, Any] = {"data": split.name, "contender": contender}
    if best is not None:
        row["CV F1"] = float(outcome.scores.mean(axis=0).max())
        row["chosen F1"] = float(f1[best])
        row["gain"] = None if judge is None else _gain(split, outcome, judge)
        row["non-zeros"] = int(nonzeros[best])
        row["at edge"] = best == len(f1) - 1
    row["best F1"] = float(f1.max())
    for count in COUNTS:
        row[f"at {count:,} F1"] = at_count(f1, nonzeros, count)
    row |= {"seconds": outcome.seconds, "of it solver": outcome.solver_seconds}
    if best is not None:
        row["radius"] = float(outcome.radii[best])
    return row | {"worst gap": outcome.gap, "given up": outcome.unsolved}


def _gain(split: Split, outcome: Outcome, judge: Outcome) -> str:
    """Difference of chosen F1 and its bootstrap standard error, the test rows drawn together."""
    truth = split.y_test
    said = np.column_stack(
        [
            found.models.predict(split.X_test, np.array([found.chosen]))[:, 0]
            for found in (outcome, judge)
        ]
    )
    rng = np.random.default_rng(SEED)

    def difference(rows: np.ndarray | slice) -> float:
        ours, theirs = score("f1", truth[rows], said[rows])
        return float(ours - theirs)

    draws = [difference(rng.integers(len(truth), size=len(truth))) for _ in range(BOOTSTRAPS)]
    return f"{difference(slice(None)):+.4f} +- {np.std(draws):.4f}"


def at_count(f1: np.ndarray, nonzeros: np.ndarray, count: int) -> float:
    """F1 at so many non-zeros, linear in their logarithm between neighbours of the path.

    Paths need not grow with every step; the running maximum of the non-zeros is the axis.
    NaN where the path does not get there.
    """
    axis = np.maximum.accumulate(nonzeros)
    if not (axis >= count).any() or not (nonzeros > 0).any():
        return float("nan")
    keep = (nonzeros == axis) & (nonzeros > 0)
    return float(np.interp(np.log(count), np.log(axis[keep]), f1[keep]))


def contenders(sizes: Sequence[int]) -> list[Recipe]:
    """Both starts at every size; the other choices at the largest only."""
    most = max(sizes)
    starts: tuple[Start, ...] = ("y", "both")
    return [
        *(Recipe(size, "correlation", start, True) for size in sizes for start in starts),
        Recipe(most, "support", "both", True),
        Recipe(most, "correlation", "y", False),
        Recipe(most, "correlation", "none", False),
    ]


def one_set(split: Split, options: argparse.Namespace, report: Report) -> None:
    alphas = penalties(split.X, split.y, options.alphas)
    task = Task(split, options.rank, alphas, options.tol)
    judge = response_alone(task, options.rank)
    report.add(**row_of(task, f"response, rank {options.rank}", judge, None))
    for rank in options.ranks:
        report.add(**row_of(task, f"response, rank {rank}", response_alone(task, rank), judge))
    for recipe in contenders(options.columns):
        report.add(**row_of(task, str(recipe), sparse_and_low_rank(task, recipe), judge))
    report.add(**row_of(task, "no sketch (path only)", full_data(task), None))


def warm_up(options: argparse.Namespace) -> None:
    """Compile what the library compiles, outside of the clocks."""
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((300, 200))
    y = np.where(X[:, 0] + rng.standard_normal(300) > 0, 1.0, -1.0)
    for data in (X, sparse.csr_matrix(X)):
        task = Task(Split("", data, y, data, y), 10, penalties(data, y, 3), options.tol)
        response_alone(task, 10)
        full_data(task)


def run(options: argparse.Namespace) -> None:
    report = options.report
    report.note(
        f"5 folds x {options.alphas} penalties down to {RATIO:g} of the largest, best mean F1; "
        f"path of {2 * options.alphas - 1}; relative gap {options.tol:g}; one thread"
    )
    report.note("CV F1: mean over the folds at the chosen penalty, test rows not used")
    report.note("chosen F1: on the test rows at the penalty chosen by cross-validation")
    report.note("gain: in chosen F1 over `response` of the same rank, +- paired standard error")
    report.note("best F1, at ... F1: over the path on all training rows, chosen on the test rows")
    report.note("given up: instances below the first unsolved penalty of a path, radius 0 mostly")
    report.note("at edge: the smallest penalty of the grid won, so a deeper grid might do better")
    warm_up(options)
    for split in available(options.data, partial(load, quick=options.quick), report.note):
        one_set(split, options, report)
