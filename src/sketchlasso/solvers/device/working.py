"""Which rows an instance works on: the strongest correlations, found by one product and a top-k.

Correlations of all rows are in single precision. Their error is bounded: a row that is
not among the strongest has |a'u| <= threshold + tail + rounding, so a dual point scaled by `cap`
is feasible for it. Everything else of the certificate is computed on the chosen rows, in double
precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sketchlasso.linalg.device import Device
from sketchlasso.problem.batch import Batch
from sketchlasso.problem.formulas import null_dual
from sketchlasso.solvers.device.tensors import Rows, Tensor

CORRELATION_SHARE = 0.3  # of the memory budget, for correlations with all rows
CORRELATION_BYTES = 16  # of an entry, with what a top-k needs for its own work
# No threshold in single precision is larger: infinite ones belong to excluded features.
LARGEST = 1e30

# Half a unit in the last place of single precision.
UNIT = 2.0**-24


@dataclass(frozen=True, eq=False)
class Chosen:
    """Working rows of some instances."""

    index: Tensor  # (b, p): features, in increasing order
    rows: Rows  # in double precision
    cap: Tensor  # (b,): largest scale of u at which no other row can break its threshold
    entering: Tensor  # (b,): rows that break theirs at u


class DeviceBatch:
    """A chunk of a batch on the device, in double precision: c (b, k), s, radius, alpha (b,)."""

    def __init__(self, batch: Batch, shared: SharedFactor) -> None:
        device, torch = shared.device, shared.device.torch
        self.torch, self.shared, self.batch = torch, shared, batch
        self.size, self.positive = batch.n_instances, batch.positive
        self.c = device.tensor(batch.c, torch.float64)
        self.s = device.tensor(batch.s, torch.float64)
        self.radius = device.tensor(batch.radius, torch.float64)
        self.alpha = device.tensor(batch.alpha, torch.float64)
        self.root_of = device.tensor(batch.root_of, torch.int64)
        factor = batch.penalty_factor
        plain = factor.ndim == 1 and bool((factor == 1).all())
        self.factor = None if plain else device.tensor(np.atleast_2d(factor), torch.float64)
        bounds = np.atleast_2d(np.where(np.isinf(factor), 0.0, factor)).max(axis=1)
        least = np.atleast_2d(factor).min(axis=1)
        self.largest_factor = device.tensor(bounds, torch.float64)
        self.least_factor = device.tensor(least, torch.float64)
        self.excluded = None
        if batch.excluded is not None:
            owner = np.repeat(np.arange(self.size), np.diff(batch.excluded.indptr))
            self.excluded = (
                device.tensor(owner, torch.int64),
                device.tensor(batch.excluded.indices, torch.int64),
            )

    def null_dual(self) -> Tensor:
        """Dual points (b, k) of w = 0."""
        return null_dual(self.c, self.s)

    def choose(self, u: Tensor, which: Tensor, support: Tensor | None, count: int) -> Chosen:
        """Return the `count` rows nearest to entering at u (b, k), the support among them.

        `which` (b,) are the instances of this chunk to choose rows for, and `support` (b, q) are
        features that must be chosen; they may repeat.
        """
        roots = self.shared.roots
        lifted = u if roots is None else (roots[self.root_of[which]] @ u.unsqueeze(2)).squeeze(2)
        length = lifted.norm(dim=1)
        # Rows and points of length one at most: single precision neither over- nor underflows.
        scale = self.shared.longest * length
        scale = scale.where(scale > 0, scale.new_ones(()))
        unit = (lifted / length.where(length > 0, length.new_ones(())).unsqueeze(1)).float()
        alpha = (self.alpha[which] / scale).unsqueeze(1)
        # A share of the budget is kept for correlations with all rows.
        room = CORRELATION_SHARE * self.shared.device.budget
        step = max(1, int(room // (CORRELATION_BYTES * self.batch.n_features)))
        parts = [
            self._strongest(
                unit[i : i + step],
                alpha[i : i + step],
                which[i : i + step],
                None if support is None else support[i : i + step],
                count,
            )
            for i in range(0, len(which), step)
        ]
        index, top, tail = (self.torch.cat(part) for part in zip(*parts, strict=True))
        # The strength above which a row enters.
        shift = alpha if self.factor is None else 0.0 * alpha
        rows = self._rows(index, which, barred=top == -float("inf"))
        entering = (top > shift).sum(1)
        cap = self._cap((tail.double() - shift).squeeze(1), scale, which)
        return Chosen(index, rows, cap, entering)

    def _strongest(
        self, unit: Tensor, alpha: Tensor, which: Tensor, support: Tensor | None, count: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Features (b, count), in order, their strengths, and the largest one (b, 1) left out."""
        level = self._levels(unit, alpha, which)
        if support is not None:
            level.scatter_(1, support, float("inf"))
        self._bar(level, which)
        if count >= self.batch.n_features:
            index = self.torch.arange(level.shape[1], device=level.device).repeat(len(which), 1)
            return index, level, level.new_full((len(which), 1), -float("inf"))
        strongest = level.topk(count + 1, dim=1)
        index, order = strongest.indices[:, :-1].sort(dim=1)
        return index, strongest.values[:, :-1].gather(1, order), strongest.values[:, -1:]

    def _levels(self, unit: Tensor, alpha: Tensor, which: Tensor) -> Tensor:
        """Strengths (b, n) in single precision, in units of the longest row and the point.

        With penalty factors |R u| - alpha f, without them |R u|, which saves a pass over all
        correlations.
        """
        seen = unit @ self.shared.single.T
        level = seen.clamp_(min=0.0) if self.positive else seen.abs_()
        if self.factor is None:
            return level
        own = (self.factor if len(self.factor) == 1 else self.factor[which]).float()
        return level.sub_(alpha.clamp(max=LARGEST).float() * own)

    def _bar(self, excess: Tensor, which: Tensor) -> None:
        """Excluded features never enter."""
        if self.excluded is None:
            return
        owner, feature = self.excluded
        place = self.torch.full((self.size,), -1, device=owner.device, dtype=owner.dtype)
        place[which] = self.torch.arange(len(which), device=owner.device)
        here = place[owner] >= 0
        excess[place[owner][here], feature[here]] = -float("inf")

    def _rows(self, index: Tensor, which: Tensor, barred: Tensor) -> Rows:
        A = self.shared.double[index]
        if self.shared.roots is not None:
            A = A @ self.shared.roots[self.root_of[which]]
        thresholds = self.alpha[which].unsqueeze(1).expand(-1, index.shape[1])
        if self.factor is not None:
            shared = len(self.factor) == 1
            own = self.factor[0][index] if shared else self.factor[which.unsqueeze(1), index]
            thresholds = thresholds * own
        thresholds = thresholds.masked_fill(barred, float("inf"))
        return Rows(A, thresholds, self.c[which], self.s[which], self.radius[which], self.positive)

    def _cap(self, tail: Tensor, scale: Tensor, which: Tensor) -> Tensor:
        """Largest a with a (t + tail + rounding) <= t for every threshold t there is.

        The tail (b,) is in units of `scale` (b,), in which a product of k terms loses k UNIT at
        most.
        """
        above = scale * (tail + (self.batch.rank + 8) * UNIT)
        alpha = self.alpha[which]
        factors = [f if len(f) == 1 else f[which] for f in (self.least_factor, self.largest_factor)]
        nowhere = above.new_full((), float("inf"))
        cap = nowhere
        for factor in factors:
            t = alpha * factor
            # Roundings of the threshold itself, in single precision.
            reach = t + above + 4 * UNIT * t
            # Not reach > 0: NaN must prove nothing.
            cap = (t / reach).where(~(reach <= 0), nowhere).minimum(cap)
        return cap.where(tail != -float("inf"), nowhere)


@dataclass(frozen=True, eq=False)
class SharedFactor:
    """What all chunks of a batch share on the device."""

    device: Device
    double: Tensor  # (n, k): P
    single: Tensor  # (n, k): P over the length of its longest row, in single precision
    roots: Tensor | None  # (G, k, k)
    longest: float  # length of the longest row of P

    @classmethod
    def of(cls, batch: Batch, device: Device) -> SharedFactor:
        """Copy P and the roots of a batch to the device."""
        torch = device.torch
        P = np.asarray(batch.P)
        double = device.tensor(P, torch.float64)
        roots: Any = None if batch.roots is None else device.tensor(batch.roots, torch.float64)
        longest = float(np.sqrt(np.max(np.einsum("ij,ij->i", P, P, dtype=np.float64))))
        single = (double / (longest or 1.0)).float()
        return cls(device, double, single, roots, longest)
