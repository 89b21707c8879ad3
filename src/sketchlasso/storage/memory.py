"""Free memory, for comparison with what a file declares."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["free_memory", "in_words"]

STATUS = Path("/proc/self/statm")
MEMORY = Path("/proc/meminfo")
# Limit and use of the container that the process runs in, where there is one.
GROUP = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current"))


def free_memory() -> int:
    """Return the bytes that this process can still allocate, or sys.maxsize where unknown.

    The smallest of what the machine has available, what the limit on the address space
    (``ulimit -v``) leaves, and what the control group leaves.
    """
    return max(0, min(_machine(), _address_space(), _group()))


def in_words(amount: float) -> str:
    """Return bytes as a short text, such as 1.5 GB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.3g} {unit}"
        amount /= 1000
    return f"{amount:.3g} TB"


def _machine() -> int:
    try:
        for line in MEMORY.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on Windows
        return sys.maxsize


def _address_space() -> int:
    try:
        import resource
    except ImportError:  # not on Windows
        return sys.maxsize
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return sys.maxsize
    try:
        return limit - int(STATUS.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return limit


def _group() -> int:
    try:
        limit, used = (int(path.read_text()) for path in GROUP)
    except (OSError, ValueError):  # no such group, or "max"
        return sys.maxsize
    return limit - used
