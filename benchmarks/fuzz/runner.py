"""Running a command on a file in a child process, within limits, and judging how it ended.

A child is forked from this process, which has imported everything, and runs the command
`sketchlasso` as the shell would. These outcomes are accepted:

- exit 0 or 1: the file can still be used (1: solved, but less accurately than asked); not
  accepted where the fault is one that must be refused;
- exit 3: the file is refused, in one sentence;
- exit 2: the file is in order but its data cannot be used (text where numbers belong, a count
  below zero, no such column), in one sentence; not accepted from `info`, which reads the
  library's own files alone, nor where the fault must be refused with exit 3.

A signal, a traceback, more than SECONDS of processor time, more memory than allowed, another exit
code, or more or less than one sentence on stderr is a finding.
"""

from __future__ import annotations

import faulthandler
import functools
import math
import os
import re
import resource
import select
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.fuzz.samples import FILE, OUT, Sample

__all__ = ["MEMORY", "SECONDS", "Case", "Outcome", "run_case", "warm"]

# Of processor time, and by the clock: other work on the machine must not look like a hang.
SECONDS, PATIENCE = 10, 120
# Address space that a child may take beyond what it was born with.
MEMORY = 1 << 30
ACCEPTED = {0, 1, 2, 3}
# What a sentence on stderr looks like, after progress that a command reports on its way.
SENTENCE = re.compile(r"sketchlasso: [^\n]*\.\n")


@dataclass(frozen=True)
class Case:
    """A mutated file and the command to read it.

    Attributes
    ----------
    sample : Sample
    fault : str
        What was done to the file.
    content : callable
        Makes the file.
    command : tuple of str
    refused : tuple of int
        Exit codes that are accepted where the fault must be refused; empty for any outcome.
    """

    sample: Sample
    fault: str
    content: Callable[[], bytes]
    command: tuple[str, ...]
    refused: tuple[int, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """How a command ended.

    Attributes
    ----------
    code : int or None
        Exit code; None after a signal.
    seconds : float
        Of processor time.
    memory : int
        Bytes that were resident at most.
    finding : str or None
        What is wrong with it.
    message : str
        What was written to stderr.
    """

    code: int | None
    seconds: float
    memory: int
    finding: str | None
    message: str


def run_case(case: Case, folder: Path) -> Outcome:
    """Write the file of a case, run its command and judge the outcome."""
    path = folder / case.sample.path.name
    path.write_bytes(case.content())
    stderr_path = folder / "stderr"
    arguments = _arguments(case.command, path, folder)
    child = os.fork()
    if child == 0:
        _child(arguments, stderr_path)  # does not return
    late = not _ended(child)
    if late:
        os.kill(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    message = stderr_path.read_text(encoding="utf-8", errors="replace")
    memory = usage.ru_maxrss * 1024
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
    seconds = usage.ru_utime + usage.ru_stime
    finding = f"over {PATIENCE} s by the clock" if late else None
    finding = finding or _finding(case, status, seconds, message)
    return Outcome(code, seconds, memory, finding, message)


def warm(command: tuple[str, ...], path: Path, folder: Path) -> None:
    """Run a command here, in silence, so that children of this process find its code loaded."""
    with open(os.devnull, "w") as sink, redirect_stdout(sink), redirect_stderr(sink):
        _enter(_arguments(command, path, folder))


def _arguments(command: tuple[str, ...], path: Path, folder: Path) -> list[str]:
    out = str(folder / "out")
    return [part.replace(FILE, str(path)).replace(OUT, out) for part in command]


@functools.cache
def _command() -> Any:
    """The command line, which its entry point builds anew every time."""
    import typer

    from sketchlasso.interfaces.app import app

    return typer.main.get_command(app)


def _enter(arguments: list[str]) -> int:
    """Run the command line; return its exit code."""
    try:
        _command()(arguments, prog_name="sketchlasso")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _ended(child: int) -> bool:
    """Wait for a child; False where it takes too long."""
    handle = os.pidfd_open(child)
    try:
        return bool(select.select([handle], [], [], PATIENCE)[0])
    finally:
        os.close(handle)


def _child(arguments: list[str], stderr_path: Path) -> None:
    code = 1
    try:
        output = os.open(os.devnull, os.O_WRONLY)
        errors = os.open(stderr_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(output, 1)
        os.dup2(errors, 2)
        faulthandler.enable(sys.stderr)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        used = math.ceil(sum(os.times()[:2]))
        resource.setrlimit(resource.RLIMIT_CPU, (used + SECONDS, used + SECONDS))
        limit = _address_space() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        code = _enter(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        code = 1
    finally:
        os._exit(code)


def _address_space() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _finding(case: Case, status: int, seconds: float, message: str) -> str | None:
    if os.WIFSIGNALED(status) and seconds >= SECONDS - 1:
        return f"over {SECONDS} s"
    if os.WIFSIGNALED(status):
        return f"signal {signal.Signals(os.WTERMSIG(status)).name}"
    if "Traceback" in message or "Fatal Python error" in message:
        return f"traceback: {message.strip().splitlines()[-1][:150]}"
    code = os.WEXITSTATUS(status)
    if code not in ACCEPTED:
        return f"exit {code}"
    if code in (2, 3) and not SENTENCE.fullmatch(message):
        return f"exit {code} without one sentence"
    if case.refused and code not in case.refused:
        return f"exit {code} where {' or '.join(map(str, case.refused))} is needed"
    if case.command[0] == "info" and code not in (0, 3):
        return f"exit {code} of info"
    return None
