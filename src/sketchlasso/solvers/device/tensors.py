"""Instances on their working rows as tensors of a device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

from sketchlasso.problem.batch import Batch
from sketchlasso.problem.formulas import (
    best_on_ray,
    dual_objective,
    feasible_scale,
    magnitude,
    objective,
    response_length,
)

Tensor: TypeAlias = Any


class TensorRecord:
    """Base of data classes of tensors, or of such classes, with one row per instance (b,)."""

    def take(self, which: Tensor) -> Self:
        """Some of the instances."""
        return self._each(lambda part: part[which])

    def to(self, dtype: Any) -> Self:
        """The same in another precision."""
        return self._each(lambda part: part.to(dtype))

    def _each(self, change: Callable[[Tensor], Tensor]) -> Self:
        def changed(part: Any) -> Any:
            if isinstance(part, TensorRecord):
                return part._each(change)
            return part if isinstance(part, bool) else change(part)

        kind: Any = type(self)
        made: Self = kind(*map(changed, vars(self).values()))
        return made


@dataclass(frozen=True, eq=False)
class Rows(TensorRecord):
    """Instances (b,) on p working rows each."""

    A: Tensor  # (b, p, k): rows of every instance's R
    thresholds: Tensor  # (b, p): alpha f_j; infinite on rows that only fill up
    c: Tensor  # (b, k)
    s: Tensor  # (b,)
    radius: Tensor  # (b,)
    positive: bool

    def see(self, u: Tensor) -> Tensor:
        """R u (b, p) for u (b, k)."""
        return (self.A @ u.unsqueeze(2)).squeeze(2)

    def combine(self, w: Tensor) -> Tensor:
        """R'w (b, k) for w (b, p)."""
        return (w.unsqueeze(1) @ self.A).squeeze(1)

    def null(self) -> Tensor:
        """Objective (b,) at w = 0."""
        return response_length(self.c, self.s)


def eps(like: Tensor) -> float:
    """Distance of 1 from the next number in the tensor's precision."""
    return 2.0**-52 if like.element_size() == 8 else 2.0**-23


def certificate(
    rows: Rows, w: Tensor, u: Tensor, cap: Tensor, slack: float = 1e-13
) -> tuple[Tensor, Tensor, Tensor]:
    """Primal and dual values (b,) of w (b, p) and u (b, k), and the scale that makes u feasible.

    `cap` (b,) is the largest scale at which no row outside the working rows can break its
    threshold.
    """
    size = magnitude(rows.see(u), rows.positive)
    inner, length = (rows.c * u).sum(1), u.norm(dim=1)
    largest = best_on_ray(inner, length, rows.s).minimum(cap)
    scale = feasible_scale(size, rows.thresholds, rows.radius, largest, slack)
    dual = dual_objective(scale * inner, (scale * length).square(), rows.s)
    loss = response_length(rows.c - rows.combine(w), rows.s)
    l1 = (rows.thresholds * w.abs()).where(w != 0, w.new_zeros(())).sum(1)
    return objective(loss, w.norm(dim=1), l1, rows.radius), dual, scale


def suits(batch: Batch) -> bool:
    """Whether the device's method supports these problems; the CPU solves the others."""
    return batch.loss == "sqrt" and bool((batch.penalty_factor > 0).all())
