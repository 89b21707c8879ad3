"""Facts about the machine and the code, so that a figure can be read later."""

from __future__ import annotations

import hashlib
import os
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import sketchlasso as sl
from sketchlasso.interfaces.paper.experiment import Results

__all__ = ["code_digest", "machine_facts"]

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "clarabel", "celer", "skglm")
ROOT = Path(sl.__file__).parent
HERE = Path(__file__).parent
# What computes; the rest of the interfaces only tells.
SHARED = (
    "baselines.py",
    "coherence.py",
    "contenders.py",
    "contest.py",
    "data.py",
    "modelling.py",
    "timing.py",
)


def machine_facts() -> Results:
    """CPU, cores, memory, versions, and how busy the machine was."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "memory_gib": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "sketchlasso": sl.__version__,
        "packages": {name: _version(name) for name in PACKAGES},
        "load_before": None if load is None else round(load, 2),
    }


def code_digest(name: str) -> str:
    """Digest of the code behind an experiment: the library, what experiments share, its file."""
    own = HERE / "experiments" / f"{name}.py"
    files = [*(HERE / shared for shared in SHARED), *([own] if own.exists() else [])]
    digest = hashlib.sha256(_library_digest().encode())
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


@cache
def _library_digest() -> str:
    digest = hashlib.sha256(sl.__version__.encode())
    for file in sorted(ROOT.rglob("*.py")):
        if "interfaces" not in file.relative_to(ROOT).parts:
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def _memory() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, OSError, ValueError):
        return None


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
