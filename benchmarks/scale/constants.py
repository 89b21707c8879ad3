"""The constants of the model, each measured by itself on the machine at hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from scipy.optimize import nnls
from threadpoolctl import threadpool_limits

from benchmarks.datasets import SEED, generated
from benchmarks.machine import peak_memory_bytes
from benchmarks.scale.data import Folder, random_block
from benchmarks.scale.model import stages
from benchmarks.scale.runs import alone, local_client, run_job, warm_up
from benchmarks.scale.sizes import DOUBLE, Cluster, Constants, Job
from sketchlasso import Settings, feature_problems, solve
from sketchlasso.cluster import cluster
from sketchlasso.cluster.engine import add
from sketchlasso.data import block_work
from sketchlasso.instances.statistics import row_statistics
from sketchlasso.io import BlockMatrix
from sketchlasso.linalg.factor import subtract_product

__all__ = ["Effort", "measure_at", "measure_blocks", "measure_constants"]

WIDTHS = (8, 19, 50)


@dataclass(frozen=True)
class Effort:
    """How much is measured with.

    Attributes
    ----------
    repeats : int
        Runs of each; the fastest counts.
    sent : int
        Bytes moved between processes.
    tasks : int
        Blocks with nothing to do.
    features, left_out : int
        Of the leave-one-feature-out problems.
    busy : int
        Rows of a block that workers are kept busy with.
    apart : bool
        Whether whole runs get a process of their own; without, their memory says little.
    """

    repeats: int = 3
    sent: int = 1 << 26
    tasks: int = 300
    features: int = 100_000
    left_out: int = 100
    busy: int = 10_000
    apart: bool = True

    def run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return alone(work, *arguments) if self.apart else work(*arguments)


def measure_constants(
    folder: Folder, narrow: Folder, job: Job, workers: int, effort: Effort
) -> Constants:
    """Return all constants.

    Parameters
    ----------
    folder : Folder
        Shards like those of the jobs to be predicted, of fewer rows.
    narrow : Folder
        Many rows and few features, which show what every row costs the client.
    job : Job
        That of `folder`.
    workers : int
    effort : Effort
    """
    found = dict.fromkeys(Constants.__dataclass_fields__, 0.0)
    found |= measure_blocks(folder.shards[0].load(), job.rank, effort)
    found["open"] = _opening(folder, effort)
    found["flop"] = _client_flop(job, effort)
    found["solve_feature"] = _left_out_features(job.rank, effort)
    found |= effort.run(_between_processes, workers, effort)
    partial = Constants(**found)
    # A whole run on one thread shows the rest.
    run = effort.run(run_job, folder, job.rank, job.folds, job.penalties, 0, 1)
    scoring = run.seconds["scores"] - run.at_client["scores"]
    scoring -= stages(job)["scores"].seconds(job, Cluster(0), partial)
    rank = min(job.rank, narrow.shape[1] // 4)
    rows = effort.run(run_job, narrow, rank, job.folds, job.penalties, 0, 1).at_client
    return replace(
        partial,
        solve=run.seconds["solve"] / (job.problems * job.features),
        score=max(scoring, 0.0) / (job.nonzeros * job.penalties),
        index=rows["fold statistics"] / narrow.shape[0],
        judge=rows["scores"] / narrow.shape[0],
    )


def measure_blocks(entries: Any, rank: int, effort: Effort) -> dict[str, float]:
    """Return what work on a block costs one core; the entries are CSR of shape (r, n)."""
    rows, n = entries.shape
    rng = np.random.default_rng(SEED)
    with threadpool_limits(1):
        single = entries[:1]
        found = {"survey": _fastest(lambda: block_work.survey(entries), effort) / entries.nnz}
        widths = [min(width, n) for width in WIDTHS]
        factors = [rng.standard_normal((n, width)) for width in widths]
        made = [
            _fastest(lambda V=V: block_work.gram_product(single, V, None), effort) for V in factors
        ]
        whole = [
            _fastest(lambda V=V: block_work.gram_product(entries, V, None), effort) for V in factors
        ]
        found["make"] = float(np.median([t / (n * w) for t, w in zip(made, widths, strict=True)]))
        # Two products, each with a part for the non-zeros and one for the columns.
        spent = np.maximum(np.subtract(whole, made), 1e-9)
        counts = 2.0 * entries.nnz * np.column_stack([np.ones(len(widths)), widths])
        (found["walk"], found["product"]), _ = nnls(counts / spent[:, None], np.ones(len(widths)))
        B = rng.standard_normal((rows, rank))
        y = rng.standard_normal((rows, 1))
        squares = rows * rank**2
        found["triangle"] = _fastest(lambda: block_work.triangle_of(B), effort) / squares
        found["moment"] = _fastest(lambda: row_statistics(B, y), effort) / squares
        found["add"] = _fastest(lambda: add(factors[1], factors[1]), effort) / factors[1].size
    return found


def measure_at(job: Job, of: Constants, effort: Effort) -> Constants:
    """Return the constants with the work on blocks measured at a job's number of features."""
    rng = np.random.default_rng(SEED)
    entries = random_block(job.rows_per_block, job.features, int(job.row_nonzeros), rng)
    # Each worker is taken to have a machine of its own.
    return replace(of, crowd=1.0, **measure_blocks(entries, job.rank, effort))


