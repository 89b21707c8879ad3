"""Held-out scores, every hyper-parameter chosen by 5-fold cross-validation on training rows only.

Goal under test: ours at rank 50 not below the full square-root LASSO by more than 0.002 F1 on
any set and above it on most, and within 0.005 at the full model's number of non-zeros.

Every cell (set, split, column) is a small file below the results, written whole: a run that was
stopped goes on where it was, and --report makes tables and figures from what is there.

    python -m benchmarks accuracy --sets rcv1,imdb --columns full,ours-50 --limit 300
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from benchmarks.report import Report

if TYPE_CHECKING:
    from benchmarks.accuracy.store import Store

LIMIT, QUICK_LIMIT = 600.0, 60.0


def listed(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def known_sets(text: str) -> list[str]:
    """Data sets by name; argparse turns a wrong one into its usual message."""
    from benchmarks.accuracy.tasks import TASKS

    for name in listed(text):
        if name not in TASKS:
            raise argparse.ArgumentTypeError(f"{name} is no set; choose from {', '.join(TASKS)}.")
    return listed(text)


def known_columns(text: str) -> list[str]:
    """Columns, groups written out."""
    from benchmarks.accuracy.columns import UnknownColumnError, expand

    try:
        return expand(listed(text))
    except UnknownColumnError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sets", type=known_sets, help="data sets, separated by commas (all)")
    parser.add_argument(
        "--columns", type=known_columns, help="columns, or main, policies, checks (all three)"
    )
    parser.add_argument("--splits", type=int, help="random splits (3; quick: 1)")
    parser.add_argument("--alphas", type=int, help="penalties (30; quick: 12)")
    parser.add_argument(
        "--ratio", type=float, default=1e-2, help="smallest / largest penalty (0.01)"
    )
    parser.add_argument("--sketch-ratio", type=float, help="the same on sketches (--ratio)")
    parser.add_argument("--limit", type=float, help="seconds per cell (600; quick: 60)")
    parser.add_argument(
        "--report", dest="report_only", action="store_true", help="only tables, from what is there"
    )


def run(options: argparse.Namespace) -> None:
    """Compute the missing cells, then write tables and figures."""
    from benchmarks.accuracy.page import write_page
    from benchmarks.accuracy.store import Store

    folder = options.results / ("accuracy-quick" if options.quick else "accuracy")
    store = Store(folder)
    if not options.report_only:
        compute(options, store)
    report: Report = options.report
    write_page(store.read_all(), folder, report)


def compute(options: argparse.Namespace, store: Store) -> None:
    """Every cell that was asked for and is not there."""
    from benchmarks.accuracy.columns import GROUPS, expand
    from benchmarks.accuracy.runner import cells_of, run_cells
    from benchmarks.accuracy.splits import Grid
    from benchmarks.accuracy.store import Terms
    from benchmarks.accuracy.tasks import DEFAULT_SETS
    from benchmarks.catalogue import data_file

    data_file()  # says in one sentence that there is no folder of data
    sets = options.sets or list(DEFAULT_SETS)
    columns = options.columns or expand(list(GROUPS))
    splits = options.splits or (1 if options.quick else 3)
    limit = options.limit or (QUICK_LIMIT if options.quick else LIMIT)
    count = options.alphas or (12 if options.quick else 30)
    grid = Grid(count, options.ratio, options.sketch_ratio or options.ratio)
    run_cells(cells_of(sets, columns, splits), store, Terms(grid, limit, options.quick))
