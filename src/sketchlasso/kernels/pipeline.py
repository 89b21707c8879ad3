"""Compilers that do once for a kernel and all its callees what Numba does for each of them.

Numba optimises a function, generates its machine code, links it into each of its callers and
optimises it again there. Callees of kernels are never called from Python, so
:class:`CalleeCompiler` leaves both to the kernel. Numba also resolves every operation anew, by
trials over all implementations; :class:`KernelCompiler` resolves each operation once per types.

Kernels that make no arrays are loops over given arrays and numbers. They skip Numba's passes for
closures, array expressions and reference counts.

This shortens first calls and changes no result. It relies on private names of Numba, so
kernels/compiling.py uses it only with the releases that it was tested with.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from typing import Any

import llvmlite.binding as llvm  # type: ignore[import-untyped]
from numba import _dynfunc, types  # type: ignore[attr-defined]
from numba.core import cgutils, typed_passes, untyped_passes
from numba.core.base import BaseContext
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.ir_utils import remove_dels
from numba.core.runtime.nrt import rtsys
from numba.core.types.functions import BaseFunction
from numba.np import arrayobj

__all__ = ["CalleeCompiler", "KernelCompiler", "keep_kernel"]

_resolve = BaseFunction.get_call_type
_resolved: dict[tuple[Any, tuple[Any, ...]], Any] = {}
_make_array: Any = arrayobj.make_array
_measure: Any = BaseContext.get_abi_sizeof
_sizes: dict[str, int] = {}


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


def _measure_once(context: Any, llvm_type: Any) -> int:
    """Size of a type in bytes, for which Numba has LLVM parse a module every time."""
    key = str(llvm_type)
    if key not in _sizes:
        _sizes[key] = _measure(context, llvm_type)
    return _sizes[key]


class _ArrayFields:
    """Fields of an array value, to be read only.

    Numba copies the array to the stack for every access to an element: several times the LLVM
    code of the access itself.
    """

    __slots__ = ("_builder", "_model", "_value")

    def __init__(self, model: Any, builder: Any, value: Any) -> None:
        self._model, self._builder, self._value = model, builder, value

    def __getattr__(self, field: str) -> Any:
        if field.startswith("_"):
            raise AttributeError(field)
        place = self._model.get_field_position(field)
        return self._builder.extract_value(self._value, place)

    def _getvalue(self) -> Any:
        return self._value


def _array_maker(array_type: Any) -> Any:
    """Replace Numba's `make_array`, which searches all implementations for `__array__` first."""
    if type(array_type) is not types.Array:
        return _make_array(array_type)
    structure: Any = cgutils.create_struct_proxy(array_type)  # type: ignore[no-untyped-call]

    def make(context: Any, builder: Any, value: Any = None, ref: Any = None) -> Any:
        if value is None or ref is not None:
            return structure(context, builder, value=value, ref=ref)
        return _ArrayFields(context.data_model_manager[array_type], builder, value)

    return make


@contextlib.contextmanager
def _shortcuts(allocates: bool) -> Iterator[None]:
    """Replace slow functions of Numba while a kernel compiles.

    Numba compiles under one lock for all threads, so nothing else sees these changes. Functions
    that make arrays need pointers to fields of arrays, as `reshape` does.
    """
    replaced: list[tuple[Any, str, Any]] = [
        (BaseFunction, "get_call_type", _resolve_once),
        (BaseContext, "get_abi_sizeof", _measure_once),
    ]
    if not allocates:
        replaced.append((arrayobj, "make_array", _array_maker))
    before = [getattr(owner, name) for owner, name, _ in replaced]
    for owner, name, shortcut in replaced:
        setattr(owner, name, shortcut)
    try:
        yield
    finally:
        for (owner, name, _), original in zip(replaced, before, strict=True):
            setattr(owner, name, original)


@contextlib.contextmanager
def _collecting_later() -> Iterator[None]:
    """Put off garbage collection, which would scan all loaded objects again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _Cache(FunctionCache):
    """The machine code of a kernel on disk."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load it; Numba would first import its implementations of all of Python and NumPy."""
        with _collecting_later(), self._guard_against_spurious_io_errors():
            rtsys.initialize(target_context)
            return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]


def keep_kernel(made: Any) -> None:
    """Keep a kernel on disk. RuntimeError if no folder can be written."""
    made._cache = _Cache(made.py_func)  # type: ignore[no-untyped-call]


class _Kernel(JITCodeLibrary):
    """Code that is optimised as a whole, once the callees are linked into it."""

    allocates = False

    def _optimize_functions(self, ll_module: Any) -> None:
        """Leave the functions as they are."""
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Optimise in one round, where Numba needs two to remove counts of references."""
        if self.allocates:
            super()._optimize_final_module()  # type: ignore[no-untyped-call]
            return
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.loop_vectorization = options.loop_interleaving = options.loop_unrolling = True
        options.slp_vectorization = False
        builder = llvm.create_pass_builder(self._codegen._tm, options)
        builder.getModulePassManager().run(self._final_module, builder)


class _Callee(_Kernel):
    """Code that is only linked into that of a kernel."""

    def _optimize_final_module(self) -> None:
        """Leave the module as it is."""

    def _finalize_final_module(self) -> None:
        """Make no machine code."""
        self._finalized = True


@register_pass(mutates_CFG=False, analysis_only=False)  # type: ignore[no-untyped-call]
class _DropDeletions(FunctionPass):
    """Remove the ends of variables, where only references would be counted."""

    _name = "sketchlasso_drop_deletions"

    def __init__(self) -> None:
        FunctionPass.__init__(self)  # type: ignore[no-untyped-call]

    def run_pass(self, state: Any) -> bool:
        remove_dels(state.func_ir.blocks)  # type: ignore[no-untyped-call]
        return True


# What a function needs that only loops over arrays: no closures, `with`, literal arguments, array
# expressions or inlining before LLVM.
PASSES = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.GenericRewrites,
    untyped_passes.ReconstructSSA,
    typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis,
    _DropDeletions,
    typed_passes.NativeLowering,
    typed_passes.NoPythonBackend,
)


class _ShortCompiler(Compiler):
    """Compiles with the passes that a function needs."""

    def define_pipelines(self) -> Any:
        """Use Numba's own passes for functions that make arrays, which may be expressions."""
        if self.state.flags.nrt:
            return super().define_pipelines()  # type: ignore[no-untyped-call]
        manager: Any = PassManager("kernel")  # type: ignore[no-untyped-call]
        for step in PASSES:
            manager.add_pass(step, step.__name__)
        manager.finalize()
        return [manager]


class KernelCompiler(_ShortCompiler):
    """Compiles a function that is called from Python."""

    def __init__(self, *args: Any) -> None:
        with _collecting_later():  # the first call imports Numba's implementations
            super().__init__(*args)  # type: ignore[no-untyped-call]

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """Compile it and what it calls."""
        state = self.state
        state.library = _Kernel(  # type: ignore[no-untyped-call]
            state.targetctx.codegen(), func.__qualname__
        )
        state.library.allocates = state.flags.nrt
        state.library.enable_object_caching()
        with _shortcuts(state.flags.nrt), _collecting_later():
            return super().compile_extra(func)  # type: ignore[no-untyped-call]


class CalleeCompiler(_ShortCompiler):
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
