"""Callees of kernels, which have no entry from Python, as functions that tests can call."""

from numba import njit


def callable_from_python(callee):
    """Compile a function that only calls this one."""

    @njit
    def call(*args):
        return callee(*args)

    return call
