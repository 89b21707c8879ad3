"""Single instances of every regime, and the loop a solver of single instances needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sketchlasso.problem import Batch, Certificate, alpha_max, certify_batch
from sketchlasso.solvers.algorithms.protocol import Instance, MakeSolver, as_batch


def make_instance(
    seed: int = 0,
    p: int = 120,
    k: int = 12,
    *,
    share: float = 0.1,
    radius: float = 0.1,
    s: float = 1.0,
    free: int = 0,
    repeated: bool = False,
    conditioning: float = 1.0,
    scale: float = 1.0,
    positive: bool = False,
    loss: str = "sqrt",
) -> Instance:
    """Random instance with five true features.

    `share` is the penalty relative to the alpha_max of radius 0, `free` the number of
    unpenalised features; `repeated` duplicates rows and empties others.
    """
    rng = np.random.default_rng(seed)
    R = rng.normal(size=(p, k)) * np.geomspace(1.0, 1.0 / conditioning, k)
    if repeated:
        R[: p // 4] = R[p // 4 : 2 * (p // 4)]
        R[-2:] = 0.0
    truth = np.zeros(p)
    truth[:5] = rng.normal(size=min(5, p))
    c = scale * (R.T @ truth + 0.1 * rng.normal(size=k))
    s = scale * s
    largest = alpha_max(Batch.build(R, c, s, alpha=1.0, loss=loss))[0]
    thresholds = np.full(p, share * largest)
    thresholds[:free] = 0.0
    return Instance(R, c, s, radius, thresholds, positive, loss)


# The name says what is special; the rest is make_instance's default.
REGIMES: dict[str, dict[str, Any]] = {
    "plain": {},
    "no robust term": {"radius": 0.0},
    "tiny robust term": {"radius": 1e-6},
    "large robust term": {"radius": 10.0},
    "everything within reach": {"s": 0.0},
    "interpolation": {"s": 0.0, "radius": 0.0, "share": 1e-3},
    "robust interpolation": {"s": 0.0, "share": 1e-3},
    "unpenalised features": {"free": 3},
    "unpenalised, no robust term": {"free": 3, "radius": 0.0},
    "no penalty at all": {"share": 0.0},
    "repeated and empty rows": {"repeated": True, "radius": 0.0},
    "repeated, robust": {"repeated": True},
    "non-negative": {"positive": True},
    "non-negative interpolation": {"positive": True, "s": 0.0, "radius": 0.0, "share": 1e-3},
    "non-negative, free, repeated": {
        "positive": True,
        "free": 3,
        "repeated": True,
        "radius": 0.0,
    },
    "squared": {"loss": "squared"},
    "squared, no robust term": {"loss": "squared", "radius": 0.0},
    "squared, free": {"loss": "squared", "radius": 0.0, "free": 3},
    "squared, non-negative": {"loss": "squared", "positive": True},
    "zero is optimal": {"share": 1.5},
    "zero is optimal, no robust term": {"share": 1.5, "radius": 0.0},
    "ill-conditioned": {"conditioning": 1e4, "radius": 0.01, "share": 0.01},
    "large response": {"scale": 1e6},
    "small response": {"scale": 1e-6, "radius": 0.0},
    "one feature": {"p": 1},
    "one direction": {"k": 1, "radius": 0.0},
    "few features": {"p": 8, "k": 30},
}


@dataclass(frozen=True)
class Run:
    """End of a loop over `improve`."""

    w: np.ndarray
    u: np.ndarray
    steps: int
    certificate: Certificate

    @property
    def gap(self) -> float:
        return float(self.certificate.relative_gap[0])

    @property
    def primal(self) -> float:
        return float(self.certificate.primal[0])

    @property
    def dual(self) -> float:
        return float(self.certificate.dual[0])


def drive(make_solver: MakeSolver, instance: Instance, tol: float, rounds: int = 60) -> Run:
    """Call `improve` until the certificate, computed here, meets the tolerance."""
    p, k = instance.R.shape
    batch = as_batch(instance)
    solver = make_solver(instance, np.zeros(p), np.zeros(k))
    total = 0
    for _ in range(rounds):
        w, u, steps = solver.improve()
        assert w.shape == (p,) and u.shape == (k,)
        assert np.isfinite(w).all() and np.isfinite(u).all()
        total += steps
        run = Run(w, u, total, certify_batch(batch, w[None], u[None]))
        if run.gap <= tol:
            break
    return run


def assert_optimal(run: Run, reference: Run, instance: Instance, tol: float) -> None:
    """The run met the tolerance, is feasible, and its bounds bracket the reference's optimum."""
    assert run.gap <= tol
    assert not instance.positive or (run.w >= 0).all()
    rounding = 1e-12 * abs(reference.primal)
    assert run.dual <= reference.primal + rounding
    assert reference.dual <= run.primal + rounding
