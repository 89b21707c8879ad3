"""How kernels are compiled, and what a terminal shows meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from numba import njit, version_info
from numba.core import event

from sketchlasso.startup import is_command

__all__ = ["FAST", "kernel"]

# Releases of Numba that kernels/pipeline.py, which rests on names that are not public, was tested
# with. First calls take longer with others.
TESTED = ((0, 68),)
KERNEL: dict[str, Any] = {}
CALLEE: dict[str, Any] = {}
if version_info[:2] in TESTED:
    from sketchlasso.kernels.pipeline import CalleeCompiler, KernelCompiler

    KERNEL["pipeline_class"], CALLEE["pipeline_class"] = KernelCompiler, CalleeCompiler

# Reassociation lets the compiler vectorise sums; infinities and NaN keep their meaning.
FAST = {"reassoc", "contract", "arcp", "nsz"}
MESSAGE = "Compiling numerical kernels (once per machine)"
NOT_KEPT = (
    "Compiling numerical kernels (once per process, as no folder can be written to keep them: "
    "set NUMBA_CACHE_DIR to one that can)"
)


def kernel(
    fast: bool = False, inner: bool = False, part: bool = False, allocates: bool = False
) -> Callable[..., Any]:
    """Return the decorator that compiles a kernel at its first call and keeps it on disk.

    Parameters
    ----------
    fast : bool
        Let sums be reordered.
    inner : bool
        Only other kernels call this one, never Python, which would crash: it needs no entry from
        Python and no machine code of its own.
    part : bool
        Like `inner`, and its code replaces the call. For functions of many arrays that are called
        in one or two places: to pass an array takes LLVM seven arguments.
    allocates : bool
        Whether this kernel makes or returns arrays. Others need no code that counts references.
    """
    callee = inner or part
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    options |= {"fastmath": FAST if fast else False, "_nrt": allocates}
    options |= {"no_cpython_wrapper": callee, "forceinline": part}
    options |= CALLEE if callee else KERNEL

    def compiled(function: Callable[..., Any]) -> Any:
        if callee:
            return njit(**options)(function)
        try:
            return njit(cache=True, **options)(function)
        except RuntimeError:
            # Neither the installation nor a cache of the user's can be written.
            _announcement.message = NOT_KEPT
            return njit(**options)(function)

    return compiled


class _Announcement(event.Listener):
    """Says on a terminal, once, why the first call takes seconds."""

    message = MESSAGE
    said = False

    def on_start(self, event: Any) -> None:
        """A function is about to be compiled."""
        ours = event.data["dispatcher"].py_func.__module__.startswith("sketchlasso.")
        if ours and not self.said and sys.stderr is not None and sys.stderr.isatty():
            self.said = True
            print(self.message, file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        """It is compiled."""


_announcement = _Announcement()
if not is_command():  # its progress bars say it themselves
    event.register("numba:compile", _announcement)  # type: ignore[no-untyped-call]
