"""What blocks of rows cost: a model, its check at three sizes, and a billion rows.

Shards of generated sparse data are sketched and cross-validated in this process and on worker
processes; a model whose constants are measured one by one predicts the seconds of every stage
and the memory, also of data that no machine here could hold. The tables of
docs/billion.md are printed; ``--page`` writes them into that page.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.datasets import SEED
from benchmarks.report import Report, write_whole
from benchmarks.scale import page
from benchmarks.scale.constants import Effort, measure_at, measure_constants
from benchmarks.scale.data import Folder, generate
from benchmarks.scale.limits import limits
from benchmarks.scale.model import STAGES, client_bytes, stages, worker_bytes
from benchmarks.scale.runs import Measured, run_job
from benchmarks.scale.sizes import Cluster, Constants, Job

FAR_WORKERS = (64, 1000)


@dataclass(frozen=True)
class Sizes:
    """Rows of the runs, and the shape of a block of the data that are only predicted."""

    rows: tuple[int, ...] = (50_000, 100_000, 200_000)
    features: int = 20_000
    row_nonzeros: int = 50
    rows_per_block: int = 12_500
    rank: int = 50
    penalties: int = 50
    workers: int = 2
    narrow: tuple[int, int] = (200_000, 100)
    block: tuple[int, int] = (20_000, 1_000_000)
    effort: Effort = field(default_factory=Effort)


QUICK = Sizes(
    rows=(1_800,),
    features=400,
    row_nonzeros=10,
    rows_per_block=300,
    rank=10,
    penalties=10,
    workers=1,
    narrow=(4_000, 80),
    block=(300, 5_000),
    effort=Effort(
        repeats=1, sent=1 << 20, tasks=20, features=1_000, left_out=5, busy=500, apart=False
    ),
)
FOLDS = 5


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=2, help="runs of each size (quick: 1)")
    parser.add_argument("--page", type=Path, help="docs/billion.md: put the tables in")


def run(options: argparse.Namespace) -> None:
    report, sizes = options.report, QUICK if options.quick else Sizes()
    rounds = 1 if options.quick else options.rounds
    report.note("seconds: constants from the fastest of some runs, stages from the fastest round")
    with TemporaryDirectory() as folder:
        of = _constants(Path(folder), sizes)
        runs = []
        for rows in sizes.rows:
            data = _generated(Path(folder) / str(rows), sizes, rows)
            for workers in (0, sizes.workers):
                runs.append(_checked(report, data, sizes, of, workers, rounds))
    job, every_feature = far_jobs(runs[-1][2])
    rows, features = sizes.block
    block = replace(job, rows=rows, rows_per_block=rows, features=features)
    there = measure_at(block, of, sizes.effort)
    tables = {
        "constants": page.constants_table(of, runs[0][0], there, block),
        "check": page.check_table(runs, of),
        "memory": page.memory_table(runs, of),
        "reach": page.reach_table(job, every_feature, FAR_WORKERS, there),
        "limits": page.limits_table(limits(job, every_feature, FAR_WORKERS[-1], there)),
    }
    _show(tables, options)


def far_jobs(run: Measured) -> tuple[Job, Job]:
    """A billion rows: cross-validated, and with every feature left out in turn."""
    job = Job(
        10**9,
        10**6,
        100.0,
        100_000,
        folds=FOLDS,
        model_nonzeros=run.non_zeros,
        collects=run.collects,
    )
    return job, replace(job, instances=10**6)


def job_of(data: Folder, sizes: Sizes, run: Measured | None = None) -> Job:
    """The job that a folder of shards is."""
    known = {} if run is None else {"model_nonzeros": run.non_zeros, "collects": run.collects}
    return Job(
        *data.shape,
        data.row_nonzeros,
        data.shards[0].rows,
        sizes.rank,
        FOLDS,
        sizes.penalties,
        **known,
    )


def _generated(folder: Path, sizes: Sizes, rows: int) -> Folder:
    return generate(folder, rows, sizes.features, sizes.row_nonzeros, sizes.rows_per_block, SEED)


def _constants(folder: Path, sizes: Sizes) -> Constants:
    # Tall, as the others are.
    few = _generated(folder / "few", sizes, sizes.features * 5 // 4)
    rows, features = sizes.narrow
    narrow = generate(folder / "narrow", rows, features, 4, rows // 4, SEED)
    return measure_constants(few, narrow, job_of(few, sizes), sizes.workers, sizes.effort)


def _checked(
    report: Report, data: Folder, sizes: Sizes, of: Constants, workers: int, rounds: int
) -> page.Checked:
    """Run one size on one engine, and add a row for every stage."""
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    arguments = (data, sizes.rank, FOLDS, sizes.penalties, workers, threads)
    found = [sizes.effort.run(run_job, *arguments) for _ in range(rounds)]
    best = min(found, key=lambda measured: sum(measured.seconds.values()))
    job, cluster = job_of(data, sizes, best), Cluster(workers, threads)
    for name, stage in stages(job).items():
        predicted = stage.seconds(job, cluster, of)
        report.add(
            **{
                "rows": job.rows,
                "workers": workers,
                "stage": name,
                "passes": len(stage.passes),
                "counted": best.passes.get(name, 0),
                "predicted s": predicted,
                "measured s": best.seconds[name],
                "measured / predicted": best.seconds[name] / predicted,
            }
        )
    report.add(
        **{
            "rows": job.rows,
            "workers": workers,
            "stage": "whole",
            "measured s": sum(best.seconds[name] for name in STAGES),
            "client MB predicted": client_bytes(job, cluster, of) / 1e6,
            "client MB": best.client_bytes / 1e6,
            "worker MB predicted": worker_bytes(job, of) / 1e6 if workers else np.nan,
            "worker MB": best.worker_bytes / 1e6,
            "passes by the meter": best.meter,
            "all solved": best.solved,
        }
    )
    return job, cluster, best


def _show(tables: dict[str, str], options: argparse.Namespace) -> None:
    """Print the tables of the page, keep them, and put them in where a page is given."""
    text = "\n\n".join(
        f"<!-- measured: {name} -->\n\n{table}\n\n<!-- /measured -->"
        for name, table in tables.items()
    )
    suffix = "-quick" if options.quick else ""
    write_whole(options.results / f"scale-page{suffix}.md", text + "\n")
    print(f"\n{text}\n", flush=True)
    if options.page is not None:
        page.paste(tables, options.page)
