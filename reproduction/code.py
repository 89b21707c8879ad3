"""Digests of the code behind an experiment: results of other code are computed again."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import sketchlasso as sl

__all__ = ["code_digest"]

LIBRARY = Path(sl.__file__).parent
HERE = Path(__file__).parent
# What computes; the other files only write the report.
SHARED = (
    "benchmarks/catalogue.py",
    "benchmarks/conic.py",
    "benchmarks/cv.py",
    "benchmarks/datasets.py",
    "benchmarks/harness.py",
    "benchmarks/topics/corpora.py",
    "benchmarks/topics/npmi.py",
    "reproduction/baselines.py",
    "reproduction/contenders.py",
    "reproduction/data.py",
    "benchmarks/pipeline.py",
)


def code_digest(name: str) -> str:
    """Digest of the code behind an experiment: the library, what experiments share, its file."""
    own = HERE / "experiments" / f"{name}.py"
    files = [*(HERE.parent / shared for shared in SHARED), *([own] if own.exists() else [])]
    digest = hashlib.sha256(_library_digest().encode())
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


@cache
def _library_digest() -> str:
    digest = hashlib.sha256(sl.__version__.encode())
    for file in sorted(LIBRARY.rglob("*.py")):
        if "interfaces" not in file.relative_to(LIBRARY).parts:
            digest.update(file.read_bytes())
    return digest.hexdigest()
