"""Upper bounds on spectral norms that hold with a stated probability.

A Krylov space K_q = span(G, (AA')G, ..., (AA')^(q-1) G) yields a Ritz value lam <= sigma^2,
sigma = ||A||_2, a lower bound. The probability that the random start G (N x r, standard normal)
makes it much too low gives an upper bound. Scale so that sigma = 1 and suppose
lam < 1 - e. With g = G a / ||a||, a = G'v, v the leading left singular vector, every polynomial
p of degree q - 1 then has

    p(1)^2 e (v'g)^2  <  max over 0 <= x <= 1-e of p(x)^2 (1 - e - x)  *  ||g - v v'g||^2

Take p(x) = U_{2q-2}(sqrt(x / (1-e))), Chebyshev of the second kind (even, so a polynomial of
degree q - 1 in x): the maximum is (1-e), and p(1)^2 e = (1-e) sinh^2((2q-1) phi) with
cosh phi = 1 / sqrt(1-e). As (v'g)^2 / ||g||^2 is Beta(r/2, (N-1)/2) distributed,

    P( sigma > cosh(phi) sqrt(lam) )  <=  P( Beta(r/2, (N-1)/2) < 1 / cosh^2((2q-1) phi) )

which is solved for phi. This is the argument of Kuczynski and Wozniakowski (SIAM J. Matrix Anal.
Appl. 13, 1992) with the exact distribution and several starting vectors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg, special

from sketchlasso.linalg.krylov import gaussian, krylov_space
from sketchlasso.linalg.operator import LinearMap, same_singular_values, smaller_side_first

# Eight starting vectors: a failure probability of 1e-6 costs one step more than 1e-3, and a
# product with eight columns costs a sparse matrix little more than one with a single column.
BLOCK = 8
# Largest factor between the bound and the Ritz value it is built on.
LARGEST_OVERESTIMATE = 1.1


@dataclass(frozen=True)
class NormBound:
    """Bounds on a spectral norm."""

    lower: float  # never above the norm
    upper: float  # at least the norm, except with `failure_probability`
    failure_probability: float  # 0 where the norm was computed from all entries


def overestimate(size: int, block: int, steps: int, failure_probability: float) -> float:
    """Return the factor cosh(phi) >= 1 that turns a Ritz value's root into an upper bound.

    The Krylov space has `steps` blocks q from `block` r standard normal starting vectors of length
    `size` N. The factor times the estimate falls short of the norm with the given probability at
    most.
    """
    if size <= block:
        return 1.0
    share = special.betaincinv(block / 2, (size - 1) / 2, failure_probability)
    return float(np.cosh(np.arccosh(share**-0.5) / (2 * steps - 1)))


def norm_bound(
    A: LinearMap,
    rng: np.random.Generator,
    *,
    failure_probability: float,
    dense_limit: int = 0,
) -> NormBound:
    """Bound the spectral norm of A (m, n) from above, rounding aside; A must not depend on `rng`.

    Where min(m, n) is no larger than `dense_limit`, or no larger than the Krylov space would be,
    the norm is computed from the entries instead.
    """
    A = smaller_side_first(A)
    size = A.shape[0]
    steps = 1
    while overestimate(size, BLOCK, steps, failure_probability) > LARGEST_OVERESTIMATE:
        steps += 1
        if steps * BLOCK >= size:
            break
    if size <= max(dense_limit, steps * BLOCK):
        norm = float(linalg.svdvals(same_singular_values(A), check_finite=False)[0])
        return NormBound(norm, norm, 0.0)
    space = krylov_space(A, gaussian(rng, size, BLOCK, A), steps * BLOCK, rng)
    lower = space.largest_singular_value()
    factor = overestimate(size, BLOCK, steps, failure_probability)
    return NormBound(lower, factor * lower, failure_probability)
