"""A sketch and a cross-validation of shards, timed stage by stage in a process of their own."""

from __future__ import annotations

import logging
import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.datasets import SEED
from benchmarks.machine import peak_memory_bytes
from benchmarks.scale.data import Folder
from sketchlasso import Settings, cross_validate, sketch
from sketchlasso.cluster import cluster
from sketchlasso.io import BlockMatrix

__all__ = ["RADIUS", "Measured", "alone", "local_client", "run_job", "warm_up"]

RADIUS, RATIO = "0.1*spectral", 0.01


@dataclass(frozen=True)
class Measured:
    """One run.

    Attributes
    ----------
    seconds, passes, at_client : dict
        By stage; seconds at the client are those between the walks.
    meter : int
        ``Sketch.cost.passes`` of the sketch without its radius.
    client_bytes, worker_bytes : float
        Largest resident size; NaN without workers.
    collects : bool
        Whether predictions of all rows came to the client.
    non_zeros : float
        Mean number of coefficients of a model.
    solved : bool
    scores : list of float
        Mean squared errors, to compare engines.
    """

    seconds: dict[str, float]
    passes: dict[str, int]
    at_client: dict[str, float]
    meter: int
    client_bytes: float
    worker_bytes: float
    collects: bool
    non_zeros: float
    solved: bool
    scores: list[float]


def alone(work: Callable[..., Any], *arguments: Any) -> Any:
    """Return ``work(*arguments)`` from a fresh process, whose peak memory is its own."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(work, *arguments).result()


@contextmanager
def local_client(workers: int) -> Iterator[Any]:
    """A client of so many worker processes of one thread."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
        ) as local,
        Client(local, set_as_default=False) as client,
    ):
        yield client


def run_job(
    folder: Folder, rank: int, folds: int, penalties: int, workers: int, threads: int
) -> Measured:
    """Time every stage, after a small run that loads what is compiled.

    BLAS has one thread, here as in the workers: waiting threads would take the workers' cores.
    """
    options = {"cv": folds, "alphas": penalties, "radii": RADIUS, "alpha_min_ratio": RATIO}
    options["settings"] = Settings(n_threads=threads)
    with threadpool_limits(1):
        if not workers:
            return _run(folder, rank, options, "sequential")
        with local_client(workers) as client:
            return _run(folder, rank, options, client)


def _run(folder: Folder, rank: int, options: dict[str, Any], scheduler: Any) -> Measured:
    with cluster(scheduler) as engine:
        warm_up()
        walks = _recorded(engine)
        X, y = folder.matrix(), folder.y()
        seconds, passes = {}, {}

        start = perf_counter()
        made = sketch(X, rank=rank, radius=0.0, random_state=SEED)
        seconds["sketch"], passes["sketch"] = perf_counter() - start, len(walks)

        walks.clear()
        start = perf_counter()
        made = made.with_spectral_radius(X)
        seconds["radius bound"], passes["radius bound"] = perf_counter() - start, len(walks)

        walks.clear()
        start = perf_counter()
        found = cross_validate(made, X, y, **options)
        whole = perf_counter() - start
        # Statistics for the grid and for the folds; then intercepts and scores.
        passes["fold statistics"], passes["scores"] = 2, len(walks) - 2
        seconds["fold statistics"] = walks[1].end - start
        seconds["solve"] = found.seconds
        seconds["scores"] = whole - found.seconds - seconds["fold statistics"]
        at_client = {
            name: seconds[name] - sum(walk.end - walk.start for walk in part)
            for name, part in (("fold statistics", walks[:2]), ("scores", walks[2:]))
        }
        largest = np.nan
        if not isinstance(scheduler, str):
            largest = max(scheduler.run(peak_memory_bytes).values())
    return Measured(
        seconds,
        passes,
        at_client,
        made.cost.passes,
        peak_memory_bytes(),
        largest,
        isinstance(found.predictions, np.ndarray),
        float(found.n_nonzero.mean()),
        bool((found.relative_gap <= options["settings"].tol).all()),
        found.mean().ravel().tolist(),
    )


def warm_up() -> None:
    """A small run of everything, so that no stage pays for loading the compiled solver."""
    rng = np.random.default_rng(SEED)
    blocks = [rng.standard_normal((60, 30)) for _ in range(4)]
    X = BlockMatrix.from_arrays(blocks)
    y = np.concatenate([block[:, 0] for block in blocks]) + rng.standard_normal(240)
    made = sketch(X, rank=4, random_state=SEED)
    cross_validate(made, X, y, cv=5, alphas=10, radii=RADIUS)


@dataclass(frozen=True)
class _Walk:
    start: float
    end: float


def _recorded(engine: Any) -> list[_Walk]:
    """When every walk over the blocks began and ended, from now on."""
    walks: list[_Walk] = []

    def timed(walk: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **named: Any) -> Any:
            start = perf_counter()
            found = walk(*arguments, **named)
            walks.append(_Walk(start, perf_counter()))
            return found

        return called

    for name in ("sum", "collect"):
        setattr(engine, name, timed(getattr(engine, name)))
    return walks
