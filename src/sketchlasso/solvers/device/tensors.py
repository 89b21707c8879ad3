"""A batch as tensors of a device, and the formulas of the dual on them.

These are twins of :mod:`sketchlasso.problem` and of the kernels, on tensors with one row per
instance; `tests/unit/solvers/test_device_formulas.py` compares them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias

from sketchlasso.kernels.instance import NEGLIGIBLE
from sketchlasso.problem.batch import Batch

__all__ = [
    "Rows",
    "Tensor",
    "best_on_ray",
    "certificate",
    "eps",
    "feasible_scale",
    "largest_penalties",
    "null_dual",
    "relative_gap",
    "shrink",
    "suits",
]

Tensor: TypeAlias = Any

SCALE_STEPS = 100


@dataclass(frozen=True, eq=False)
class Rows:
    """Instances (b,) on p working rows each.

    Attributes
    ----------
    A : tensor of shape (b, p, k)
        Rows of every instance's R.
    thresholds : tensor of shape (b, p)
        alpha f_j; infinite on rows that only fill up.
    c : tensor of shape (b, k)
    s, radius : tensor of shape (b,)
    nonnegative : bool
    """

    A: Tensor
    thresholds: Tensor
    c: Tensor
    s: Tensor
    radius: Tensor
    nonnegative: bool

    def take(self, which: Tensor) -> Rows:
        """Some of the instances."""
        return Rows(
            **{
                field.name: value[which] if field.name != "nonnegative" else value
                for field in fields(self)
                for value in [getattr(self, field.name)]
            }
        )

    def to(self, dtype: Any) -> Rows:
        """The same in another precision."""
        return replace(
            self,
            A=self.A.to(dtype),
            thresholds=self.thresholds.to(dtype),
            c=self.c.to(dtype),
            s=self.s.to(dtype),
            radius=self.radius.to(dtype),
        )

    def see(self, u: Tensor) -> Tensor:
        """R u (b, p) for u (b, k)."""
        return (self.A @ u.unsqueeze(2)).squeeze(2)

    def combine(self, w: Tensor) -> Tensor:
        """R'w (b, k) for w (b, p)."""
        return (w.unsqueeze(1) @ self.A).squeeze(1)

    def null(self) -> Tensor:
        """Objective (b,) at w = 0."""
        return null_value(self.c, self.s)


def null_value(c: Tensor, s: Tensor) -> Tensor:
    """Objective (b,) at w = 0."""
    return (c.square().sum(1) + s.square()).sqrt()


def null_dual(c: Tensor, s: Tensor) -> Tensor:
    """Dual points (b, k) of w = 0, as :func:`~sketchlasso.problem.penalty_max.null_model`."""
    length = null_value(c, s)
    return c / length.where(length > 0, length.new_ones(())).unsqueeze(1)


def eps(like: Tensor) -> float:
    """Distance of 1 from the next number in the tensor's precision."""
    return 2.0**-52 if like.element_size() == 8 else 2.0**-23


def shrink(x: Tensor, threshold: Tensor, nonnegative: bool) -> Tensor:
    """Soft threshold; one-sided where coefficients may not be negative."""
    if nonnegative:
        return (x - threshold).clamp_(min=0.0)
    return x.sign() * (x.abs() - threshold).clamp_(min=0.0)


def best_on_ray(inner: Tensor, length: Tensor, s: Tensor) -> Tensor:
    """Scaling (b,) of u that maximises the dual objective when its constraint is ignored."""
    ready = (length > 0) & (inner > 0)
    safe = length.where(ready, length.new_ones(()))
    along = inner / safe
    return (along / (along.square() + s.square()).sqrt() / safe).where(ready, length.new_zeros(()))


