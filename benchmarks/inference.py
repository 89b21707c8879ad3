"""Intervals for every coefficient: seconds beside hidimstat, and how often they cover.

Claims under test: riboflavin (71 x 4,088) takes less than 15 s on two cores, where one-by-one
regressions take minutes; 95 % intervals cover 93 to 97 % of the zero and of the non-zero
coefficients on independent, Toeplitz and equicorrelated designs. hidimstat is run by an
interpreter that has it (``--hidimstat PYTHON``).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.datasets import SEED, MissingDataError, arrays_of
from benchmarks.harness import interleave
from sketchlasso.inference import desparsified

SIZES = [100, 500, 1_000, 4_088]
M, P, STRONG, WEAK = 100, 500, 1.0, 0.3
LOWEST, HIGHEST = 0.93, 0.97
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

Design = Callable[[np.random.Generator, int, int], np.ndarray]


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


DESIGNS: dict[str, Design] = {
    "independent": lambda rng, m, p: rng.standard_normal((m, p)),
    "Toeplitz 0.6": toeplitz,
    "equicorrelated 0.3": equicorrelated,
}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sizes", type=int, nargs="*", help="features of the timings")
    parser.add_argument("--designs", nargs="*", default=list(DESIGNS), choices=list(DESIGNS))
    parser.add_argument("--sets", type=int, help="simulated sets per design (200; quick: 10)")
    parser.add_argument("--hidimstat", default=sys.executable, help="interpreter with hidimstat")


def run(options: argparse.Namespace) -> None:
    sizes = options.sizes
    if sizes is None:
        sizes = [50, 100] if options.quick else SIZES
    if sizes:
        time_sizes(options, sizes)
    sets = options.sets or (10 if options.quick else 200)
    options.report.note(
        f"coverage of 95 % intervals: {sets} sets of {M} rows and {P} features, 5 effects of "
        f"{STRONG:g} and 5 of {WEAK:g} at random places and signs, noise of one"
    )
    for name in options.designs:
        options.report.add(design=name, **covered(DESIGNS[name], sets))


def time_sizes(options: argparse.Namespace, sizes: list[int]) -> None:
    """Seconds of ours, and of hidimstat once."""
    try:
        X, y = arrays_of("riboflavin")
        X = X[:, np.argsort(-X.var(axis=0))[: max(sizes)]]
        source = "riboflavin, the most variable columns first"
    except MissingDataError:
        rng = np.random.default_rng(SEED)
        X = toeplitz(rng, 71, max(sizes))
        y, source = X[:, :5].sum(axis=1) + rng.standard_normal(71), "a Toeplitz design"
    options.report.note(f"timings: {source}, {len(y)} rows, 2 threads")
    desparsified(X[:, :30], y)  # compiles
    for p in sizes:
        part = X[:, :p]
        ours = interleave(
            {"ours": lambda part=part: desparsified(part, y, n_threads=2)},
            options.repeats,
            warm_up=False,
        )["ours"]
        peer = hidimstat_seconds(options, part, y)
        bound = float(ours.value.bias_bound.max())
        options.report.add(
            features=p, **{"ours s": ours.median, "hidimstat s": peer, "largest bias bound": bound}
        )


def hidimstat_seconds(options: argparse.Namespace, X: np.ndarray, y: np.ndarray) -> float | str:
    """Seconds that hidimstat reports of itself, or why there are none."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "X.npy", X)
        np.save(Path(folder) / "y.npy", y)
        command = [options.hidimstat, "-c", HIDIMSTAT, folder]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=options.peer_limit, check=False
            )
        except subprocess.TimeoutExpired:
            return f"> {options.peer_limit:g}"
    if done.returncode == 0:
        return float(done.stdout.split()[-1])
    return "not installed" if "No module named" in done.stderr else "failed"


def covered(design: Design, sets: int) -> dict[str, object]:
    """Share of 95 % intervals that hold the truth, by the size of the coefficient."""
    hits: dict[str, list[float]] = {"zero": [], "strong": [], "weak": []}
    width, bound = [], []
    for number in range(sets):
        rng = np.random.default_rng([SEED, number])
        X = design(rng, M, P)
        places = rng.choice(P, 10, replace=False)
        beta = np.zeros(P)
        beta[places] = np.r_[np.full(5, STRONG), np.full(5, WEAK)] * rng.choice([-1, 1], 10)
        ours = desparsified(X, X @ beta + rng.standard_normal(M))
        lower, upper = ours.interval(0.95)
        inside = (lower <= beta) & (beta <= upper)
        hits["strong"].append(float(inside[places[:5]].mean()))
        hits["weak"].append(float(inside[places[5:]].mean()))
        hits["zero"].append(float(np.delete(inside, places).mean()))
        width.append(float(np.mean(upper - lower)))
        bound.append(float(ours.bias_bound.max()))
    shares = {kind: float(np.mean(values)) for kind, values in hits.items()}
    shares["non-zero"] = (shares["strong"] + shares["weak"]) / 2
    outside = [kind for kind, share in shares.items() if not LOWEST <= share <= HIGHEST]
    return {
        **{kind: f"{share:.3f}" for kind, share in shares.items()},
        "outside 93 to 97 %": ", ".join(outside) or "none",
        "mean width": float(np.mean(width)),
        "largest bias bound": float(np.max(bound)),
    }
