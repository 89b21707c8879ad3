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
# Coefficients of a batch, one row an instance: dense or compressed sparse rows.
Coefficients: TypeAlias = FloatArray | sparse.csr_array[Any, tuple[int, int]]

Loss: TypeAlias = Literal["sqrt", "squared"]
