"""Small dense linear algebra that the compiled kernels share."""

from __future__ import annotations

import numpy as np

from sketchlasso.kernels.compiling import Matrix, Vector, kernel
from sketchlasso.types import BoolArray, FloatArray

# Two nearly always suffice; the third costs k^2.
INVERSE_ITERATIONS = 3


@kernel(fast=True)
def dot(a: Vector, b: Vector) -> float:
    """Inner product of two vectors of one length."""
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@kernel()
def copy_to(source: Vector, out: Vector) -> None:
    """Write a vector into the front of `out`.

    Kernels call this instead of assigning an array to a slice: Numba compiles for three seconds on
    the error message of such an assignment.
    """
    for i in range(source.shape[0]):
        out[i] = source[i]


@kernel()
def kth_smallest(values: Vector, k: int) -> float:
    """Entry k of the sorted values (n,); reorders the values.

    np.partition takes eight seconds to compile.
    """
    low, high = 0, values.shape[0] - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return values[k]


@kernel(fast=True)
def cholesky_in_place(H: Matrix) -> int:
    """Overwrite the lower triangle of H (k, k) by its Cholesky factor.

    A pivot that rounding made non-positive is lifted to a tiny multiple of the largest
    diagonal entry: the factor then belongs to a slightly larger matrix, which keeps a
    Newton direction a direction of ascent. Returns the number of lifted pivots.
    """
    k = H.shape[0]
    largest = 0.0
    for i in range(k):
        if H[i, i] > largest:
            largest = H[i, i]
    floor = 1e-14 * largest + 1e-300
    lifted = 0
    for j in range(k):
        row = H[j, :j]
        pivot = H[j, j] - dot(row, row)
        if not pivot > floor:
            pivot = floor
            lifted += 1
        root = np.sqrt(pivot)
        H[j, j] = root
        inverse = 1.0 / root
        for i in range(j + 1, k):
            H[i, j] = (H[i, j] - dot(H[i, :j], row)) * inverse
    return lifted


@kernel(fast=True)
def back_substitute(L: Matrix, count: int, x: Vector) -> None:
    """Overwrite x by the solution of L'x = x, with the first `count` rows and columns of L."""
    for i in range(count - 1, -1, -1):
        x[i] /= L[i, i]
        value = x[i]
        for j in range(i):
            x[j] -= L[i, j] * value


@kernel(fast=True)
def cholesky_solve(factor: Matrix, b: Vector, x: Vector) -> None:
    """Write the solution of factor factor' x = b into x (k,)."""
    k = factor.shape[0]
    for i in range(k):
        x[i] = (b[i] - dot(factor[i, :i], x[:i])) / factor[i, i]
    back_substitute(factor, k, x)


@kernel()
def smallest_eigenvalue(factor: Matrix, x: Vector, y: Vector) -> float:
    """Estimate the smallest eigenvalue of factor factor' from above, by inverse iteration.

    The pivots do not bound it: the last one may be far above the eigenvalue of a null vector with
    little weight on the last coordinate. x and y are scratch (k,).
    """
    k = factor.shape[0]
    for i in range(k):
        # Neither smooth nor alternating, so that no typical null vector is orthogonal to it.
        x[i] = np.cos(1.0 + i * i)
    length = np.sqrt(dot(x, x))
    for i in range(k):
        x[i] /= length
    value = np.inf
    for _ in range(INVERSE_ITERATIONS):
        cholesky_solve(factor, x, y)
        growth = np.sqrt(dot(y, y))
        if not (np.isfinite(growth) and growth > 0.0):
            return 0.0
        if 1.0 / growth < value:
            value = 1.0 / growth
        for i in range(k):
            x[i] = y[i] / growth
    return value


def reduce_stack(K: FloatArray, g: FloatArray, c: FloatArray, floor: float) -> BoolArray:
    """Overwrite a stack K (G, k, k) by Cholesky factors and solve L c = g.

    g is (G, k, t) and c (G, t, k). Returns which K (G,) have a smallest eigenvalue above `floor`
    times the largest diagonal entry; the factors of the others are unreliable.
    """
    safe = np.ones(len(K), dtype=bool)
    for b in range(len(K)):
        safe[b] = reduce_one(K[b], g[b], c[b], floor, np.empty((2, K.shape[1])))
    return safe


@kernel()
def reduce_one(K: Matrix, g: Matrix, c: Matrix, floor: float, work: Matrix) -> bool:
    """Do the work of :func:`reduce_stack` on one K (k, k); `work` is scratch (2, k)."""
    k = K.shape[0]
    largest = 0.0
    for i in range(k):
        if K[i, i] > largest:
            largest = K[i, i]
    lifted = cholesky_in_place(K)
    for i in range(k):
        for j in range(i + 1, k):
            K[i, j] = 0.0
    for j in range(c.shape[0]):
        for i in range(k):
            c[j, i] = (g[i, j] - dot(K[i, :i], c[j, :i])) / K[i, i]
    return lifted == 0 and smallest_eigenvalue(K, work[0], work[1]) > floor * largest
