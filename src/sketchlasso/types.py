"""Array aliases and the literal option names shared by the rooms."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

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
