"""How kernels are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from numba import njit

from sketchlasso.types import BoolArray, FloatArray, IntArray, RealArray

# Arguments of kernels by their dimension. Only reals may be in single precision.
Vector: TypeAlias = FloatArray
Matrix: TypeAlias = FloatArray
Reals: TypeAlias = RealArray
RealMatrix: TypeAlias = RealArray
Indices: TypeAlias = IntArray
IndexMatrix: TypeAlias = IntArray
Mask: TypeAlias = BoolArray

# Reassociation lets the compiler vectorise sums; infinities and NaN keep their meaning.
FAST = {"reassoc", "contract", "arcp", "nsz"}


def kernel(fast: bool = False) -> Callable[..., Any]:
    """Return the decorator that compiles a function at its first call and keeps it on disk.

    With `fast` its sums may be reordered. No kernel may return a tuple with an array to Python:
    Numba would turn a KeyboardInterrupt at that moment into a SystemError.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    options["fastmath"] = FAST if fast else False

    def compiled(function: Callable[..., Any]) -> Any:
        try:
            return njit(cache=True, **options)(function)
        except RuntimeError:  # no folder can be written to keep it
            return njit(**options)(function)

    return compiled