def _opening(folder: Folder, effort: Effort) -> float:
    """Seconds per byte of shards that are opened and nothing else."""
    X = BlockMatrix(folder.shards)
    X.surveyed()  # checks entries, once
    size = Job(*folder.shape, folder.row_nonzeros, folder.shards[0].rows).bytes
    return _fastest(lambda: X.run_sum(_count), effort) / size


def _client_flop(job: Job, effort: Effort) -> float:
    """Seconds per operation of orthogonalising against half a basis."""
    rng = np.random.default_rng(SEED)
    basis = rng.standard_normal((job.features, job.dimension // 2))
    block = rng.standard_normal((job.features, job.width))

    def project() -> None:
        subtract_product(block, basis, basis.T @ block)

    with threadpool_limits(1):
        return _fastest(project, effort) / (4.0 * basis.size * job.width)


def _left_out_features(rank: int, effort: Effort) -> float:
    """Seconds per problem and feature, every feature regressed on the others, one thread."""
    data = generated(2_000, effort.features, rank, 0.3)
    chosen = np.sort(
        np.random.default_rng(SEED).choice(effort.features, effort.left_out, replace=False)
    )
    problems = feature_problems(data.sketch, data.energies, chosen, alphas=2, alpha_min_ratio=0.5)
    batch = problems.batch.take(np.arange(1, problems.batch.n_instances, 2))
    settings = Settings(n_threads=1)
    solve(batch.take(slice(0, 2)), settings=settings)  # loads what is compiled
    return solve(batch, settings=settings).seconds / (effort.left_out * effort.features)


def _between_processes(workers: int, effort: Effort) -> dict[str, float]:
    """What tasks, bytes and idle processes cost."""
    size = effort.sent // DOUBLE
    with local_client(workers) as client, cluster(client):
        warm_up()
        found = {
            "client_bytes": float(peak_memory_bytes()),
            "worker_bytes": float(max(client.run(peak_memory_bytes).values())),
        }
        many = BlockMatrix.from_arrays([np.ones((1, 2))] * effort.tasks)
        one = BlockMatrix.from_arrays([np.ones((1, 2))])
        call = found["call"] = _fastest(lambda: one.run_sum(_count), effort)
        whole = _fastest(lambda: many.run_sum(_count), effort)
        found["task"] = max(whole - call, 0.0) / (2 * effort.tasks - 1)
        sent = _fastest(lambda: one.run_sum(_count, (np.ones(size),)), effort) - call
        fetched = _fastest(lambda: one.run_collect(_numbers, (size,)), effort) - call
        found["send"], found["fetch"] = (
            max(sent, 0.0) / effort.sent,
            max(fetched, 0.0) / effort.sent,
        )
        found["crowd"] = max(1.0, _crowd(client, effort))
        found["move"] = min(_moved(client, size) for _ in range(effort.repeats)) / effort.sent
    return found


def _moved(client: Any, size: int) -> float:
    """Seconds for an array to get from one worker to another."""
    first, *others = client.scheduler_info()["workers"]
    there = client.submit(np.ones, size, workers=[first], pure=False)
    client.submit(len, there, workers=[first], pure=False).result()
    start = perf_counter()
    client.submit(len, there, workers=(others or [first])[:1], pure=False).result()
    return perf_counter() - start


def _crowd(client: Any, effort: Effort) -> float:
    """Seconds of a product in all workers at once, over those in one."""
    everywhere = list(client.scheduler_info()["workers"])

    def slowest(workers: list[str]) -> float:
        size = effort.busy
        found = [client.submit(_busy, size, workers=[w], pure=False) for w in workers]
        return float(max(client.gather(found)))

    slowest(everywhere)
    alone_, together = (
        min(slowest(workers) for _ in range(effort.repeats))
        for workers in (everywhere[:1], everywhere)
    )
    return together / alone_


def _busy(size: int) -> float:
    rng = np.random.default_rng(SEED)
    entries, V = random_block(size, 2 * size, 50, rng), rng.standard_normal((2 * size, 19))
    start = perf_counter()
    for _ in range(10):
        block_work.gram_product(entries, V, None)
    return perf_counter() - start


def _count(entries: Any, *_: Any) -> int:
    return int(entries.shape[0])


def _numbers(entries: Any, size: int) -> np.ndarray:
    return np.ones(size)


def _fastest(work: Callable[[], Any], effort: Effort) -> float:
    work()
    times = []
    for _ in range(effort.repeats):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return float(min(times))
