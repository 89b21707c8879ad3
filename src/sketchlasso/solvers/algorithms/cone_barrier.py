"""The barrier function of the paper (section 5): heights, multipliers, structured Hessian.

With w = p - q and heights sigma, t for the two norms the paper follows, for mu = 1/gamma -> 0,

    minimise  sigma + radius t + sum_j lam_j (p_j + q_j)
              - mu [ log(sigma^2 - ||c - R'w||^2 - s^2) + log(t^2 - ||w||^2) + sum_j log p_j q_j ]

(its extra -log sigma - log t only repeat the cones and are dropped). All three kinds of term
are one cone barrier with a weight g, because p_j q_j = (h^2 - w_j^2)/4 for h = p_j + q_j:

    B(x) = min over h > ||x||  of   g h - mu log(h^2 - ||x||^2)

Derivatives of -log f with f = h^2 - ||x||^2 (the paper prints 2/(-log f) where 2/f belongs):

    grad = (2/f) (x, -h),     hess = (2/f) diag(I, -1) + (4/f^2) (x, -h)(x, -h)'

The height solves h^2 - 2 (mu/g) h - ||x||^2 = 0, so h = (mu + T)/g with
T = sqrt(mu^2 + g^2 ||x||^2): no cancellation, and any w is strictly feasible. The Schur
complement of h in the Hessian leaves

    grad B = y = g x/h,       hess B = (g/h) (I - x y'/T)

Summed up, the Hessian in w is a diagonal plus a (k+2)-dyad,

    H = Delta + R M R' - e (d w' + w d'),    Delta_j = (lam_j - v_j lam_j w_j/T_j)/h_j + radius/t

with M = (I - (u r' + r u')/(2 T))/sigma, e = radius/(2 t T_t) and multipliers u, d, v of the
loss, the robust term and the absolute values. Taking the multipliers from y = g x/h is the
primal barrier method; keeping them as variables with their own Newton steps is the primal-dual
one: the same structure and gradient, a far better model away from the central path.

Newton systems cost O(p k^2 + k^3) by the matrix inversion lemma, against the O(k p^2) the paper
states. Special cases: radius = 0 drops t; lam_j = 0 drops the split of feature j; w >= 0 keeps
-mu log w_j alone; the squared loss has M = I and Delta_j + radius^2 without the dyad of d, w.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from sketchlasso.solvers.algorithms.protocol import Instance
from sketchlasso.types import FloatArray, IntArray

# Curvature, beside ||a_j||^2, of features with neither penalty nor robust term.
FREE_CURVATURE = 1e-9
# Slope, beside ||a_j||, of unpenalised features with w_j >= 0.
FREE_SLOPE = 1e-11
TINY = 1e-150
REFINEMENTS = 2  # of the solution of a Newton system


@dataclass(frozen=True, eq=False, kw_only=True)
class ScaledInstance(Instance):
    """An instance with a response of length one; `square_norms` (p,) holds ||a_j||^2."""

    square_norms: FloatArray

    @classmethod
    def of(cls, instance: Instance) -> ScaledInstance:
        """Divide the response by its length."""
        scaled = instance.with_unit_response()
        norms = np.einsum("ij,ij->i", instance.R, instance.R)
        if instance.positive:
            # Without any slope the barrier of an unpenalised w_j >= 0 may have no minimum; a
            # feature that fits nothing is zero under any slope.
            floor = np.where(norms > 0, FREE_SLOPE * np.sqrt(norms), 1.0)
            scaled = replace(scaled, thresholds=np.maximum(scaled.thresholds, floor))
        return cls(**vars(scaled), square_norms=norms)

    @property
    def robust_cone(self) -> bool:
        """Whether the robust term is a cone: there is one, and it is not a square."""
        return self.radius > 0.0 and not self.squared


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Multipliers u (k,) of the loss, d (p,) of the robust term, v (p,) of the |w_j|."""

    u: FloatArray
    d: FloatArray
    v: FloatArray


@dataclass(frozen=True, eq=False)
class Cones:
    """Optimal heights h, roots T and multipliers y = g x/h of every cone at one point."""

    # These four are 1 where the term is not a cone.
    loss_height: float
    loss_root: float
    ridge_height: float
    ridge_root: float
    # Those (p,) of the |w_j|; w itself where coefficients are non-negative.
    heights: FloatArray
    roots: FloatArray
    # Those of the primal barrier method. Their sum is the gradient v + d - R u.
    central: Multipliers


