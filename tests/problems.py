"""Random problems of every regime, for property tests and solver comparisons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from sketchlasso.problem import Batch, alpha_max


@dataclass(frozen=True)
class Recipe:
    """Everything that decides a random batch; hypothesis draws it, `batch` builds it."""

    seed: int
    n: int
    k: int
    radius: float
    s: float
    shares: tuple[float, ...] = (1.2, 0.7, 0.1, 0.001)
    duplicated: bool = False
    zero_rows: bool = False
    factors: bool = False
    rooted: bool = False
    positive: bool = False
    loss: str = "sqrt"
    dtype: str = "float64"

    def batch(self) -> Batch:
        rng = np.random.default_rng(self.seed)
        P = rng.normal(size=(self.n, self.k)) * np.exp(rng.normal(size=self.k))
        if self.zero_rows:
            P[rng.integers(0, self.n, size=self.n // 4 + 1)] = 0.0
        if self.duplicated:
            P[rng.integers(0, self.n, size=self.n // 3 + 1)] = P[0]
        truth = rng.normal(size=self.n) * (rng.random(self.n) < 0.1)
        c = P.T @ truth + 0.3 * rng.normal(size=self.k)
        size = len(self.shares)
        options = {
            "radius": self.radius,
            "penalty_factor": self._factors(rng) if self.factors else None,
            "positive": self.positive,
            "loss": self.loss,
        }
        if self.rooted:
            options["roots"] = self._roots(rng)
            options["root_of"] = np.arange(size) % 2
        P = P.astype(self.dtype)
        C = np.tile(c, (size, 1))
        largest = alpha_max(Batch.build(P, C, self.s, alpha=1.0, **options))
        alpha = np.maximum(largest, 1e-3) * np.array(self.shares)
        return Batch.build(P, C, self.s, alpha=alpha, **options)

    def _factors(self, rng: np.random.Generator) -> np.ndarray:
        factor = np.ones(self.n)
        for value in (3.0, 0.5, np.inf, 0.0):
            factor[rng.integers(0, self.n)] = value
        return factor

    def _roots(self, rng: np.random.Generator) -> np.ndarray:
        samples = rng.normal(size=(2, 3 * self.k + 2, self.k))
        grams = np.einsum("gij,gik->gjk", samples, samples) / (3 * self.k + 2)
        return np.linalg.cholesky(grams)


@st.composite
def recipes(
    draw: st.DrawFn,
    max_n: int = 400,
    max_k: int = 40,
    offsets: tuple[float, ...] = (0.0, 0.1, 3.0),
    dtypes: tuple[str, ...] = ("float64", "float64", "float32"),
) -> Recipe:
    """Draw a recipe; `offsets` (the values of s) and `dtypes` narrow the regimes."""
    return Recipe(
        seed=draw(st.integers(0, 2**31)),
        n=draw(st.integers(1, max_n)),
        k=draw(st.integers(1, max_k)),
        radius=draw(st.sampled_from([0.0, 1e-3, 0.1, 1.0, 30.0])),
        s=draw(st.sampled_from(offsets)),
        duplicated=draw(st.booleans()),
        zero_rows=draw(st.booleans()),
        factors=draw(st.booleans()),
        rooted=draw(st.booleans()),
        positive=draw(st.booleans()),
        loss=draw(st.sampled_from(["sqrt", "sqrt", "squared"])),
        dtype=draw(st.sampled_from(dtypes)),
    )
