"""The walk down the penalties of the kernel `search_size`, instances in lock-step.

Every instance is at a penalty of its own. A pass over all of them checks which have solved the
problem at their penalty, sets these to their next one, and improves all. So no instance waits for
the slowest one at each penalty, and the host waits for the device once per pass.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from sketchlasso.kernels.support import (
    ALL_AT_ONCE,
    CLOSE,
    EXACT_FIT,
    SEARCH_TOL,
    SMALLEST_SHARE,
    STEP_DOWN,
    TOGETHER,
)
from sketchlasso.solvers.device.support import SupportPoint, improve, violation
from sketchlasso.solvers.device.tensors import Rows, Tensor, TensorRecord

# Passes at one penalty before an instance is given up.
MOST_PASSES = 50
# Tensors are packed when this share of their instances has finished.
PACKED_AT = 0.25


@dataclass(frozen=True, eq=False)
class Walked:
    """Where the walks of instances (b,) ended."""

    alpha: Tensor  # (b,): the penalty; that of an exact fit is infinite
    w: Tensor  # (b, p)
    u: Tensor  # (b, k): dual point
    few: Tensor  # (b,): whether no more coefficients than asked are non-zero
    found: Tensor  # (b,): whether the walk came to its end
    crowded: Tensor  # (b,): whether it needs more slots

    @classmethod
    def blank(cls, rows: Rows) -> Walked:
        """Nothing found yet."""
        none = rows.s > float("inf")
        zero = rows.s * 0
        return cls(zero, rows.thresholds * 0, rows.c * 0, none, none.clone(), none.clone())

    def write(self, which: Tensor, other: Walked) -> None:
        """Take over the results of some instances."""
        for field in fields(self):
            getattr(self, field.name)[which] = getattr(other, field.name)


@dataclass(eq=False)
class _Walk(TensorRecord):
    """Where the walks (b,) stand; `best` is the last point with no more non-zeros than asked."""

    number: Tensor
    low: Tensor
    high: Tensor
    alpha: Tensor
    largest: Tensor
    found: Tensor
    exact: Tensor
    passes: Tensor
    ended: Tensor
    crowded: Tensor
    total: Tensor  # ||c||^2 + s^2
    here: SupportPoint
    best: SupportPoint


def walk_down(rows: Rows, largest: Tensor, size: int, slots: int) -> Walked:
    """Walk down from the largest penalty to the last one with at most `size` non-zeros.

    The rows have the penalty factors as thresholds, and room for `slots` non-zeros. `largest` (b,)
    are the smallest penalties at which no coefficient is non-zero.
    """
    result = Walked.blank(rows)
    walk = _start(rows, largest)
    while True:
        _advance(rows, walk, size, slots)
        out = walk.ended | walk.crowded | (walk.passes > MOST_PASSES)
        share = float(out.double().mean())
        if share >= PACKED_AT:
            gone = out.nonzero().squeeze(1)
            result.write(walk.number[gone], _outcome(rows.take(gone), walk.take(gone), size))
            if share == 1.0:
                return result
            left = (~out).nonzero().squeeze(1)
            rows, walk = rows.take(left), walk.take(left)
        w, rest = improve(_posed(rows, walk.alpha), walk.here, slots)
        walk.here = SupportPoint.of(rows, w, rest)


def _start(rows: Rows, largest: Tensor) -> _Walk:
    """At w = 0, one step below the largest penalty."""
    zero, no = largest * 0, largest != largest
    at = SupportPoint.of(rows, rows.thresholds.new_zeros(rows.thresholds.shape), rows.c)
    return _Walk(
        number=largest.new_ones(len(largest)).cumsum(0).long() - 1,
        low=zero,
        high=largest.clone(),
        alpha=STEP_DOWN * largest,
        largest=largest,
        found=zero.clone(),
        exact=no,
        passes=zero.clone(),
        ended=no.clone(),
        crowded=no.clone(),
        total=at.square,
        here=at,
        best=at,
    )


def _posed(rows: Rows, alpha: Tensor) -> Rows:
    return replace(rows, thresholds=alpha.unsqueeze(1) * rows.thresholds)


def _advance(rows: Rows, walk: _Walk, size: int, slots: int) -> None:
    """Set the instances that have solved their problem to the next penalty, or end their walk."""
    count = (walk.here.w != 0).sum(1).to(walk.found.dtype)
    vanished = ~(walk.here.square > EXACT_FIT * walk.total)
    solved = vanished | (violation(_posed(rows, walk.alpha), walk.here) <= SEARCH_TOL)
    on_way = ~(walk.ended | walk.crowded)
    if slots < rows.thresholds.shape[1]:
        # No slot is left, or the rows that have one cannot leave w = 0 against the radius.
        stuck = (count >= slots) | ((count == 0) & (walk.passes > 0))
        walk.crowded |= on_way & ~solved & stuck
    solved = solved & on_way
    over = solved & (vanished | (count > size))
    under = solved & ~over
    walk.low, walk.exact = walk.alpha.where(over, walk.low), vanished.where(over, walk.exact)
    walk.high, walk.found = walk.alpha.where(under, walk.high), count.where(under, walk.found)
    walk.best = walk.here.where(under, walk.best)
    walk.here = walk.best.where(over, walk.here)
    walk.ended |= solved & _at_end(walk, size)
    between = (walk.low * walk.high).sqrt().where(walk.low > 0, STEP_DOWN * walk.alpha)
    walk.alpha = between.where(solved, walk.alpha)
    walk.passes = (walk.passes + 1.0).where(~solved, walk.passes.new_zeros(()))


def _close(walk: _Walk, size: int) -> Tensor:
    return (walk.low > CLOSE * walk.high) & ((walk.found == size) | walk.exact)


def _at_once(walk: _Walk) -> Tensor:
    return (walk.found == 0) & (walk.low > ALL_AT_ONCE * walk.largest)


def _at_end(walk: _Walk, size: int) -> Tensor:
    """Whether the search of `search_size` ends here (b,)."""
    small = (walk.low == 0) & (walk.alpha * STEP_DOWN < SMALLEST_SHARE * walk.largest)
    return small | _close(walk, size) | (walk.low > TOGETHER * walk.high) | _at_once(walk)


def _outcome(rows: Rows, walk: _Walk, size: int) -> Walked:
    """The results of walks that are at their end, as `search_size` returns them."""
    close, at_once = _close(walk, size), _at_once(walk)
    together = walk.low > TOGETHER * walk.high
    alpha = (STEP_DOWN * walk.largest).where(at_once & ~walk.exact, walk.high)
    alpha = walk.low.where(together & ~walk.exact, alpha)
    alpha = walk.high.where(close, alpha)
    lost = walk.exact & (walk.found == 0)
    few = close | walk.exact | ~(together | at_once)
    rho = walk.best.square.sqrt().clamp(min=1e-300).unsqueeze(1)
    return Walked(
        alpha=alpha.where(~lost, float("inf")),
        w=walk.best.w,
        u=walk.best.rest / rho,
        few=few & ~lost,
        found=walk.ended,
        crowded=walk.crowded,
    )
