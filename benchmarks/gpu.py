"""The GPU in seconds, with the floors beside them, and against the CPU of the same machine.

Words are generated, as many as the New York Times corpus has; cross-validation and leave-one-out
run on rcv1 and gisette_like where they are there. A floor is the larger of bytes over the measured
bandwidth and operations over the measured rate. Seconds are wall time of the call, arrays in the
host's memory before and after.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.datasets import SEED, MissingDataError, load
from benchmarks.harness import interleave
from benchmarks.peers import sqrt_lasso_alpha_max
from sketchlasso import Settings, cross_validate, leave_one_out, sketch, solve
from sketchlasso.engine import Batch
from sketchlasso.linalg.device import Device, open_device

RANK = 50
WORDS = 102_660


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="cuda", help="cuda, or torch for PyTorch on the CPU")
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--cpu-share", type=float, default=0.02, help="of the features, on the CPU")


def run(options: argparse.Namespace) -> None:
    device = open_device(options.device)
    if device is None:
        options.report.note("no GPU: nothing to measure; --device torch runs on the CPU")
        return
    options.bandwidth, options.rate = rates(device, options.quick)
    options.report.note(
        f"copies {options.bandwidth / 1e12:.2f} TB/s, float32 products {options.rate / 1e12:.1f} "
        "TFLOP/s, measured"
    )
    for name in options.parts:
        try:
            PARTS[name](options)
        except MissingDataError as error:
            options.report.note(f"{name}: skipped. {error}")


def rates(device: Device, quick: bool) -> tuple[float, float]:
    """Bytes per second of a copy (read and written), operations per second of a product."""
    torch, small = device.torch, quick or device.name == "cpu"
    block = torch.rand((2**20 if small else 2**29), device=device.name)
    other = torch.empty_like(block)
    side = 512 if small else 8192
    A = torch.rand((side, side), device=device.name)

    def fastest(work: Callable[[], Any]) -> float:
        times = []
        for _ in range(6):
            start = perf_counter()
            work()
            if device.name != "cpu":
                torch.cuda.synchronize()
            times.append(perf_counter() - start)
        return min(times[1:])

    copy = fastest(lambda: other.copy_(block))
    return 8.0 * len(block) / copy, 2.0 * side**3 / fastest(lambda: A @ A)


def median(work: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """Median of some runs after one that does not count, and the last value."""
    measured = interleave({"work": work}, repeats)["work"]
    return measured.median, measured.value


def feature_batch(words: int) -> Batch:
    """Every feature regressed on all others, the responses of length one.

    The factor (words, rank) is like a sketch of text: few topics per word, Zipf frequencies.
    """
    rng = np.random.default_rng(SEED)
    strength = np.sqrt(1.0 / np.arange(1, RANK + 1) ** 0.8)
    P = rng.gamma(0.1, 1.0, (words, RANK)) * rng.standard_normal((words, RANK)) * strength
    share = rng.uniform(0.05, 0.9, words) / np.arange(1, words + 1) ** 0.7
    P *= np.sqrt(share / np.sum(P**2, axis=1))[:, None]
    P = np.ascontiguousarray(P[rng.permutation(words)], dtype=np.float32)
    length = np.linalg.norm(P, axis=1)
    s = np.sqrt(rng.uniform(0.1, 0.95, words))
    c = P.astype(np.float64) / length[:, None] * np.sqrt(1 - s**2)[:, None]
    own = sparse.csr_array((np.ones(words), (np.arange(words), np.arange(words))))
    level = float(np.sort(length)[-200:][0])
    return Batch.build(P, c, s, alpha=0.3 * level, radius=0.05 * level, excluded=own)


def every_feature(options: argparse.Namespace) -> None:
    words = 3000 if options.quick else WORDS
    batch = feature_batch(words)
    there = Settings(tol=1e-4, device=options.device)
    seconds, solution = median(lambda: solve(batch, settings=there))
    # Each round multiplies the open instances with all rows and walks over the correlations.
    rounds = float(np.mean(solution.rounds + 1.0))
    moved, operations = rounds * 8.0 * words**2, rounds * 2.0 * RANK * words**2
    few = batch.take(slice(0, max(1, int(options.cpu_share * words))))
    on_cpu, _ = median(lambda: solve(few, settings=Settings(tol=1e-4)), 1)
    options.report.add(
        **{
            "work": f"{words:,} features left out in turn, k = {RANK}",
            "seconds": seconds,
            "floor": max(moved / options.bandwidth, operations / options.rate),
            "CPU seconds": on_cpu * words / few.n_instances,
            "CPU measured on": few.n_instances,
            "worst gap": float(solution.relative_gap.max()),
            "finished on CPU": solution.finished_on_cpu,
            "mean rounds": rounds,
            "mean non-zeros": float(solution.n_nonzero.mean()),
        }
    )


def folds(options: argparse.Namespace) -> None:
    split = load("rcv1", options.quick)

    def search(device: str) -> Any:
        made = sketch(split.X, rank=RANK, random_state=SEED)
        settings = Settings(tol=1e-6, device=device)
        common: dict[str, Any] = {"alphas": 100, "alpha_min_ratio": 1e-3, "radii": "0.1*spectral"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return cross_validate(made, split.X, split.y, settings=settings, **common)

    beside_cpu(
        options, "rcv1: sketch, 5 folds x 100 penalties, gap 1e-6", search, lambda s: s.mean()
    )


def every_row(options: argparse.Namespace) -> None:
    split = load("gisette_like", options.quick)
    made = sketch(split.X, rank=RANK, random_state=SEED)
    alpha = 0.05 * sqrt_lasso_alpha_max(split.X, split.y)

    def left_out(device: str) -> Any:
        settings = Settings(tol=1e-9, device=device)
        return leave_one_out(
            made, split.X, split.y, alpha=alpha, radius="0.1*spectral", settings=settings
        )

    work = f"gisette_like: each of {len(split.y):,} rows left out, gap 1e-9"
    beside_cpu(options, work, left_out, lambda result: result.predictions)


def beside_cpu(
    options: argparse.Namespace,
    work: str,
    run: Callable[[str], Any],
    values: Callable[[Any], np.ndarray],
) -> None:
    """The same work on the device and on the CPU."""
    seconds, there = median(lambda: run(options.device))
    on_cpu, here = median(lambda: run("cpu"))
    options.report.add(
        **{
            "work": work,
            "seconds": seconds,
            "CPU seconds": on_cpu,
            "worst gap": float(there.relative_gap.max()),
            "difference": float(np.nanmax(np.abs(values(there) - values(here)))),
        }
    )


PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "features": every_feature,
    "cv": folds,
    "loo": every_row,
}
