"""The tables of docs/billion.md as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.report import markdown_table, write_whole
from benchmarks.scale.limits import CLIENT_MEMORY, WORKER_MEMORY, Limit
from benchmarks.scale.model import STAGES, client_bytes, stages, worker_bytes
from benchmarks.scale.runs import Measured
from benchmarks.scale.sizes import Cluster, Constants, Job

__all__ = ["Checked", "check_table", "constants_table", "paste", "reach_table"]

# Name, what it is, how it is written: (unit, factor, whether a rate).
WRITTEN = {
    "open": ("reading a shard and making it a matrix", "MB/s", 1e-6, True),
    "survey": ("sums, squares and digest", "ns per non-zero", 1e9, False),
    "walk": ("one of the two sparse products", "ns per non-zero", 1e9, False),
    "product": ("the same, more for each column", "ns per non-zero and column", 1e9, False),
    "triangle": ("triangle of X V", "ns per row and squared column", 1e9, False),
    "moment": ("sums of squares of Q", "ns per row and squared column", 1e9, False),
    "make": ("making an (n, t) result", "ns per number", 1e9, False),
    "add": ("adding an (n, t) result", "ns per number", 1e9, False),
    "flop": ("the client's dense products", "Gflop/s", 1e-9, True),
    "score": ("intercepts and scores", "ns per non-zero and penalty", 1e9, False),
    "index": ("statistics, at the client", "ns per row", 1e9, False),
    "judge": ("scores, at the client", "ns per row", 1e9, False),
    "solve": ("a path, one core", "ns per problem and feature", 1e9, False),
    "solve_feature": ("a left-out feature, one core", "ns per problem and feature", 1e9, False),
    "call": ("a walk over one block", "ms", 1e3, False),
    "task": ("a task", "ms", 1e3, False),
    "send": ("client to worker", "MB/s", 1e-6, True),
    "fetch": ("worker to client", "MB/s", 1e-6, True),
    "move": ("worker to worker", "MB/s", 1e-6, True),
    "crowd": ("time of work in all workers at once, over that in one", "times", 1.0, False),
    "client_bytes": ("an idle client", "MB", 1e-6, False),
    "worker_bytes": ("an idle worker", "MB", 1e-6, False),
}
Checked = tuple[Job, Cluster, Measured]


def constants_table(here: Constants, job: Job, there: Constants, far: Job) -> str:
    head = [
        "constant",
        "what",
        "unit",
        f"n = {job.features:,}, z = {job.row_nonzeros:.0f}",
        f"n = {far.features:,}, z = {far.row_nonzeros:.0f}",
    ]
    rows = []
    for name, (what, unit, factor, rate) in WRITTEN.items():
        values = [getattr(constants, name) for constants in (here, there)]
        shown = [_number(factor / v if rate else factor * v) if v else "0" for v in values]
        if values[0] == values[1]:
            shown[1] = "the same"
        rows.append([f"`{name}`", what, unit, *shown])
    return markdown_table(head, rows, left=3)


def check_table(runs: Sequence[Checked], of: Constants) -> str:
    """Predicted against measured seconds, passes and memory."""
    head = ["rows", "workers", *STAGES, "whole", "measured / predicted"]
    rows = []
    for job, cluster, run in runs:
        predicted = {name: stage.seconds(job, cluster, of) for name, stage in stages(job).items()}
        pairs = [(predicted[name], run.seconds[name]) for name in STAGES]
        whole = tuple(map(sum, zip(*pairs, strict=True)))
        cells = [f"{_number(a)} / {_number(b)}" for a, b in [*pairs, whole]]
        rows.append([f"{job.rows:,}", _workers(cluster), *cells, f"{whole[1] / whole[0]:.2f}"])
    return markdown_table(head, rows, left=0)


def memory_table(runs: Sequence[Checked], of: Constants) -> str:
    head = [
        "rows",
        "workers",
        "passes of the sketch: model, meter",
        "of the radius, statistics, scores: model, counted",
        "client, MB",
        "largest worker, MB",
    ]
    rows = []
    for job, cluster, run in runs:
        model = {name: len(stage.passes) for name, stage in stages(job).items()}
        others = [name for name in STAGES if name not in ("sketch", "solve")]
        counted = [", ".join(str(part[name]) for name in others) for part in (model, run.passes)]
        client = f"{client_bytes(job, cluster, of) / 1e6:.0f} / {run.client_bytes / 1e6:.0f}"
        worker = "-"
        if cluster.workers:
            worker = f"{worker_bytes(job, of) / 1e6:.0f} / {run.worker_bytes / 1e6:.0f}"
        rows.append(
            [
                f"{job.rows:,}",
                _workers(cluster),
                f"{model['sketch']} / {run.meter}",
                " / ".join(counted),
                client,
                worker,
            ]
        )
    return markdown_table(head, rows, left=0)


def reach_table(job: Job, every_feature: Job, workers: Sequence[int], of: Constants) -> str:
    """Predictions for a billion rows: every stage, and the instances that need no data."""
    head = ["stage", "passes", "TB read", "Tflop"]
    head += [f"TB moved, {count:,} workers" for count in workers]
    head += [f"seconds, {count:,} workers" for count in workers]
    rows, whole = [], [0.0] * len(workers)
    jobs = [(job, name, name) for name in STAGES]
    jobs.append((every_feature, "solve", f"solve, {every_feature.problems:,} instances"))
    for own, name, label in jobs:
        stage, clusters = stages(own)[name], [Cluster(count) for count in workers]
        seconds = [stage.seconds(own, cluster, of) for cluster in clusters]
        whole = [a + b for a, b in zip(whole, seconds, strict=True)]
        rows.append(
            [
                label,
                str(len(stage.passes)),
                _number(stage.read(own) / 1e12),
                _number(stage.flops() / 1e12) if name != "solve" else "",
                *(_number(stage.network(own, cluster) / 1e12) for cluster in clusters),
                *(_number(value) for value in seconds),
            ]
        )
    passes = sum(len(stage.passes) for stage in stages(job).values())
    blank = [""] * (1 + len(workers))
    total = [f"{value:,.0f} ({value / 3600:.1f} h)" for value in whole]
    rows.append(["whole", str(passes), _number(passes * job.bytes / 1e12), *blank, *total])
    client = client_bytes(job, Cluster(workers[0]), of)
    memory = (
        f"{job.blocks:,} blocks of {job.rows_per_block:,} rows ({job.block_bytes / 1e6:.0f} MB "
        f"each, {job.bytes / 1e12:.2f} TB in all); memory of a worker "
        f"{worker_bytes(job, of) / 1e9:.1f} GB, of the client {client / 1e9:,.0f} GB."
    )
    return markdown_table(head, rows, left=1) + "\n\n" + memory


def limits_table(found: Sequence[Limit]) -> str:
    head = ["what", "needs", "here", "breaks at", "here / there", "what to do"]
    rows = [
        [
            limit.what,
            limit.needs,
            f"{_large(limit.at_job)} {limit.size}",
            f"{_large(limit.breaks_at)} {limit.size}" if limit.strain else "never",
            _number(limit.strain),
            limit.remedy,
        ]
        for limit in found
    ]
    given = (
        f"Assumed: {CLIENT_MEMORY / 1e9:.0f} GB of memory for the client, "
        f"{WORKER_MEMORY / 1e9:.0f} GB for every worker."
    )
    return markdown_table(head, rows, left=6) + "\n\n" + given


def paste(tables: dict[str, str], page: Path) -> None:
    """Replace the text between the marks of every table."""
    text = page.read_text(encoding="utf-8")
    for name, table in tables.items():
        pattern = re.compile(rf"(<!-- measured: {name} -->\n).*?(<!-- /measured -->)", re.DOTALL)
        text, count = pattern.subn(lambda m, t=table: f"{m[1]}\n{t}\n\n{m[2]}", text)
        if count != 1:
            raise ValueError(f"{page} has {count} places for the table {name}, but needs one")
    write_whole(page, text)


def _workers(cluster: Cluster) -> str:
    return str(cluster.workers) if cluster.workers else "none: sequential"


def _number(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return "0" if value == 0 else f"{value:.2g}" if value < 10 else f"{value:.0f}"


def _large(value: float) -> str:
    for size, word in ((1e9, "billion"), (1e6, "million")):
        if value >= size:
            return f"{value / size:.3g} {word}"
    return f"{value:,.0f}"
