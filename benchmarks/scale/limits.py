"""Which limit a growing job reaches first, and at which size."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from benchmarks.scale.model import client_bytes, row_numbers, stages, worker_bytes
from benchmarks.scale.sizes import DOUBLE, INDEX, Cluster, Constants, Job

__all__ = ["CLIENT_MEMORY", "WORKER_MEMORY", "Limit", "limits"]

# Memory of the machines, in bytes: assumed, not measured.
CLIENT_MEMORY = 64e9
WORKER_MEMORY = 16e9


@dataclass(frozen=True)
class Limit:
    """One thing that grows with a size of the job.

    Attributes
    ----------
    what, needs : str
        In words, and as a formula.
    size : str
        What it grows with.
    at_job : float
        That size in the job.
    breaks_at : float
        Where it exceeds its limit; infinity where it never does.
    remedy : str
    """

    what: str
    needs: str
    size: str
    at_job: float
    breaks_at: float
    remedy: str

    @property
    def strain(self) -> float:
        """Above one where the limit is exceeded."""
        return self.at_job / self.breaks_at


def limits(job: Job, every_feature: Job, workers: int, of: Constants) -> list[Limit]:
    """Return the limits, the tightest first.

    Parameters
    ----------
    job : Job
        A cross-validation.
    every_feature : Job
        The same data, every feature left out in turn.
    workers : int
    of : Constants
    """
    found = [
        *_of_rows(job),
        *_of_features(job, of),
        *_of_workers(job, workers, of),
        *_of_instances(job, every_feature),
    ]
    return sorted(found, key=lambda limit: -limit.strain)


def _of_rows(job: Job) -> list[Limit]:
    free, m = CLIENT_MEMORY, float(job.rows)
    bare = replace(job, collects=False)
    kept = row_numbers(bare, Cluster(1))
    each = (row_numbers(replace(job, collects=True), Cluster(1)) - kept) // job.penalties
    when = "of `cross_validate`" if job.collects else "if requested"
    return [
        Limit(
            f"predictions of all rows and penalties, {when}",
            f"{each} x 8 m a bytes at the client",
            "rows",
            m,
            free / (each * DOUBLE * job.penalties),
            "metrics that are sums; fewer penalties; judge on a shard set aside",
        ),
        Limit(
            'the basis of `method="response"`',
            "8 m k bytes at the client",
            "rows",
            m,
            free / (DOUBLE * job.rank),
            "a sketch without y, or a response-aware one of a sample of the rows",
        ),
        Limit(
            "responses and folds",
            f"{kept} x 8 m bytes at the client",
            "rows",
            m,
            free / (kept * DOUBLE),
            "a client with more memory; `sqrt_lasso_path`, which has no folds",
        ),
    ]


def _of_features(job: Job, of: Constants) -> list[Limit]:
    n = float(job.features)
    # Both are affine in n.
    client = (client_bytes(replace(job, rows=0), Cluster(1), of) - of.client_bytes) / n
    none = worker_bytes(replace(job, features=0), of)
    worker = (worker_bytes(job, of) - none) / n
    return [
        Limit(
            "the Krylov basis",
            "8 n (d + 4 w) bytes at the client",
            "features",
            n,
            (CLIENT_MEMORY - of.client_bytes) / client,
            "float32; a smaller rank; hash the features",
        ),
        Limit(
            "V and sums of n x k in every worker",
            "4 x 8 n k bytes beside the block",
            "features",
            n,
            (WORKER_MEMORY - none) / worker,
            "float32; smaller blocks; hash the features",
        ),
    ]


def _of_workers(job: Job, workers: int, of: Constants) -> list[Limit]:
    sketch = stages(job)["sketch"]
    free = replace(of, task=0.0, call=0.0)
    still = replace(of, send=0.0, move=0.0, fetch=0.0, add=0.0)
    bare = replace(still, task=0.0, call=0.0)

    def half(loaded: Constants) -> float:
        """Workers from which on the rest takes longer than the work on blocks."""
        count = 1
        # More workers than blocks have nothing to do.
        while count <= job.blocks:
            cluster = Cluster(count)
            whole, work = (sketch.seconds(job, cluster, c) for c in (loaded, bare))
            if whole > 2 * work:
                return float(count)
            count *= 2
        return math.inf

    return [
        Limit(
            "moving V and sums of n x w: half of the sketch's time",
            "8 n w (send + fetch + (b / W + 2 log2(W)) move) seconds per pass",
            "workers",
            float(workers),
            half(free),
            'larger blocks; float32; a smaller rank; `method="projection"`, a single product',
        ),
        Limit(
            "the scheduler: half of the sketch's time",
            "2 b tasks per pass",
            "workers",
            float(workers),
            half(still),
            'larger blocks; `method="krylov"`, fewer and wider passes',
        ),
    ]


def _of_instances(job: Job, every_feature: Job) -> list[Limit]:
    each = job.model_nonzeros * (DOUBLE + INDEX) + 3 * DOUBLE * job.rank
    responses = every_feature.problems / (job.folds * job.penalties)
    return [
        Limit(
            "solutions",
            "12 s + 24 k bytes per instance at the client",
            "instances",
            float(every_feature.problems),
            CLIENT_MEMORY / each,
            "`TopicImager.image_all`, whose parts go to disk",
        ),
        Limit(
            f"{every_feature.problems:,} instances made of responses, f a each",
            "8 m bytes per response at the client",
            "responses",
            responses,
            CLIENT_MEMORY / (DOUBLE * job.rows),
            "instances from the sketch alone (features, radii); a few responses at a time",
        ),
    ]
