"""Signals that arrive while a kernel runs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def raise_signals(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return the kernel as a function that raises what a signal handler raised during the call.

    Python runs the handler of a signal, such as Ctrl-C, at the next Python function. For a
    kernel that returns arrays this is Numba's own ``_numba_unpickle``, which looks up the type
    of a returned array. Numba does not check whether it failed when it builds a tuple, so a
    KeyboardInterrupt becomes a SystemError. Wrap every kernel that returns a tuple with an
    array and is called from Python; single arrays, numbers and None are safe.
    """

    @functools.wraps(kernel)
    def called(*args: Any) -> Any:
        try:
            return kernel(*args)
        except SystemError as problem:
            cause: BaseException = problem
            while isinstance(cause, SystemError) and cause.__cause__ is not None:
                cause = cause.__cause__
            if cause is problem:
                raise
            raise cause from None

    return called
