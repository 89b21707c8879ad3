"""Compilers that do for a kernel and all its callees once what Numba does for each of them.

Numba optimises a function, makes machine code of it, links it into each of its callers and
optimises it again there. Callees of kernels are never called from Python, so that
:class:`CalleeCompiler` leaves both to the kernel. Numba also resolves every operation anew, by
trials over all implementations; :class:`KernelCompiler` asks once per operation and types.

This changes the time of a first call and nothing of the result. It rests on names that are not
public in Numba, so kernels/compiling.py uses it only with the releases that it was tested with.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from typing import Any

from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.types.functions import BaseFunction

__all__ = ["CalleeCompiler", "KernelCompiler"]

_resolve = BaseFunction.get_call_type
_resolved: dict[tuple[Any, tuple[Any, ...]], Any] = {}


def _resolve_once(function: Any, context: Any, args: Any, kws: Any) -> Any:
    """Signature of a built-in function or operator for arguments of these types.

    What Numba would compile for it depends on the options of the caller and is not kept.
    """
    key = (function, tuple(args))
    if not kws and key in _resolved:
        return _resolved[key]
    found = _resolve(function, context, args, kws)
    if not kws and found is not None and function.get_impl_key(found) is function.typing_key:
        _resolved[key] = found
    return found


@contextlib.contextmanager
def _resolving_once() -> Iterator[None]:
    """Numba compiles under one lock for all threads, so that nothing else runs meanwhile."""
    functions: Any = BaseFunction
    before = functions.get_call_type
    functions.get_call_type = _resolve_once
    try:
        yield
    finally:
        functions.get_call_type = before


@contextlib.contextmanager
def _collecting_later() -> Iterator[None]:
    """Put off garbage collection: it would look at all that is loaded, again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _Kernel(JITCodeLibrary):
    """Code that is optimised as a whole, once the callees are linked into it."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """Leave the functions as they are."""
        ll_module.data_layout = self._codegen._data_layout


class _Callee(_Kernel):
    """Code that only waits to be linked into that of a kernel."""

    def _optimize_final_module(self) -> None:
        """Leave the module as it is."""

    def _finalize_final_module(self) -> None:
        """Make no machine code."""
        self._finalized = True


class KernelCompiler(Compiler):
    """Compiles a function that is called from Python."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """Compile it and what it calls."""
        state = self.state
        state.library = _Kernel(  # type: ignore[no-untyped-call]
            state.targetctx.codegen(), func.__qualname__
        )
        state.library.enable_object_caching()
        with _resolving_once(), _collecting_later():
            return super().compile_extra(func)  # type: ignore[no-untyped-call]


class CalleeCompiler(Compiler):
    """Compiles a function that only kernels call."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """Compile it up to its LLVM code. Callers know it by its entry, which cannot be called."""
        state = self.state
        state.flags.no_compile = True
        state.library = _Callee(  # type: ignore[no-untyped-call]
            state.targetctx.codegen(), func.__qualname__
        )
        made = super().compile_extra(func)  # type: ignore[no-untyped-call]
        module, keep = made.fndesc.lookup_module(), (made.library,)
        entry = _dynfunc.make_function(module, func.__name__, "", 0, made.environment, keep)
        state.targetctx.insert_user_function(entry, made.fndesc, [made.library])
        return made._replace(entry_point=entry)