def cones_at(problem: ScaledInstance, mu: float, w: FloatArray, r: FloatArray) -> Cones:
    """The cones at w (p,) with residual r (k,)."""
    loss_height = loss_root = ridge_height = ridge_root = 1.0
    d = problem.radius**2 * w
    if not problem.squared:
        loss_root = float(np.sqrt(mu**2 + r @ r + problem.s**2))
        loss_height = mu + loss_root
    if problem.robust_cone:
        ridge_root = float(np.sqrt(mu**2 + problem.radius**2 * (w @ w)))
        ridge_height = (mu + ridge_root) / problem.radius
        d = problem.radius * w / ridge_height
    lam = problem.thresholds
    if problem.positive:
        heights = roots = w
        v = lam - mu / w
    else:
        roots = np.sqrt(mu**2 + (lam * w) ** 2)
        heights = np.divide(mu + roots, lam, out=np.ones_like(lam), where=lam > 0)
        v = lam * w / heights
    central = Multipliers(r / loss_height, d, v)
    return Cones(loss_height, loss_root, ridge_height, ridge_root, heights, roots, central)


@dataclass(frozen=True, eq=False)
class DyadicHessian:
    """H = diag(delta) + X M X', with X (p, q), q = k or k + 2, and M (q, q) invertible.

    The Newton system is solved in the augmented form

        [ delta   X    ] [ dw ]   [ b ]
        [ X'     -M^-1 ] [ y  ] = [ 0 ]

    where y = M X'dw. Refining both unknowns matters: M grows like 1/mu when the optimum
    interpolates, and X'dw then needs more digits than one elimination leaves.
    """

    delta: FloatArray  # (p,)
    X: FloatArray  # (p, q)
    core_inverse: FloatArray  # (q, q): M^-1
    absolute: FloatArray  # (p,): the part of delta due to the |w_j|

    def solve(self, b: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Solution dw (p,), y (q,) for a right-hand side b (p,), in O(p q^2 + q^3)."""
        capacitance = self.core_inverse + (self.X.T / self.delta) @ self.X
        # Rows of unit size before factoring: the dyads differ by many orders of magnitude.
        scale = 1.0 / np.sqrt(np.abs(capacitance).max(axis=1))
        factor = _triangles(capacitance * scale[:, None] * scale)

        def eliminate(upper: FloatArray, lower: FloatArray) -> tuple[FloatArray, FloatArray]:
            right = self.X.T @ (upper / self.delta) - lower
            y = scale * linalg.lu_solve(factor, scale * right, check_finite=False)
            return (upper - self.X @ y) / self.delta, y

        dw, y = eliminate(b, np.zeros(len(scale)))
        for _ in range(REFINEMENTS):
            more_w, more_y = eliminate(
                b - self.delta * dw - self.X @ y, self.core_inverse @ y - self.X.T @ dw
            )
            dw, y = dw + more_w, y + more_y
        return dw, y


def _triangles(matrix: FloatArray) -> tuple[FloatArray, IntArray]:
    """LU factors of a matrix (q, q) for ``lu_solve``, of a nearby one where it is singular.

    Pivots that rounding has made zero become the smallest that count; the refinement of
    the solution, which knows the true system, takes off most of what that changes.
    """
    triangles, pivots, _ = linalg.lapack.dgetrf(matrix)
    diagonal = np.diagonal(triangles)
    gone = np.flatnonzero(diagonal == 0)
    triangles[gone, gone] = np.finfo(np.float64).eps * max(1.0, np.abs(diagonal).max(initial=0.0))
    return triangles, pivots


def barrier_hessian(
    problem: ScaledInstance, cones: Cones, now: Multipliers, w: FloatArray, r: FloatArray
) -> DyadicHessian:
    """Primal-dual Hessian at w (p,) with residual r (k,) and multipliers `now`."""
    lam = problem.thresholds
    if problem.positive:
        absolute = (lam - now.v) / w
    else:
        absolute = np.where(lam > 0, (lam - now.v * lam * w / cones.roots) / cones.heights, 0.0)
    k = len(r)
    if problem.squared:
        inverse = np.eye(k)
        delta = absolute + problem.radius**2
    else:
        bend = (np.outer(now.u, r) + np.outer(r, now.u)) / (2.0 * cones.loss_root)
        inverse = cones.loss_height * linalg.inv(np.eye(k) - bend)
        delta = absolute + problem.radius / cones.ridge_height
    # A proximal term: it shapes the step of unpenalised features, not where it leads.
    delta = np.maximum(delta, FREE_CURVATURE * problem.square_norms + TINY)
    if not problem.robust_cone:
        return DyadicHessian(delta, problem.R, inverse, absolute)
    e = problem.radius / (2.0 * cones.ridge_height * cones.ridge_root)
    # The core of -e (d w' + w d') is -e [[0, 1], [1, 0]]; its inverse has -1/e off the diagonal.
    swap = np.array([[0.0, -1.0 / e], [-1.0 / e, 0.0]])
    X = np.column_stack([problem.R, now.d, w])
    return DyadicHessian(delta, X, linalg.block_diag(inverse, swap), absolute)
