"""The robust problem of a few rows, instances in lock-step.

Twin of `solve_on_gram` in :mod:`sketchlasso.kernels.support`. The kernel finds the support by
sweeps over single coefficients, one after another. Here the rows that exceed their threshold most
enter together, by a step that cannot raise the objective, and Newton's method on the support
follows, as in the kernel. Its matrices have the size of the support and not of the sketch.
"""

from __future__ import annotations

from dataclasses import dataclass

from sketchlasso.kernels.support import RIDGE, SEARCH_TOL
from sketchlasso.problem.formulas import soft_threshold
from sketchlasso.solvers.device.tensors import Rows, Tensor, TensorRecord

# Rows that may enter in one pass; from w = 0 all that have a slot.
ENTERING = 4
NEWTON_STEPS = 3
# Halvings of a Newton step that are tried; coefficients that change sign stop at zero.
HALVINGS = 4
# An objective that rises by no more than this share has not risen.
ROUNDING = 1e-15
TINY = 1e-300


@dataclass(eq=False)
class SupportPoint(TensorRecord):
    """Coefficients of instances (b,) on p working rows."""

    w: Tensor  # (b, p)
    rest: Tensor  # (b, k): c - A'w
    seen: Tensor  # (b, p): A rest
    square: Tensor  # (b,): rho^2 = ||rest||^2 + s^2

    @classmethod
    def of(cls, rows: Rows, w: Tensor, rest: Tensor) -> SupportPoint:
        """The point with these coefficients (b, p) and residuals (b, k)."""
        return cls(w, rest, rows.see(rest), rest.square().sum(1) + rows.s.square())

    def where(self, condition: Tensor, other: SupportPoint) -> SupportPoint:
        """Return this point where the condition (b,) holds, the other one elsewhere."""
        wide = condition.unsqueeze(1)
        return SupportPoint(
            self.w.where(wide, other.w),
            self.rest.where(wide, other.rest),
            self.seen.where(wide, other.seen),
            self.square.where(condition, other.square),
        )


def violation(rows: Rows, at: SupportPoint) -> Tensor:
    """Largest break (b,) of the optimality conditions, relative to the threshold it breaks."""
    slope = at.seen / at.square.sqrt().clamp_(min=TINY).unsqueeze(1)
    v = at.w.norm(dim=1)
    pull = (rows.radius / v.clamp(min=TINY)).unsqueeze(1)
    inside = slope.addcmul(pull, at.w, value=-1.0)
    inside = inside.addcmul_(at.w.sign(), rows.thresholds, value=-1.0).abs_()
    outside = ((slope if rows.positive else slope.abs()) - rows.thresholds).clamp_(min=0.0)
    worst = inside.where(at.w != 0, outside).div_(rows.thresholds).amax(1)
    optimal_zero = (v == 0) & (outside.norm(dim=1) <= rows.radius * (1.0 + 1e-12))
    return worst.masked_fill_(optimal_zero, 0.0)


def improve(rows: Rows, at: SupportPoint, slots: int) -> tuple[Tensor, Tensor]:
    """Let rows enter and take Newton steps on the support; returns w (b, p) and the rest (b, k).

    At most `slots` coefficients of an instance may be non-zero.
    """
    place, live = _slots(rows, at, slots)
    few = Rows(
        rows.A.gather(1, place.unsqueeze(2).expand(-1, -1, rows.A.shape[2])) * live.unsqueeze(2),
        rows.thresholds.gather(1, place).where(live, rows.thresholds.new_zeros(())),
        rows.c,
        rows.s,
        rows.radius,
        rows.positive,
    )
    on = _Support(few, at.w.gather(1, place), at.seen.gather(1, place), at.square)
    on.enter(live)
    for _ in range(NEWTON_STEPS):
        on.newton_step()
    w = at.w.new_zeros(at.w.shape).scatter_(1, place, on.w)
    return w, rows.c - few.combine(on.w)


def _slots(rows: Rows, at: SupportPoint, slots: int) -> tuple[Tensor, Tensor]:
    """Rows (b, slots) of the support and those that enter, and which slots are in use."""
    import torch

    level = at.seen if rows.positive else at.seen.abs()
    rho = at.square.sqrt().clamp_(min=TINY).unsqueeze(1)
    ratio = level / (rho * rows.thresholds)
    on = at.w != 0
    score = (ratio * (ratio > 1.0 + SEARCH_TOL)).masked_fill_(on, float("inf"))
    top = score.topk(min(slots, score.shape[1]), dim=1)
    count = on.sum(1, keepdim=True)
    most = (count + ENTERING).masked_fill_(count == 0, slots)
    # Without a radius, more rows than the rank have a singular Gram matrix: one more at a time.
    rank = (count + 1).clamp_(min=rows.c.shape[1])
    most = most.minimum(rank).where(rows.radius.unsqueeze(1) == 0, most)
    order = torch.arange(top.values.shape[1], device=score.device)
    return top.indices, (top.values > 0) & (order < most)


