"""Intervals for every coefficient: seconds beside hidimstat and hdi, and how often they cover.

Claims under test: riboflavin (71 x 4,088) takes less than 15 s on two cores, where one-by-one
regressions take minutes; 95 % intervals cover 93 to 97 % of the zero and of the non-zero
coefficients on independent, Toeplitz and equicorrelated designs. hidimstat is run by an
interpreter that has it (``--hidimstat PYTHON``), hdi by Rscript; both only where they are there.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.catalogue import MissingDataError, arrays_of
from benchmarks.datasets import SEED
from benchmarks.report import Report
from sketchlasso.inference import desparsified

SIZES = [100, 500, 1_000, 4_088]
QUICK_SIZES = [50, 100]
M, P, STRONG, WEAK = 100, 500, 1.0, 0.3
WANTED = (0.93, 0.97)
HIDIMSTAT = """
import sys, time
import numpy as np
from hidimstat import DesparsifiedLasso
X, y = np.load(sys.argv[1] + "/X.npy"), np.load(sys.argv[1] + "/y.npy")
start = time.perf_counter()
model = DesparsifiedLasso(n_jobs=2, random_state=0).fit(X, y)
model.importance()
print(time.perf_counter() - start)
"""
HDI = """
suppressMessages(library(hdi))
folder <- commandArgs(trailingOnly = TRUE)[1]
x <- as.matrix(read.csv(file.path(folder, "X.csv"), header = FALSE))
y <- scan(file.path(folder, "y.csv"), quiet = TRUE)
cat(system.time(lasso.proj(x, y, parallel = TRUE, ncores = 2))["elapsed"])
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sizes", type=int, nargs="*", help="features of the timings")
    parser.add_argument("--designs", nargs="*", default=list(DESIGNS), choices=list(DESIGNS))
    parser.add_argument("--sets", type=int, help="simulated sets per design (200; quick: 10)")
    parser.add_argument("--hidimstat", default=sys.executable, help="interpreter with hidimstat")
    parser.add_argument("--no-peers", action="store_true")


def run(options: argparse.Namespace) -> None:
    report = options.report
    sizes = options.sizes if options.sizes is not None else SIZES
    if options.quick and options.sizes is None:
        sizes = QUICK_SIZES
    if sizes:
        time_sizes(options, sizes)
    sets = options.sets or (10 if options.quick else 200)
    if options.designs:
        report.note(
            f"coverage of 95 % intervals: {sets} sets of {M} rows and {P} features, 5 effects of "
            f"{STRONG:g} and 5 of {WEAK:g} at random places and signs, noise of one"
        )
    for name in options.designs:
        cover(report, name, sets)


def time_sizes(options: argparse.Namespace, sizes: list[int]) -> None:
    """Seconds of ours, and of peers once each."""
    X, y, source = wide_data(max(sizes))
    options.report.note(f"timings: {source}, the most variable columns first, 2 threads")
    desparsified(X[:, :30], y)  # compiles
    for p in sizes:
        part = X[:, :p]
        seconds = []
        for _ in range(options.repeats):
            start = perf_counter()
            found = desparsified(part, y, n_threads=2)
            seconds.append(perf_counter() - start)
        row: dict[str, object] = {"features": p, "ours s": float(np.median(seconds))}
        if not options.no_peers:
            row["hidimstat s"] = peer_seconds(options, part, y, hidimstat_command)
            row["hdi s"] = peer_seconds(options, part, y, hdi_command)
        options.report.add(**row, **{"largest bias bound": float(found.bias_bound.max())})


def wide_data(p: int) -> tuple[np.ndarray, np.ndarray, str]:
    """Riboflavin, columns in order of their variance, or simulated data where it is missing."""
    try:
        X, y = arrays_of("riboflavin")
        return X[:, np.argsort(-X.var(axis=0))[:p]], y, f"riboflavin ({len(y)} rows)"
    except MissingDataError:
        rng = np.random.default_rng(SEED)
        X = toeplitz(rng, 71, p)
        return X, X[:, :5].sum(axis=1) + rng.standard_normal(71), "a Toeplitz design (71 rows)"


