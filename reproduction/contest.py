"""Contenders under a time limit, in a process of their own that is ended when time is up.

``python -m reproduction.contest NAME TASK`` runs one and prints a JSON line per
step; that is how it is started here.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from time import perf_counter
from typing import IO, Any

from reproduction.contenders import steps_of

__all__ = ["Contended", "contend"]

# Seconds for imports and for reading the data, which are not held against a contender.
START_LIMIT = 300.0


@dataclass
class Contended:
    """What a contender did.

    Attributes
    ----------
    steps : list of dict
        Those that it finished, in order.
    rows : int
        Rows that it has to work on.
    finished : bool
        Whether it came to its end within the limit.
    failure : str
        Why it did not.
    """

    steps: list[dict[str, Any]] = field(default_factory=list)
    rows: int = 0
    finished: bool = False
    failure: str = ""


def contend(name: str, task: dict[str, Any], limit: float | None) -> Contended:
    """Run a contender for at most `limit` seconds; without a limit, in this process."""
    found = Contended()
    if limit is not None:
        return _in_its_own_process(name, task, limit)
    try:
        for step in steps_of(name, task):
            _take(found, step)
        found.finished = True
    except ImportError as missing:
        found.failure = f"not installed: {missing.name or missing}"
    except Exception as error:  # a contender may fail in any way: the report says how
        found.failure = f"{type(error).__name__}: {error}"[:200]
    return found


def _take(found: Contended, step: dict[str, Any]) -> None:
    if step.get("ready"):
        found.rows = int(step["rows"])
    else:
        found.steps.append(step)


def _in_its_own_process(name: str, task: dict[str, Any], limit: float) -> Contended:
    found = Contended()
    command = [sys.executable, "-m", __name__, name, json.dumps(task)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, encoding="utf-8"
    )
    assert process.stdout is not None
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_forward, args=(process.stdout, lines), daemon=True).start()
    deadline = perf_counter() + START_LIMIT
    try:
        while True:
            line = lines.get(timeout=max(deadline - perf_counter(), 0.01))
            if not line:
                found.failure = "its process died, perhaps of memory"
                break
            step = json.loads(line)
            if "ending" in step:
                found.failure, found.finished = step["ending"], not step["ending"]
                break
            if step.get("ready"):
                deadline = perf_counter() + limit
            _take(found, step)
    except queue.Empty:
        found.failure = f"over {limit:g} s"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    return found


def _forward(stream: IO[str], lines: queue.Queue[str]) -> None:
    """Pass lines on; an empty one at the end of the stream."""
    try:
        for line in stream:
            lines.put(line)
    except ValueError:  # closed under our hands, when time is up
        pass
    lines.put("")


def main() -> None:
    """Run one contender and print its steps."""
    name, task = sys.argv[1], json.loads(sys.argv[2])
    ending = ""
    try:
        for step in steps_of(name, task):
            print(json.dumps(step), flush=True)
    except ImportError as missing:
        ending = f"not installed: {missing.name or missing}"
    except Exception as error:  # as above
        ending = f"{type(error).__name__}: {error}"[:200]
    print(json.dumps({"ending": ending}), flush=True)


if __name__ == "__main__":
    main()
