"""Sizes of a job and of a cluster, and what one unit of each kind of work costs."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2

from sketchlasso.linalg.norms import BLOCK, LARGEST_OVERESTIMATE, overestimate
from sketchlasso.sketches.radius import FAILURE_PROBABILITY
from sketchlasso.sketches.subspace import RANDOMIZED_ITERATIONS, RANDOMIZED_OVERSAMPLING

__all__ = ["DOUBLE", "INDEX", "Cluster", "Constants", "Job"]

# Bytes of an entry, and of where it stands.
DOUBLE, INDEX = 8, 4


@dataclass(frozen=True)
class Job:
    """A tall sparse matrix in blocks of rows, and what is asked of it.

    Attributes
    ----------
    rows, features : int
        m and n, m > n.
    row_nonzeros : float
        z, stored entries per row, doubles with 32-bit indices.
    rows_per_block : int
        r.
    rank : int
        k.
    folds, penalties : int
        f and a.
    instances : int
        Problems solved; folds times penalties where it is 0.
    model_nonzeros : float
        s, coefficients of a model, on average.
    collects : bool
        Whether cross-validation brings the predictions of all rows to the client.
    """

    rows: int
    features: int
    row_nonzeros: float
    rows_per_block: int
    rank: int = 50
    folds: int = 5
    penalties: int = 50
    instances: int = 0
    model_nonzeros: float = 0.0
    collects: bool = False

    @property
    def nonzeros(self) -> float:
        return self.rows * self.row_nonzeros

    @property
    def bytes(self) -> float:
        """Of all shards."""
        return self.nonzeros * (DOUBLE + INDEX) + self.rows * INDEX

    @property
    def blocks(self) -> int:
        """Number b of blocks."""
        return ceil(self.rows / self.rows_per_block)

    @property
    def block_bytes(self) -> float:
        return self.bytes / self.rows * min(self.rows, self.rows_per_block)

    @property
    def dimension(self) -> int:
        """Columns d of the Krylov basis."""
        return min(3 * self.rank + RANDOMIZED_OVERSAMPLING, self.features)

    @property
    def width(self) -> int:
        """Columns w of one step."""
        return ceil(self.dimension / RANDOMIZED_ITERATIONS)

    @property
    def radius_steps(self) -> int:
        """Steps q of the Krylov space that bounds the radius."""
        steps = 1
        while overestimate(self.features, BLOCK, steps, FAILURE_PROBABILITY) > LARGEST_OVERESTIMATE:
            steps += 1
        return steps

    @property
    def problems(self) -> int:
        return self.instances or self.folds * self.penalties

    @property
    def chains(self) -> int:
        """Problems that need not wait for each other: the folds, or single ones."""
        return self.instances or self.folds


@dataclass(frozen=True)
class Cluster:
    """Workers of one thread each; 0 is this process alone, with so many threads to solve."""

    workers: int
    threads: int = 1

    @property
    def hands(self) -> int:
        return max(self.workers, 1)

    @property
    def levels(self) -> int:
        """Levels of a tree over the workers."""
        return ceil(log2(self.hands)) if self.workers else 0


@dataclass(frozen=True)
class Constants:
    """Seconds per unit of all work that is counted, measured on one core or one connection.

    Attributes
    ----------
    open : float
        A byte of a shard, read and made a matrix.
    survey : float
        A non-zero, for sums, squares and digest.
    walk, product : float
        A non-zero, and a non-zero and column, in one of the two products of X'(X V).
    triangle, moment : float
        A row and squared column of a triangle, and of sums of squares.
    make, add : float
        A number of an (n, t) result, made by a block, and added to another.
    flop : float
        An operation of the client's dense products.
    score : float
        A non-zero and penalty of intercepts and scores, at the blocks.
    index, judge : float
        A row, of the client's work around the statistics, and around the scores.
    solve, solve_feature : float
        A feature of one of the problems of a path, and of a left-out feature's problem.
    call, task : float
        A walk over no more than one block, and every task of a larger one.
    send, fetch, move : float
        A byte from the client to a worker, back, and from worker to worker.
    crowd : float
        Factor by which workers of one machine slow each other down; 1 on machines of their own.
    client_bytes, worker_bytes : float
        Memory of an idle process.
    """

    open: float
    survey: float
    walk: float
    product: float
    triangle: float
    moment: float
    make: float
    add: float
    flop: float
    score: float
    index: float
    judge: float
    solve: float
    solve_feature: float
    call: float
    task: float
    send: float
    fetch: float
    move: float
    crowd: float
    client_bytes: float
    worker_bytes: float