class _Support:
    """Instances (b,) on their slots m: rows, their Gram matrices, w, q = A rest and rho^2."""

    def __init__(self, rows: Rows, w: Tensor, q: Tensor, square: Tensor) -> None:
        import torch

        self.rows, self.w, self.q, self.square = rows, w, q, square
        self.gram = rows.A @ rows.A.mT
        halves = 0.5 ** torch.arange(HALVINGS, device=w.device, dtype=w.dtype)
        self.shares = halves.expand(len(w), -1)
        self.stay = w.new_zeros((len(w), 1))

    def enter(self, live: Tensor) -> None:
        """Move the coefficients that enter along their excess over the threshold.

        rho and ||w|| are replaced by the quadratics above them that touch at the present point
        (see :mod:`sketchlasso.kernels.support`); the step to their minimum cannot overshoot.
        From w = 0 the norm grows linearly along the direction instead.
        """
        rho, v = self.square.sqrt().clamp_(min=TINY), self.w.norm(dim=1)
        excess = soft_threshold(self.q / rho.unsqueeze(1), self.rows.thresholds, self.rows.positive)
        d = excess * (live & (self.w == 0))
        length = d.norm(dim=1)
        seen = (self.gram @ d.unsqueeze(2)).squeeze(2)
        from_zero = v == 0
        steep = (length - self.rows.radius * from_zero).clamp_(min=0.0)
        round_ = (self.rows.radius / v.clamp_(min=TINY)).masked_fill_(from_zero, 0.0)
        bend = (seen * d).sum(1) / rho + round_ * length.square()
        t = (length * steep / bend.clamp_(min=TINY)).unsqueeze(1)
        self.square = (self.square + (t * (t * seen - 2.0 * self.q) * d).sum(1)).clamp_(min=0.0)
        self.w, self.q = self.w.addcmul(t, d), self.q.addcmul(t, seen, value=-1.0)

    def newton_step(self) -> None:
        """Take the largest share of the Newton step that does not raise the objective."""
        import torch

        d, w = self._direction().unsqueeze(1), self.w.unsqueeze(1)
        turn = -self.w / d.squeeze(1)
        # A little more than the way to the first zero, so that it is reached in spite of rounding.
        first = turn.masked_fill_(~(turn > 0), 1.0).amin(1, keepdim=True) * (1.0 + 1e-12)
        t = torch.cat([self.shares, first, self.stay], dim=1)
        tried = w.addcmul(t.unsqueeze(2), d)
        tried *= tried * w > 0
        moved = tried - w
        seen = moved @ self.gram
        change = (seen.sub(self.q.unsqueeze(1), alpha=2.0) * moved).sum(2)
        square = (self.square.unsqueeze(1) + change).clamp_(min=0.0)
        after = self._objective(tried, square)
        best = (after <= after[:, -1:] * (1.0 + ROUNDING)).to(torch.uint8).argmax(1, keepdim=True)
        own = best.unsqueeze(2).expand(-1, -1, self.w.shape[1])
        self.w = tried.gather(1, own).squeeze(1)
        self.q = self.q - seen.gather(1, own).squeeze(1)
        self.square = square.gather(1, best).squeeze(1)

    def _objective(self, w: Tensor, square: Tensor) -> Tensor:
        """Values (b, h) of w (b, h, m) with rho^2 (b, h)."""
        norms = square.sqrt().addcmul_(self.rows.radius.unsqueeze(1), w.norm(dim=2))
        return norms + (w.abs() @ self.rows.thresholds.unsqueeze(2)).squeeze(2)

    def _direction(self) -> Tensor:
        """H^-1 slope (b, m) on the support, H as in the kernel's `newton_step`; 0 if singular."""
        import torch

        on = self.w != 0
        rho = self.square.sqrt().clamp_(min=TINY).unsqueeze(1)
        v = self.w.norm(dim=1, keepdim=True).clamp_(min=TINY)
        pull = self.rows.radius.unsqueeze(1) / v
        slope = (self.q / rho).mul_(on)
        bends = torch.stack([slope / rho.sqrt(), pull.sqrt() / v * self.w], dim=2)
        slope = slope.addcmul_(pull, self.w, value=-1.0)
        slope = slope.addcmul_(self.w.sign(), self.rows.thresholds, value=-1.0)
        H = self.gram * (on.unsqueeze(1) & on.unsqueeze(2)) / rho.unsqueeze(2)
        H = H.baddbmm_(bends, bends.mT, alpha=-1.0)
        diagonal = H.diagonal(dim1=1, dim2=2)
        diagonal += pull
        diagonal += RIDGE * diagonal.mean(1, keepdim=True)
        diagonal.masked_fill_(~on, 1.0)
        found, _ = torch.linalg.solve_ex(H, slope.unsqueeze(2))
        return found.squeeze(2).nan_to_num_(0.0, 0.0, 0.0)
