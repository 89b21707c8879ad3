"""What a sketch and a cross-validation of data in blocks cost, from sizes alone.

Every pass over the blocks is a :class:`Pass`: what it reads, multiplies, sends and adds up. A
stage is a list of passes and work of its own; seconds are counts times :class:`Constants`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil

from benchmarks.scale.sizes import DOUBLE, INDEX, Cluster, Constants, Job
from sketchlasso.linalg.norms import BLOCK
from sketchlasso.solvers import Settings
from sketchlasso.solvers.workers import PARTS_PER_WORKER

__all__ = ["STAGES", "Pass", "Stage", "client_bytes", "row_numbers", "stages", "worker_bytes"]

STAGES = ("sketch", "radius bound", "fold statistics", "solve", "scores")


@dataclass(frozen=True)
class Pass:
    """One pass over the blocks.

    Attributes
    ----------
    counts : dict
        Work on all blocks together, by the name of its constant.
    flops : float
        Of that work.
    shared : float
        Bytes that every worker gets.
    own : float
        Bytes that travel to the blocks, each to its own.
    result : float
        Bytes of one block's result, which the tree adds up.
    collected : float
        Bytes of results that come to the client as they are.
    """

    counts: dict[str, float]
    flops: float = 0.0
    shared: float = 0.0
    own: float = 0.0
    result: float = 0.0
    collected: float = 0.0

    def network(self, job: Job, cluster: Cluster) -> float:
        """Bytes that leave a process."""
        if not cluster.workers:
            return 0.0
        apart = (job.blocks - 1) * (1 - 1 / cluster.hands)
        return cluster.hands * self.shared + self.own + self.collected + self.result * (apart + 1)

    def seconds(self, job: Job, cluster: Cluster, of: Constants) -> float:
        """Seconds of the slowest worker, and of the work before and after it."""
        hands = cluster.hands
        # Whole blocks: the last round may leave some workers without one.
        share = ceil(job.blocks / hands) / job.blocks
        work = sum(count * getattr(of, name) for name, count in self.counts.items())
        entries = self.result / DOUBLE
        found = share * (work + job.blocks * entries * of.make)
        found += (share * job.blocks + cluster.levels) * entries * of.add
        if not cluster.workers:
            return found
        found = of.crowd * found + of.call + (2 * job.blocks - 1) * of.task
        found += (self.shared + self.own) * of.send + (self.result + self.collected) * of.fetch
        # What all workers get is passed on by those that have it, and sums meet in pairs.
        moved = share * job.blocks * (1 - 1 / hands) + cluster.levels
        return found + (cluster.levels * self.shared + moved * self.result) * of.move


@dataclass(frozen=True)
class Stage:
    """Passes, and work outside of them.

    Attributes
    ----------
    name : str
    passes : list of Pass
    client : dict
        Work of the client, by the name of its constant.
    problem_features : float
        Problems times features of the solve.
    shared : float
        Bytes that every worker gets for it.
    """

    name: str
    passes: list[Pass] = field(default_factory=list)
    client: dict[str, float] = field(default_factory=dict)
    problem_features: float = 0.0
    shared: float = 0.0

    def read(self, job: Job) -> float:
        """Bytes read from shards."""
        return len(self.passes) * job.bytes

    def flops(self) -> float:
        return sum(part.flops for part in self.passes) + self.client.get("flop", 0.0)

    def network(self, job: Job, cluster: Cluster) -> float:
        own = cluster.workers * self.shared
        return own + sum(part.network(job, cluster) for part in self.passes)

    def seconds(self, job: Job, cluster: Cluster, of: Constants) -> float:
        found = sum(part.seconds(job, cluster, of) for part in self.passes)
        found += sum(count * getattr(of, name) for name, count in self.client.items())
        if not self.problem_features:
            return found
        each = of.solve_feature if job.instances else of.solve
        if not cluster.workers:
            return found + self.problem_features * each / cluster.threads
        parts = min(job.chains, PARTS_PER_WORKER * cluster.workers)
        rounds = ceil(parts / cluster.workers)
        found += of.crowd * self.problem_features * each * rounds / parts
        found += of.call + parts * of.task
        return found + self.shared * (of.send + cluster.levels * of.move)


def stages(job: Job) -> dict[str, Stage]:
    """Return the stages by name, in order."""
    n, k, w, d = job.features, job.rank, job.width, job.dimension
    row_sets = DOUBLE * job.rows  # one number or row number for every row
    # The start, and steps of which the last may be narrower.
    widths = [w] + [min(w, d - done) for done in range(0, d, w)]
    krylov = [_survey(job), *(_gram(job, columns) for columns in widths)]
    orthonormal = 4.0 * n * d**2 + 2.0 * n * d * k + 8.0 * n * k**2
    bound = BLOCK * job.radius_steps
    narrow = 4.0 * n * bound**2 + job.radius_steps * 8.0 * n * k * BLOCK
    grid = _statistics(job, 1, row_sets)
    folds = _statistics(job, 2, 2 * row_sets)
    means = Pass({"open": job.bytes}, 2 * job.nonzeros, 0.0, row_sets, DOUBLE * n * job.folds)
    predictions = DOUBLE * job.rows * job.penalties if job.collects else 0.0
    scores = Pass(
        {"open": job.bytes, "score": job.nonzeros * job.penalties},
        2 * job.nonzeros * job.penalties,
        job.folds * job.penalties * job.model_nonzeros * (DOUBLE + INDEX),
        row_sets if job.collects else 3 * row_sets,
        0.0,
        predictions,
    )
    found = (
        Stage("sketch", [*krylov, _orthogonal(job)], {"flop": orthonormal}),
        Stage("radius bound", [_gram(job, BLOCK)] * job.radius_steps, {"flop": narrow}),
        Stage("fold statistics", [grid, folds], {"index": float(job.rows)}),
        Stage("solve", [], {}, float(job.problems) * n, float(DOUBLE * n * k)),
        Stage("scores", [means, scores], {"judge": float(job.rows)}),
    )
    return {stage.name: stage for stage in found}


def _survey(job: Job) -> Pass:
    counts = {"open": job.bytes, "survey": job.nonzeros}
    return Pass(counts, 6 * job.nonzeros, result=2 * DOUBLE * job.features)


def _gram(job: Job, columns: int) -> Pass:
    """X'(X V)."""
    counts = {
        "open": job.bytes,
        "walk": 2 * job.nonzeros,
        "product": 2 * job.nonzeros * columns,
    }
    moved = float(DOUBLE * job.features * columns)
    return Pass(counts, 4 * job.nonzeros * columns, moved, 0.0, moved)


