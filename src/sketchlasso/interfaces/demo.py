"""The path on scikit-learn's bundled digits, 4 against 9, as a readable table."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits

import sketchlasso as sl

__all__ = ["run_demo"]


def run_demo(rank: int, n_alphas: int, tol: float) -> None:
    """Print the sketch's summary and one line per penalty."""
    console = Console()
    X, y = _four_against_nine()
    found = sl.sketch(X, rank=rank, center=True, random_state=0)
    console.print(found.summary())
    problems = sl.build_problems(found, y, alphas=n_alphas)
    with console.status("solving (the very first run compiles for about half a minute)"):
        solutions = _solve_path(problems, sl.Settings(tol=tol))
    console.print(_table(problems, solutions))
    worst = max(float(part.relative_gap[0]) for part in solutions)
    solved = sum(bool(part.solved[0]) for part in solutions)
    compiling = sum(part.compile_seconds for part in solutions)
    console.print(
        f"{solved} of {len(solutions)} problems solved, worst relative gap {worst:.1e}, "
        f"{1e3 * sum(part.seconds for part in solutions):.1f} ms in all"
        + (f" (and {compiling:.1f} s to compile the kernels, once)." if compiling else ".")
    )


def _four_against_nine() -> tuple[Any, Any]:
    X, digit = load_digits(return_X_y=True)
    keep = (digit == 4) | (digit == 9)
    return X[keep], np.where(digit[keep] == 4, 1.0, -1.0)


def _solve_path(problems: sl.ProblemSet, settings: sl.Settings) -> list[sl.Solution]:
    """One problem after the other, each started from its neighbour."""
    solutions: list[sl.Solution] = []
    for number in range(problems.batch.n_instances):
        warm = None
        if solutions:
            last = solutions[-1]
            warm = sl.Iterates(last.coef, last.dual_point, last.steps)
        one = problems.batch.take(np.array([number]))
        solutions.append(sl.solve(one, settings=settings, warm=warm))
    return solutions


def _table(problems: sl.ProblemSet, solutions: list[sl.Solution]) -> Table:
    table = Table(title="Robust square-root LASSO, digits 4 against 9")
    for heading in ("lambda", "non-zeros", "objective", "relative gap", "milliseconds"):
        table.add_column(heading, justify="right")
    for alpha, part in zip(problems.batch.alpha, solutions, strict=True):
        table.add_row(
            f"{alpha:.4g}",
            str(part.n_nonzero[0]),
            f"{part.primal[0]:.6f}",
            f"{part.relative_gap[0]:.1e}",
            f"{1e3 * part.seconds:.2f}",
        )
    return table