def feasible_scale(
    size: Tensor, thresholds: Tensor, radius: Tensor, largest: Tensor, slack: float
) -> Tensor:
    """Largest a (b,) in [0, `largest`] with ||(a size - thresholds)_+|| <= radius (1 + slack).

    Newton's method from the right descends monotonically, as in the kernel of the same name.
    """
    rigid = radius <= 0
    # At the root no single term exceeds the radius; without a radius this is the answer.
    reach = ((thresholds + radius.clamp(min=0.0).unsqueeze(1)) / size).where(
        size * largest.unsqueeze(1) > thresholds, size.new_full((), float("inf"))
    )
    scale = largest.minimum(reach.amin(1))
    limit = radius * (1.0 + slack)
    least = scale.new_full((), 2.0 * eps(scale)).expand_as(scale)
    for _ in range(SCALE_STEPS):
        over = (scale.unsqueeze(1) * size - thresholds).clamp_(min=0.0)
        norm = over.norm(dim=1)
        # Not norm > limit: a norm that overflows must prove nothing.
        beyond = ~(norm <= limit) & ~rigid
        if not bool(beyond.any()):
            return scale
        slope = (over * size).sum(1) / norm
        step, shortest = (norm - radius) / slope, least * scale
        hidden = ~(step > shortest)
        step = shortest.where(hidden, step)
        least = (2.0 * least).where(hidden, least)
        scale = (scale - step).clamp_(min=0.0).where(beyond, scale)
    # A point that does not come to rest proves nothing; zero is feasible in any case.
    return scale.where(~beyond, scale.new_zeros(()))


def certificate(
    rows: Rows, w: Tensor, u: Tensor, cap: Tensor, slack: float = 1e-13
) -> tuple[Tensor, Tensor, Tensor]:
    """Primal and dual values (b,) of w (b, p) and u (b, k), and the scale that makes u feasible.

    `cap` (b,) is the largest scale at which no row outside the working rows can break its
    threshold.
    """
    seen = rows.see(u)
    size = seen.clamp(min=0.0) if rows.nonnegative else seen.abs()
    inner, length = (rows.c * u).sum(1), u.norm(dim=1)
    largest = best_on_ray(inner, length, rows.s).minimum(cap)
    scale = feasible_scale(size, rows.thresholds, rows.radius, largest, slack)
    dual = scale * inner + rows.s * (1.0 - (scale * length).square()).clamp_(min=0.0).sqrt()
    return primal_value(rows, w), dual, scale


def primal_value(rows: Rows, w: Tensor) -> Tensor:
    """Objective (b,) at coefficients w (b, p) on the working rows."""
    rest = rows.c - rows.combine(w)
    loss = (rest.square().sum(1) + rows.s.square()).sqrt()
    weighted = (rows.thresholds * w.abs()).where(w != 0, w.new_zeros(()))
    return loss + rows.radius * w.norm(dim=1) + weighted.sum(1)


def relative_gap(primal: Tensor, dual: Tensor, null: Tensor) -> Tensor:
    """(primal - dual) / primal (b,), never negative; see :mod:`sketchlasso.problem.objective`."""
    scale = primal.maximum(NEGLIGIBLE * null)
    gap = (primal - dual).clamp_(min=0.0)
    return (gap / scale).where(scale != 0, gap.new_zeros(()))


def largest_penalties(rows: Rows, u: Tensor) -> Tensor:
    """Smallest alpha (b,) with ||(|R u| - alpha f)_+|| <= radius, Newton from the left.

    The strongest rows are enough: no other exceeds its threshold at the answer. `thresholds` are
    the factors f here.
    """
    seen = rows.see(u)
    size = seen.clamp(min=0.0) if rows.nonnegative else seen.abs()
    f, radius = rows.thresholds, rows.radius
    real = f.isfinite() & (size > 0)
    f = f.where(real, f.new_ones(()))
    size = size * real
    largest = (size / f).amax(1)
    alpha = ((size - radius.unsqueeze(1)) / f).amax(1).clamp_(min=0.0)
    for _ in range(200):
        over = (size - alpha.unsqueeze(1) * f).clamp_(min=0.0)
        norm = over.norm(dim=1)
        beyond = norm > radius * (1.0 + 1e-14)
        step = (norm - radius) * norm / (over * f).sum(1)
        moved = (alpha + step).minimum(largest).where(beyond & (radius > 0), alpha)
        if bool((moved == alpha).all()):
            break
        alpha = moved
    return largest.where(radius <= 0, alpha)


def suits(batch: Batch) -> bool:
    """Whether the device's method supports these problems; the CPU solves the others."""
    return batch.loss == "sqrt" and bool((batch.penalty_factor > 0).all())
