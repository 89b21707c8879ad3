"""Data larger than memory: sketch and cross-validation under a limit that the system enforces.

A data set is generated as npy shards. One process may have so much address space and no more
(RLIMIT_AS, what ``ulimit -v`` sets): it reads the shards in blocks, sketches and cross-validates
them. Another, without a limit, does the same with all of X in memory. The answers have to agree.

    python -m benchmarks out_of_core                      # 1.5 GB of address space, 6.4 GB of data
    python -m benchmarks out_of_core --limit 2GB --data 16GB
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

THREAD_VARIABLES = [f"{name}_NUM_THREADS" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")]
COLUMNS = 1000
SHARD = 100_000_000
SIZE = {"kB": 1e3, "MB": 1e6, "GB": 1e9}
AGREES = 1e-8


def size_of(text: str) -> int:
    return int(float(text[:-2]) * SIZE[text[-2:]])


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", default="1.5GB", help="address space of the process")
    parser.add_argument("--data", help="bytes of X; just above four times the limit by default")
    parser.add_argument("--memory", default="200MB", help="budget of a block, of read_shards")
    parser.add_argument("--folder", type=Path, help="where the shards go; removed afterwards")


def generate(folder: Path, n_bytes: int, seed: int = 0, shard: int = SHARD) -> None:
    """Write X, a few strong directions and noise, and y; X as npy files of `shard` bytes each."""
    rng = np.random.default_rng(seed)
    directions = rng.standard_normal((8, COLUMNS))
    rows = shard // (8 * COLUMNS)
    y = []
    (folder / "X").mkdir()
    for number in range(-(-n_bytes // shard)):
        X = rng.standard_normal((rows, COLUMNS))
        X += (3.0 * rng.standard_normal((rows, 8))) @ directions
        y.append(X[:, :4] @ np.array([2.0, -1.0, 1.0, 0.5]) + rng.standard_normal(rows))
        np.save(folder / "X" / f"part-{number}.npy", X)
    np.save(folder / "y.npy", np.concatenate(y))


def answer(X: Any, y: Any) -> dict[str, Any]:
    """What is compared: the sketch, and five-fold cross-validation of ten penalties on it."""
    import sketchlasso as sl

    found = sl.sketch(X, rank=15, method="krylov", n_iter=1, center=True, random_state=0)
    judged = sl.cross_validate(
        found, X, y, cv=5, alphas=10, alpha_min_ratio=0.01, radii=[0.0, 3.0 * found.radius]
    )
    best = judged.best()
    return {
        "radius": found.radius,
        "singular_values": found.singular_values.tolist(),
        "scores": judged.scores["mse"].ravel().tolist(),
        "alpha": best.alpha,
        "passes": found.cost.passes,
    }


def worker(folder: Path, memory: str, limit: int, extra: int) -> dict[str, Any]:
    """Run the answer on the shards, in blocks under a limit or, without one, in memory."""
    from sketchlasso.cluster import cluster
    from sketchlasso.io import BlockMatrix, read_shards

    y = np.load(folder / "y.npy")
    rng = np.random.default_rng(0)
    small = rng.standard_normal((300, 40))
    answer(BlockMatrix.from_arrays([small[:100], small[100:]]), small[:, 0])  # compiles
    in_blocks = bool(limit or extra)
    if extra:
        limit = _status("VmSize") + extra
    if in_blocks:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        _check_enforced(limit)
    start = perf_counter()
    if in_blocks:
        shards = read_shards(folder / "X", memory=memory)
        with cluster("sequential"):
            found = answer(shards.X, y)
    else:
        parts = [np.load(path, mmap_mode="r") for path in read_shards(folder / "X").paths]
        found = answer(np.concatenate(parts), y)
    return {
        **found,
        "seconds": perf_counter() - start,
        "limit": limit,
        "peak": _status("VmPeak"),
        "resident": _status("VmHWM"),
    }


def _check_enforced(limit: int) -> None:
    try:
        np.ones(limit // 8)
    except MemoryError:
        return
    raise SystemExit("the limit is not enforced here")


def _status(key: str) -> int:
    """Memory of this process as Linux reports it, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    raise SystemExit(f"/proc/self/status has no {key}")


def in_process(folder: Path, memory: str, limit: int = 0, extra: int = 0) -> dict[str, Any]:
    """Run the worker in a fresh interpreter; `extra` is what it may have beyond its imports."""
    program = (
        "import json, sys; from pathlib import Path; from benchmarks.out_of_core import worker; "
        "print(json.dumps(worker(Path(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:]))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder), memory, str(limit), str(extra)],
        cwd=Path(__file__).parents[1],
        # A thread's stack and buffers count as address space; one is enough for the proof.
        env={**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def difference(one: dict[str, Any], other: dict[str, Any]) -> float:
    """Largest relative difference of two answers."""
    worst = 0.0
    for key in ("radius", "singular_values", "scores", "alpha"):
        a, b = np.atleast_1d(one[key]), np.atleast_1d(other[key])
        worst = max(worst, float(np.abs(a - b).max() / np.abs(b).max()))
    return worst


def run(options: argparse.Namespace) -> None:
    report = options.report
    limit = size_of("1GB" if options.quick else options.limit)
    total = size_of(options.data) if options.data else int(4.2 * limit)
    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        folder = Path(place)
        generate(folder, total)
        limited = in_process(folder, options.memory, limit)
        free = in_process(folder, options.memory)
    for how, found in (("in blocks, limited", limited), ("in memory", free)):
        report.add(
            **{
                "X": how,
                "data GB": total / 1e9,
                "limit GB": found["limit"] / 1e9 or None,
                "address space GB": found["peak"] / 1e9,
                "resident GB": found["resident"] / 1e9,
                "seconds": found["seconds"],
            }
        )
    apart = difference(limited, free)
    report.note(f"largest relative difference of the answers: {apart:.1e}; goal: {AGREES:.0e}")
    report.note(f"blocks within memory={options.memory}; one thread on both sides")
    if apart > AGREES:
        raise SystemExit(f"the answers differ by {apart:.1e}")
