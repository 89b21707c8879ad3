"""How kernels are compiled and called, and what a terminal shows while they are compiled."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeAlias

from numba import config, njit, version_info
from numba.core import event

from sketchlasso.types import BoolArray, FloatArray, IntArray, RealArray

# Arguments of kernels by their dimension. Only reals may be in single precision.
Vector: TypeAlias = FloatArray
Matrix: TypeAlias = FloatArray
Reals: TypeAlias = RealArray
RealMatrix: TypeAlias = RealArray
Indices: TypeAlias = IntArray
IndexMatrix: TypeAlias = IntArray
Mask: TypeAlias = BoolArray


def _keep(made: Any) -> None:
    """Keep a kernel on disk."""
    made.enable_caching()


# Releases of Numba that kernels/pipeline.py, which relies on private names, was tested with. First
# calls take longer with others.
TESTED = ((0, 68),)
KERNEL: dict[str, Any] = {}
CALLEE: dict[str, Any] = {}
keep: Callable[[Any], None] = _keep
if version_info[:2] in TESTED:
    from sketchlasso.kernels.pipeline import CalleeCompiler, KernelCompiler, keep_kernel

    keep = keep_kernel
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
        Only other kernels call this one. A call from Python would crash, as it gets no entry from
        Python and no machine code of its own.
    part : bool
        Like `inner`, and inlined. For functions of many arrays that are called in one or two
        places: an array is seven arguments or more to LLVM.
    allocates : bool
        This kernel makes or returns arrays. Others need no code that counts references, and may
        not use array expressions, closures or `with`. No kernel may return a tuple with an array
        to Python: Numba would turn a KeyboardInterrupt at that moment into a SystemError.
    """
    callee = inner or part
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    options |= {"fastmath": FAST if fast else False, "_nrt": allocates}
    options |= {"no_cpython_wrapper": callee, "forceinline": part}
    options |= CALLEE if callee else KERNEL

    def compiled(function: Callable[..., Any]) -> Any:
        made = njit(**options)(function)
        if callee or config.DISABLE_JIT:  # type: ignore[attr-defined]
            return made
        try:
            keep(made)
        except RuntimeError:
            # Neither the installation nor a cache of the user's can be written.
            _announcement.message = NOT_KEPT
        return made

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
        """Compilation has ended."""


_announcement = _Announcement()
event.register("numba:compile", _announcement)  # type: ignore[no-untyped-call]
