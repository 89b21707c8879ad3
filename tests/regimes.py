"""Single problems of every regime."""

from __future__ import annotations

from typing import Any

import numpy as np

from sketchlasso.problem import Batch, alpha_max


def make_problem(
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
) -> Batch:
    """Random problem with five true features.

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
    factor = np.ones(p)
    factor[:free] = 0.0
    return Batch.build(
        R,
        c,
        s,
        alpha=share * largest,
        radius=radius,
        penalty_factor=factor,
        positive=positive,
        loss=loss,
    )


# The name says what is special; the rest is make_problem's default.
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
