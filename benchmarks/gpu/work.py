"""The jobs: every feature left out, a sketch, folds, every row left out."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.catalogue import MissingDataError
from benchmarks.cv import sqrt_lasso_alpha_max
from benchmarks.datasets import SEED, load
from benchmarks.gpu.floors import Floors
from benchmarks.harness import interleave
from benchmarks.report import Report
from sketchlasso import Settings, cross_validate, leave_one_out, sketch, solve
from sketchlasso.engine import Batch

RANK = 50
WORDS = 102_660


def timed(work: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """Median of some runs after one that does not count, and what the last returned."""
    measured = interleave({"work": work}, repeats)["work"]
    return measured.median, measured.value


def text_like_factor(words: int, rng: np.random.Generator) -> np.ndarray:
    """Rows (words, rank) as in a sketch of text: few topics per word, Zipf frequencies."""
    strength = np.sqrt(1.0 / np.arange(1, RANK + 1) ** 0.8)
    P = rng.gamma(0.1, 1.0, (words, RANK)) * rng.standard_normal((words, RANK)) * strength
    share = rng.uniform(0.05, 0.9, words) / np.arange(1, words + 1) ** 0.7
    P *= np.sqrt(share / np.sum(P**2, axis=1))[:, None]
    return np.ascontiguousarray(P[rng.permutation(words)], dtype=np.float32)


def feature_batch(words: int) -> Batch:
    """Every feature regressed on all others, the responses of length one."""
    rng = np.random.default_rng(SEED)
    P = text_like_factor(words, rng)
    length = np.linalg.norm(P, axis=1)
    s = np.sqrt(rng.uniform(0.1, 0.95, words))
    c = P.astype(np.float64) / length[:, None] * np.sqrt(1 - s**2)[:, None]
    own = sparse.csr_array((np.ones(words), (np.arange(words), np.arange(words))))
    level = float(np.sort(length)[-200:][0])
    return Batch.build(P, c, s, alpha=0.3 * level, radius=0.05 * level, excluded=own)


def every_feature(options: argparse.Namespace, floors: Floors, report: Report) -> None:
    words = 3000 if options.quick else WORDS
    batch = feature_batch(words)
    seconds, found = timed(lambda: solve(batch, settings=on(options, 1e-4)))
    # Each round multiplies the open instances with all rows and walks over the correlations.
    rounds = float(np.mean(found.rounds + 1.0))
    floor = floors.seconds(rounds * 8.0 * words**2, rounds * 2.0 * RANK * words**2)
    few = batch.take(slice(0, max(1, int(options.cpu_share * words))))
    on_cpu, _ = timed(lambda: solve(few, settings=Settings(tol=1e-4)), 1)
    report.add(
        **{
            "work": f"{words:,} features left out in turn, k = {RANK}",
            "seconds": seconds,
            "floor": floor,
            "CPU seconds": on_cpu * words / few.n_instances,
            "CPU measured on": few.n_instances,
            "worst gap": float(found.relative_gap.max()),
            "finished on CPU": found.finished_on_cpu,
            "mean rounds": rounds,
            "mean Newton steps": float(found.steps.mean()),
            "mean non-zeros": float(found.n_nonzero.mean()),
        }
    )


def folds(options: argparse.Namespace, floors: Floors, report: Report) -> None:
    split = _loaded("rcv1", options, report)
    if split is None:
        return
    common = {"alphas": 100, "alpha_min_ratio": 1e-3, "radii": "0.1*spectral"}
    for tol in (1e-4, 1e-6):
        times, scores, gaps = {}, {}, {}
        for device in (options.device, "cpu"):

            def both(device: str = device, tol: float = tol) -> Any:
                made = sketch(split.X, rank=RANK, random_state=SEED)
                settings = Settings(tol=tol, device=device)
                return cross_validate(made, split.X, split.y, settings=settings, **common)

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                times[device], found = timed(both)
            scores[device], gaps[device] = found.mean(), float(found.relative_gap.max())
        report.add(
            **{
                "work": f"rcv1: sketch, 5 folds x 100 penalties, gap {tol:g}",
                "seconds": times[options.device],
                "CPU seconds": times["cpu"],
                "worst gap": gaps[options.device],
                "difference": float(np.nanmax(np.abs(scores[options.device] - scores["cpu"]))),
            }
        )


def every_row(options: argparse.Namespace, floors: Floors, report: Report) -> None:
    split = _loaded("gisette_like", options, report)
    if split is None:
        return
    made = sketch(split.X, rank=RANK, random_state=SEED)
    alpha = 0.05 * sqrt_lasso_alpha_max(split.X, split.y)
    times, found = {}, {}
    for device in (options.device, "cpu"):
        settings = Settings(tol=1e-9, device=device)
        times[device], found[device] = timed(
            lambda settings=settings: leave_one_out(
                made, split.X, split.y, alpha=alpha, radius="0.1*spectral", settings=settings
            )
        )
    there, here = (found[device].predictions for device in (options.device, "cpu"))
    report.add(
        **{
            "work": f"gisette_like: each of {len(here):,} rows left out, gap 1e-9",
            "seconds": times[options.device],
            "CPU seconds": times["cpu"],
            "worst gap": float(found[options.device].relative_gap.max()),
            "difference": float(np.abs(there - here).max()),
        }
    )


def crossover(options: argparse.Namespace, floors: Floors, report: Report) -> None:
    """From which sizes on the device is faster: instances and features."""
    for words in (2000,) if options.quick else (5_000, 50_000):
        whole = feature_batch(words)
        for count in (10, 100) if options.quick else (10, 100, 1000, 5000):
            few = whole.take(slice(0, count))
            there, _ = timed(lambda few=few: solve(few, settings=on(options, 1e-4)))
            here, _ = timed(lambda few=few: solve(few, settings=Settings(tol=1e-4)))
            report.add(
                **{
                    "work": f"crossover: {count:,} problems of {words:,} features",
                    "seconds": there,
                    "CPU seconds": here,
                }
            )


def on(options: argparse.Namespace, tol: float) -> Settings:
    return Settings(tol=tol, device=options.device)


def _loaded(name: str, options: argparse.Namespace, report: Report) -> Any:
    try:
        return load(name, options.quick)
    except MissingDataError as error:
        report.note(f"{name}: skipped. {error}")
        return None
