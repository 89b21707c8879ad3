"""A large batch cut into parts that the workers of a cluster solve, P sent once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from sketchlasso.cluster import Engine, active_engine
from sketchlasso.problem.batch import Batch
from sketchlasso.solvers.settings import Endings, Progress, Settings
from sketchlasso.solvers.solution import Solution
from sketchlasso.types import FloatArray, IntArray

# work(part of a batch, settings, *more)
Work = Callable[..., Any]


def parts_for_workers(batch: Batch, chain: IntArray | None = None) -> list[IntArray] | None:
    """Return numbers of the instances of each part; None where all stay in this process.

    They are sent to workers inside a ``cluster`` with more than two instances per worker.
    Instances of a chain start from each other, and stay together.
    """
    engine = active_engine()
    if engine is None or not engine.remote or batch.n_instances <= 2:
        return None
    workers = engine.n_workers
    if batch.n_instances <= 2 * workers:
        return None
    numbers = np.arange(batch.n_instances)
    links = numbers if chain is None else np.unique(chain, return_inverse=True)[1]
    count = int(links.max()) + 1
    pieces = min(count, 4 * workers)  # more than workers, so that uneven ones even out
    if pieces < 2:
        return None
    part_of = links * pieces // count
    return [np.flatnonzero(part_of == piece) for piece in range(pieces)]


def map_parts(
    work: Work,
    parts: Sequence[IntArray],
    batch: Batch,
    settings: Settings,
    arguments: Callable[[IntArray], tuple[Any, ...]],
    endings: Endings = (),
) -> list[Any]:
    """Return ``work`` on every part, in order, with the further `arguments` of each part.

    The exceptions in `endings` end the work; parts that were not reached are None.
    """
    engine: Engine | None = active_engine()
    assert engine is not None
    factor = batch.penalty_factor if batch.penalty_factor.ndim == 1 else None
    items = [(_light(batch.take(part), factor is not None), arguments(part)) for part in parts]
    inside = replace(settings, n_threads=1, callback=None)
    results: list[Any] = [None] * len(parts)
    shared = (batch.P, factor, work, inside)
    done = 0
    try:
        with closing(engine.map(_work_on_part, items, shared)) as finished:  # type: ignore[type-var]
            for number, result in finished:
                results[number] = result
                done += len(parts[number])
                if settings.callback is not None:
                    settings.callback(Progress(done, batch.n_instances, 0, 0.0))
    except endings:
        pass
    return results


def join_solutions(
    solutions: Sequence[Solution], parts: Sequence[IntArray], seconds: float
) -> Solution:
    """Return the solutions of parts as one, in the order of the batch."""
    back = np.argsort(np.concatenate(parts), kind="stable")

    def joined(values: list[Any]) -> Any:
        return np.concatenate(values)[back]

    names = ("dual_point", "primal", "dual", "null", "status", "rounds", "steps")
    return Solution(
        coef=sparse.csr_array(sparse.vstack([s.coef for s in solutions], format="csr")[back]),
        seconds=seconds,
        solver=solutions[0].solver,
        device=solutions[0].device,
        finished_on_cpu=sum(solution.finished_on_cpu for solution in solutions),
        **{name: joined([getattr(s, name) for s in solutions]) for name in names},
    )


def _light(part: Batch, shared_factor: bool) -> Batch:
    """A part with its own roots only, and without what all parts share."""
    roots, root_of = part.roots, part.root_of
    if roots is not None:
        used, root_of = np.unique(root_of, return_inverse=True)
        roots = roots[used]
    nothing: FloatArray = np.empty((0, part.rank))
    factor = nothing[:, 0] if shared_factor else part.penalty_factor
    return replace(part, P=nothing, roots=roots, root_of=root_of, penalty_factor=factor)


def _work_on_part(
    item: tuple[Batch, tuple[Any, ...]],
    P: Any,
    factor: FloatArray | None,
    work: Work,
    settings: Settings,
) -> Any:
    part, more = item
    own = part.penalty_factor if factor is None else factor
    return work(replace(part, P=P, penalty_factor=own), settings, *more)
