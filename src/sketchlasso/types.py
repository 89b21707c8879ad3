"""Array aliases, literal option names and checks of scalars shared by the rooms."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

FloatArray: TypeAlias = NDArray[np.float64]
RealArray: TypeAlias = NDArray[np.floating[Any]]  # float32 or float64
IntArray: TypeAlias = NDArray[np.intp]
BoolArray: TypeAlias = NDArray[np.bool_]
# In quotes, for SciPy 1.13 has no parameters of its arrays.
SparseRows: TypeAlias = "sparse.csr_array[Any, tuple[int, int]]"
# Coefficients of a batch, one row per instance: dense or compressed sparse rows.
Coefficients: TypeAlias = "FloatArray | SparseRows"

Loss: TypeAlias = Literal["sqrt", "squared"]


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value is an integer of Python or NumPy; True and False are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a real number of Python or NumPy; True and False are not."""
    return is_whole(value) or isinstance(value, float | np.floating)