def _orthogonal(job: Job) -> Pass:
    """X'(X V) and the triangle of X V, of `rank` columns."""
    gram, squares = _gram(job, job.rank), job.rows * job.rank**2
    counts = {**gram.counts, "triangle": squares}
    return Pass(counts, gram.flops + 2 * squares, gram.shared, 0.0, gram.result)


def _statistics(job: Job, times: int, own: float) -> Pass:
    """Sums over the rows of Q = X W, every row counted so many times."""
    squares = times * job.rows * job.rank**2
    counts = {
        "open": job.bytes,
        "walk": job.nonzeros,
        "product": job.nonzeros * job.rank,
        "moment": squares,
    }
    sums = (job.folds + 1) * DOUBLE * job.rank**2 if times > 1 else DOUBLE * job.rank**2
    flops = 2 * job.nonzeros * job.rank + 2 * squares
    return Pass(counts, flops, DOUBLE * job.features * job.rank, own, sums)


def client_bytes(job: Job, cluster: Cluster, of: Constants) -> float:
    """Peak memory of the client: the largest of its stages, and its own blocks without workers."""
    n, m = DOUBLE * job.features, DOUBLE * job.rows
    # A basis, the block at work and its messages; then V, A'AV, W and P, the last two kept.
    sketching = n * max(job.dimension + 4 * job.width, 6 * job.rank)
    judging = 3 * n * job.rank + m * row_numbers(job, cluster)
    here = 0.0 if cluster.workers else _at_block(job)
    return of.client_bytes + max(sketching, judging) + here


def row_numbers(job: Job, cluster: Cluster) -> int:
    """Numbers per row that a cross-validation keeps at the client, at its peak.

    y, the rows of the folds, those of every block, and messages with them; predictions as they
    come and added up. Rounded up from runs of one and three million rows.
    """
    kept, each = (15, 3) if cluster.workers else (10, 2)
    return kept + (each * job.penalties if job.collects else 0)


def worker_bytes(job: Job, of: Constants) -> float:
    """Peak memory of a worker: at a block with V and sums, or at a part of the problems."""
    n = DOUBLE * job.features
    # V, a result, another on its way and their sum.
    walking = _at_block(job) + 4 * n * job.rank
    solving = n * job.rank + min(3 * n * job.problems, Settings().memory_budget)
    return of.worker_bytes + max(walking, solving)


def _at_block(job: Job) -> float:
    """A block as read and as a matrix, and its products."""
    rows = min(job.rows, job.rows_per_block)
    return 2 * job.block_bytes + 3 * DOUBLE * rows * job.rank
