"""Products of matrices and vectors by BLAS, written into an array of the caller.

np.dot returns its result as well. For that Numba compiles reference counts and checks of shapes
with their messages, once per set of options of kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import config, types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic
from numba.np import linalg as _linalg
from numba.np.arrayobj import make_array as _make_array

# Numba gives their parameters no types.
cgutils: Any = _cgutils
linalg: Any = _linalg
make_array: Any = _make_array


def _product(typing_context: Any, x: Any, y: Any, out: Any) -> Any:
    """Write x y into `out`, all in double precision and of matching shapes.

    One of x and y is a matrix and the other a vector, in C order; or both are matrices, and x is
    the transpose of one in C order.
    """
    arrays = (x, y, out)
    assert all(isinstance(a, types.Array) and a.dtype == types.float64 for a in arrays)
    layouts = "".join(a.layout for a in arrays)
    assert layouts == ("FCC" if x.ndim == y.ndim == 2 else "CCC"), layouts

    def write(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        parts = [make_array(t)(context, builder, a) for t, a in zip(arrays, args, strict=True)]
        shapes = [cgutils.unpack_tuple(builder, part.shape) for part in parts]
        data = [part.data for part in parts]
        linalg.ensure_blas()
        # For an empty matrix BLAS would leave `out` as it is.
        empty = builder.icmp_signed("==", parts[0].nitems, context.get_constant(types.intp, 0))
        with builder.if_else(empty, likely=False) as (then, otherwise):
            with then:
                size = builder.mul(parts[2].itemsize, parts[2].nitems)
                cgutils.memset(builder, data[2], size, 0)
            with otherwise:
                if x.ndim == y.ndim:
                    args = [
                        part for group in zip(arrays, shapes, data, strict=True) for part in group
                    ]
                    linalg.call_xxgemm(context, builder, *args)
                elif x.ndim == 2:
                    linalg.call_xxgemv(
                        context, builder, True, x, shapes[0], data[0], data[1], data[2]
                    )
                else:
                    linalg.call_xxgemv(
                        context, builder, False, y, shapes[1], data[1], data[0], data[2]
                    )
        return context.get_dummy_value()

    return types.none(*arrays), write


def _plain_product(x: Any, y: Any, out: Any) -> None:
    """The same in Python, for runs with compilation disabled."""
    np.dot(x, y, out=out)


product: Any = _plain_product if config.DISABLE_JIT else intrinsic(_product)  # type: ignore[attr-defined]
