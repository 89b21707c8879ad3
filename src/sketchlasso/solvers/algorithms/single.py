"""Shared by solvers of single instances: an instance as a batch of one, and its best iterate."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sketchlasso.problem import formulas
from sketchlasso.problem.batch import Batch
from sketchlasso.problem.dual import certify_batch
from sketchlasso.solvers.algorithms.protocol import Instance
from sketchlasso.types import FloatArray

__all__ = ["Best", "as_batch", "featureless_answer", "response_length"]

# A coefficient this much smaller than the largest may be rounding of an exact zero.
NEGLIGIBLE = 1e-4


def as_batch(instance: Instance) -> Batch:
    """The instance as a batch of one, so that the formulas of `problem` apply to it."""
    return Batch.build(
        instance.R,
        instance.c,
        instance.s,
        alpha=1.0,
        radius=instance.radius,
        penalty_factor=instance.thresholds,
        positive=instance.positive,
        loss=instance.loss,
    )


def response_length(instance: Instance) -> float:
    """sqrt(||c||^2 + s^2), the loss at w = 0; 1 where the response is zero."""
    return float(formulas.response_length(instance.c[None], instance.s)[0]) or 1.0


def featureless_answer(instance: Instance) -> tuple[FloatArray, FloatArray, int]:
    """What `improve` returns when no feature is left: w (0,), its dual point (k,), no steps."""
    c = instance.c[None]
    u = c if instance.loss == "squared" else formulas.null_dual(c, instance.s)
    return np.zeros(0), u[0], 0


@dataclass(eq=False)
class Best:
    """The best primal and the best dual point seen so far; they need not belong together.

    Attributes
    ----------
    instance : Instance
        With at least one feature.
    w : ndarray of shape (p,)
    u : ndarray of shape (k,)
    primal, dual : float
        Objectives at w and at the feasible point that u gives.
    """

    instance: Instance
    w: FloatArray = field(init=False)
    u: FloatArray = field(init=False)
    primal: float = np.inf
    dual: float = -np.inf

    def __post_init__(self) -> None:
        self._batch = as_batch(self.instance)
        self.w = np.zeros(len(self.instance.R))
        self.u = np.zeros(len(self.instance.c))
        self.offer(self.w, self.u)

    def offer(self, w: FloatArray, u: FloatArray) -> None:
        """Keep w (p,) or u (k,) where it improves on what is held; non-finite ones never do."""
        if not (np.isfinite(w).all() and np.isfinite(u).all()):
            return
        proof = certify_batch(self._batch, w[None], u[None])
        if proof.primal[0] < self.primal:
            self.w, self.primal = w.copy(), float(proof.primal[0])
        if proof.dual[0] > self.dual:
            self.u, self.dual = u.copy(), float(proof.dual[0])

    def trimmed(self) -> FloatArray:
        """Copy of w (p,) with zeros for what an interior iterate holds as rounding of zero.

        A coefficient goes if it is small beside the slack of its dual constraint. All go
        together, and only if that costs less than a tenth of the gap; the rest may take over
        their share of the fit.
        """
        lam = self.instance.thresholds
        seen = self.instance.R @ self.u
        slack = lam - (seen if self.instance.positive else np.abs(seen))
        room = np.divide(slack, lam, out=np.zeros_like(slack), where=lam > 0)
        size = np.abs(self.w)
        limit = size.max(initial=0.0) * np.minimum(room, NEGLIGIBLE)
        plain = np.where(size < limit, 0.0, self.w)
        allowed = self.primal + 0.1 * max(self.primal - self.dual, 0.0)
        for w in (plain, self._refitted(plain)):
            if certify_batch(self._batch, w[None], self.u[None]).primal[0] <= allowed:
                return w
        return self.w.copy()

    def _refitted(self, w: FloatArray) -> FloatArray:
        """Move w (p,) on its support, small entries least, so that R'w is again R'self.w."""
        support = np.flatnonzero(w)
        weight = np.abs(w[support])
        rows = self.instance.R[support] * weight[:, None]
        lost = self.instance.R.T @ (self.w - w)
        refitted = w.copy()
        refitted[support] += weight * np.linalg.lstsq(rows.T, lost, rcond=None)[0]
        return refitted if np.all(np.sign(refitted) == np.sign(w)) else w
