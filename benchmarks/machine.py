"""Facts about the machine and the software, so that a figure can be interpreted later."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

PACKAGES = (
    "sketchlasso",
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "celer",
    "skglm",
    "clarabel",
)
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


def machine_facts() -> dict[str, Any]:
    """CPU, memory, BLAS, versions, and how busy the machine was before the start."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "cpu": _cpu_model(),
        "cores": _usable_cores(),
        "memory_gib": round(_memory_bytes() / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "blas": [
            f"{library['internal_api']} {library.get('version')}, {library['num_threads']} threads"
            for library in threadpool_info()
            if library["user_api"] == "blas"
        ],
        "thread_variables": {
            name: os.environ[name] for name in THREAD_VARIABLES if name in os.environ
        },
        "load_before": round(os.getloadavg()[0], 2),
        "revision": _revision(),
    }


def peak_memory_bytes() -> int:
    """Largest resident size of this process so far."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    for line in lines:
        # The usual counter starts at the size of the process that started this one.
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _revision() -> str | None:
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "--verify", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
