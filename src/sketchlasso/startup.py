"""Ctrl-C while the command `sketchlasso` loads.

The package imports this module before any other, and this module imports only what Python itself
has loaded by then: the rest takes seconds to load, and Python would answer Ctrl-C in that time with
a traceback. Before this module, while Python itself starts, it still does.
"""

# The module `signal` would load `enum` first; this is the part of it that is built in.
import _signal  # type: ignore[import-not-found]
import os
import sys
from itertools import pairwise
from types import FrameType

INTERRUPTED = 130  # what shells return after Ctrl-C


def end_at_once(number: int, frame: FrameType | None) -> None:
    """End the process; nothing is there yet, or any more, that would have to be cleaned up."""
    os.write(2, b"sketchlasso: interrupted before the end.\n")
    os._exit(INTERRUPTED)


def is_command() -> bool:
    """Whether this process is the command, and not a program that imports the package."""
    if sys.argv[:1] == ["-m"]:  # Python looks for the module to run
        return ("-m", __package__) in pairwise(sys.orig_argv)
    # A worker process has the arguments of its parent, but not its script as the main module.
    main = sys.modules.get("__main__")
    if getattr(getattr(main, "__spec__", None), "name", None) == f"{__package__}.__main__":
        return True
    script = getattr(main, "__file__", None)
    name = os.path.basename(sys.argv[0]) if sys.argv else ""
    return script is not None and os.path.splitext(name)[0] == __package__


if is_command():
    _signal.signal(_signal.SIGINT, end_at_once)