def hidimstat_command(options: argparse.Namespace, folder: str) -> list[str]:
    return [options.hidimstat, "-c", HIDIMSTAT, folder]


def hdi_command(options: argparse.Namespace, folder: str) -> list[str]:
    return [shutil.which("Rscript") or "Rscript", "-e", HDI, folder]


def peer_seconds(
    options: argparse.Namespace,
    X: np.ndarray,
    y: np.ndarray,
    command: Callable[[argparse.Namespace, str], list[str]],
) -> float | str:
    """Seconds that a peer reports of itself, or why there are none."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "X.npy", X)
        np.save(Path(folder) / "y.npy", y)
        np.savetxt(Path(folder) / "X.csv", X, delimiter=",")
        np.savetxt(Path(folder) / "y.csv", y)
        try:
            done = subprocess.run(
                command(options, folder),
                capture_output=True,
                text=True,
                timeout=options.peer_limit,
                check=False,
            )
        except FileNotFoundError:
            return "not installed"
        except subprocess.TimeoutExpired:
            return f"> {options.peer_limit:g}"
    if done.returncode == 0:
        return float(done.stdout.split()[-1])
    absent = "No module named" in done.stderr or "no package called" in done.stderr
    return "not installed" if absent else "failed"


def independent(rng: np.random.Generator, m: int, p: int) -> np.ndarray:
    return rng.standard_normal((m, p))


def toeplitz(rng: np.random.Generator, m: int, p: int) -> np.ndarray:
    """Neighbours correlate at 0.6."""
    X = rng.standard_normal((m, p))
    for j in range(1, p):
        X[:, j] = 0.6 * X[:, j - 1] + 0.8 * X[:, j]
    return X


def equicorrelated(rng: np.random.Generator, m: int, p: int) -> np.ndarray:
    """All columns correlate at 0.3."""
    shared = rng.standard_normal((m, 1))
    return np.sqrt(0.7) * rng.standard_normal((m, p)) + np.sqrt(0.3) * shared


DESIGNS = {
    "independent": independent,
    "Toeplitz 0.6": toeplitz,
    "equicorrelated 0.3": equicorrelated,
}


def cover(report: Report, name: str, sets: int) -> None:
    """Share of 95 % intervals that hold the truth, by the size of the coefficient."""
    hits: dict[str, list[float]] = {"zero": [], "strong": [], "weak": []}
    width, bound = [], []
    for number in range(sets):
        rng = np.random.default_rng([SEED, number])
        X = DESIGNS[name](rng, M, P)
        places = rng.choice(P, 10, replace=False)
        beta = np.zeros(P)
        beta[places] = np.r_[np.full(5, STRONG), np.full(5, WEAK)] * rng.choice([-1, 1], 10)
        found = desparsified(X, X @ beta + rng.standard_normal(M))
        lower, upper = found.interval(0.95)
        inside = (lower <= beta) & (beta <= upper)
        hits["strong"].append(float(inside[places[:5]].mean()))
        hits["weak"].append(float(inside[places[5:]].mean()))
        hits["zero"].append(float(np.delete(inside, places).mean()))
        width.append(float(np.mean(upper - lower)))
        bound.append(float(found.bias_bound.max()))
    shares = {kind: float(np.mean(values)) for kind, values in hits.items()}
    nonzero = (shares["strong"] + shares["weak"]) / 2
    short = [k for k, v in {**shares, "non-zero": nonzero}.items() if not within(v)]
    report.add(
        **{
            "design": name,
            "zero": f"{shares['zero']:.3f}",
            "non-zero": f"{nonzero:.3f}",
            "strong": f"{shares['strong']:.3f}",
            "weak": f"{shares['weak']:.3f}",
            "outside 93 to 97 %": ", ".join(short) or "none",
            "mean width": float(np.mean(width)),
            "largest bias bound": float(np.max(bound)),
        }
    )


def within(share: float) -> bool:
    return WANTED[0] <= share <= WANTED[1]
