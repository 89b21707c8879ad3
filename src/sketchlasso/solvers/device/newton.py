"""The proximal-point Newton method of :mod:`sketchlasso.kernels.newton`, instances in lock-step.

Every pass of the loop takes one Newton step of every instance that is not finished: one product
for the fits, one batched product for the Gram matrices of the active rows, one batched Cholesky
factorisation. Instances that are finished leave, and the tensors are packed when many have left.
"""

from __future__ import annotations

from dataclasses import dataclass

from sketchlasso.kernels.newton import (
    DAMPING,
    EASY_STEPS,
    FIRST_SIGMA,
    FIRST_TAU,
    GROWTH,
    HARD_STEPS,
    NEGLIGIBLE,
    SETBACK,
    TOO_STEEP,
)
from sketchlasso.problem.formulas import soft_threshold
from sketchlasso.solvers.device.tensors import Rows, Tensor, TensorRecord, certificate, eps


@dataclass(eq=False)
class _State(TensorRecord):
    """Where the instances (b,) stand; the names are those of the kernel."""

    number: Tensor  # place in the tensors of the caller
    u: Tensor  # (b, k)
    seen: Tensor  # A u (b, p)
    w0: Tensor  # (b, p)
    x0: Tensor  # (b, k)
    sigma: Tensor  # (b,), as all below
    tau: Tensor
    gap_before: Tensor
    patience: Tensor
    steps: Tensor
    spent: Tensor


@dataclass(frozen=True, eq=False)
class _ProxPoint:
    """The step function at u."""

    y: Tensor  # (b, p)
    norm: Tensor
    keep: Tensor
    fit: Tensor  # A'y (b, k)
    rho: Tensor
    x: Tensor  # (b, k)
    xhat: Tensor  # (b, k)
    grad: Tensor  # (b, k)


def solve_rows(
    rows: Rows, u: Tensor, w: Tensor, tol: float, max_steps: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Solve instances on their working rows from u (b, k) and w (b, p).

    An instance is finished at a restricted relative gap of `tol`, or after `max_steps`. Returns
    coefficients (b, p), dual candidates (b, k) and Newton steps (b,).
    """
    found = w.clone(), u.clone(), u.new_zeros(len(u))
    state = _start(rows, u, w)
    floor = NEGLIGIBLE * rows.null()
    while True:
        at = _evaluate(rows, state)
        target, gap = _targets(rows, state, at, floor, tol)
        out = (gap <= target) | ~gap.isfinite() | (state.spent >= max_steps)
        moved = _advance_centres(rows, state, at, gap, target, out)
        finished = out.nonzero().squeeze(1)
        number = state.number[finished]
        for every, own in zip(found, (state.w0, state.u, state.spent), strict=True):
            every[number] = own[finished]
        if bool(out.all()):
            return found
        if float(out.float().mean()) >= 0.3:  # pack the tensors
            left = (~out).nonzero().squeeze(1)
            rows, state, floor = rows.take(left), state.take(left), floor[left]
            at = _evaluate(rows, state)
        elif bool(moved.any()):
            at = _evaluate(rows, state)
        _newton_step(rows, state, at)


def _start(rows: Rows, u: Tensor, w: Tensor) -> _State:
    size = rows.null()
    blank = size.new_zeros(len(size))
    seen = rows.see(u)
    return _State(
        number=size.new_ones(len(size)).cumsum(0).long() - 1,
        u=u.clone(),
        seen=seen,
        w0=w.clone(),
        x0=rows.c - rows.combine(w),
        sigma=_first_step_length(rows, seen, size),
        tau=FIRST_TAU * size,
        gap_before=blank + float("inf"),
        patience=blank + HARD_STEPS,
        steps=blank.clone(),
        spent=blank.clone(),
    )


def _first_step_length(rows: Rows, seen: Tensor, size: Tensor) -> Tensor:
    over = soft_threshold(seen, rows.thresholds, rows.positive)
    curvature = rows.combine(over).square().sum(1)
    real = rows.thresholds.isfinite()
    total = (rows.A.square().sum(2) * real).sum(1).clamp_(min=1e-30)
    mean_row = real.sum(1) / total
    active = curvature > 0
    sharp = over.square().sum(1) / curvature.where(active, curvature.new_ones(()))
    return FIRST_SIGMA * size * sharp.where(active, mean_row)


def _evaluate(rows: Rows, state: _State) -> _ProxPoint:
    sigma = state.sigma.unsqueeze(1)
    y = soft_threshold(state.w0 + sigma * state.seen, sigma * rows.thresholds, rows.positive)
    norm = y.norm(dim=1)
    keep = (1.0 - state.sigma * rows.radius / norm.clamp(min=1e-30)).clamp_(min=0.0)
    fit = rows.combine(y)
    xhat = state.x0 + state.tau.unsqueeze(1) * state.u
    rho = _loss_prox_length(xhat.norm(dim=1), rows.s, state.tau)
    x = (rho / (rho + state.tau)).unsqueeze(1) * xhat
    return _ProxPoint(y, norm, keep, fit, rho, x, xhat, rows.c - x - keep.unsqueeze(1) * fit)


def _loss_prox_length(size: Tensor, s: Tensor, tau: Tensor) -> Tensor:
    """Rho (b,) with prox_{tau h}(x) = x rho / (rho + tau); see kernels/dense.py."""
    smooth = s > 0
    inside = s.where(smooth, s.new_ones(()))
    rho = inside.maximum(size - tau)
    for _ in range(8):  # Newton steps, which converge quadratically
        value = (inside / rho).square() + (size / (rho + tau)).square() - 1.0
        slope = -2.0 * inside.square() / rho**3 - 2.0 * size.square() / (rho + tau) ** 3
        rho = rho - value / slope
    return rho.where(smooth, (size - tau).clamp(min=0.0))


def _targets(
    rows: Rows, state: _State, at: _ProxPoint, floor: Tensor, tol: float
) -> tuple[Tensor, Tensor]:
    """The target gap (b,) and the present one, both on the working rows alone."""
    nowhere = state.sigma.new_full((len(state.sigma),), float("inf"))
    w = at.keep.unsqueeze(1) * at.y
    # Some units in the last place: single precision comes to rest within them.
    slack = 32.0 * eps(state.u)
    primal, dual, _ = certificate(rows, w, state.u, nowhere, slack=slack)
    return tol * primal.maximum(floor), primal - dual


def _advance_centres(
    rows: Rows, state: _State, at: _ProxPoint, gap: Tensor, target: Tensor, out: Tensor
) -> Tensor:
    """Begin the next proximal step where this one is good, a shorter one where it is too hard.

    Instances in `out` take over their coefficients. Returns which instances changed.
    """
    good = (state.steps > 0) & _step_is_good(state, at, 0.01 * target)
    tired = (state.steps >= state.patience) & ~good
    setback = tired & (gap > 0.3 * state.gap_before) & ~out
    moved = (good | tired | out) & ~setback
    wide = moved.unsqueeze(1)
    state.w0 = (at.keep.unsqueeze(1) * at.y).where(wide, state.w0)
    state.x0 = (rows.c - at.keep.unsqueeze(1) * at.fit).where(wide, state.x0)
    easy, hard = state.steps <= EASY_STEPS, state.steps >= HARD_STEPS - 2
    factor = state.sigma.new_ones(len(state.sigma))
    factor = factor.where(~(moved & easy), factor * GROWTH)
    factor = factor.where(~(moved & hard), factor / 1.5)
    state.sigma = (state.sigma * factor).where(~setback, state.sigma / SETBACK)
    state.gap_before = gap.where(moved, state.gap_before)
    fresh = state.patience.new_full((), float(HARD_STEPS))
    state.patience = (2.0 * state.patience).where(setback, fresh.where(moved, state.patience))
    changed = moved | setback
    state.steps = state.steps.where(~changed, state.steps.new_zeros(()))
    return changed


def _step_is_good(state: _State, at: _ProxPoint, floor: Tensor) -> Tensor:
    """Whether the error of an unfinished step is no larger than the progress it made."""
    miss = at.grad.square().sum(1)
    error = 2.0 * miss.sqrt()
    sharp = miss / (2.0 * at.rho.clamp(min=1e-30))
    error = error.minimum(sharp.where(at.rho > 0, error)) + miss / (2.0 * state.tau)
    moved_x = (at.x - state.x0).square().sum(1)
    moved_w = (at.keep.unsqueeze(1) * at.y - state.w0).square().sum(1)
    progress = moved_x / (2.0 * state.tau) + moved_w / (2.0 * state.sigma)
    return (error <= progress) | (error <= floor)


def _newton_step(rows: Rows, state: _State, at: _ProxPoint) -> None:
    """One damped Newton step of every instance; moves u and A u."""
    direction = _direction(rows, state, at)
    along = rows.see(direction)
    t = _line_search(rows, state, at, direction, along).unsqueeze(1)
    state.u = state.u + t * direction
    state.seen = state.seen + t * along
    state.steps = state.steps + 1.0
    state.spent = state.spent + 1.0


def _direction(rows: Rows, state: _State, at: _ProxPoint) -> Tensor:
    """H^-1 grad (b, k); H as in the kernel's `newton_direction`."""
    import torch

    sigma, tau, rho = state.sigma, state.tau, at.rho
    safe = rho.clamp(min=1e-30)
    bend = (1.0 - at.x.square().sum(1) * tau / ((rho + tau) * safe.square())).clamp(min=1e-30)
    on_x = (tau.square() / ((rho + tau).square() * safe * bend)).where(rho > 0, rho * 0)
    some = (at.keep > 0) & (at.norm > 0)
    on_fit = (sigma * (1.0 - at.keep) / at.norm.clamp(min=1e-30).square()).where(some, rho * 0)
    on_identity = tau * rho / (rho + tau) + DAMPING * at.grad.norm(dim=1)
    H = _active_gram(rows.A, at.y)
    H *= (sigma * at.keep)[:, None, None]
    largest = 1e300 if H.element_size() == 8 else 1e37
    for weight, vector in ((on_x, at.x), (on_fit, at.fit)):
        scaled = weight.clamp(max=largest).sqrt().unsqueeze(1) * vector
        H += scaled.unsqueeze(2) * scaled.unsqueeze(1)
    diagonal = H.diagonal(dim1=1, dim2=2)
    diagonal += on_identity.unsqueeze(1)
    diagonal += (100.0 * eps(H) * diagonal.mean(1)).unsqueeze(1)
    factor, failed = torch.linalg.cholesky_ex(H)
    direction = torch.cholesky_solve(at.grad.unsqueeze(2), factor).squeeze(2)
    # A gradient step where rounding has left H indefinite.
    plain = at.grad / H.diagonal(dim1=1, dim2=2).amax(1).clamp(min=1e-30).unsqueeze(1)
    usable = (failed == 0) & direction.isfinite().all(1)
    return direction.where(usable.unsqueeze(1), plain)


def _active_gram(A: Tensor, y: Tensor) -> Tensor:
    """Gram matrices (b, k, k) of the rows with y != 0, which are few: they are packed first."""
    count = int((y != 0).sum(1).max())
    if 4 * count < y.shape[1]:
        active = (y != 0).to(A.dtype).topk(max(count, 1), dim=1)
        index = active.indices.unsqueeze(2).expand(-1, -1, A.shape[2])
        packed = A.gather(1, index) * active.values.unsqueeze(2)
        return packed.mT @ packed
    return (A * (y != 0).unsqueeze(2)).mT @ A


def _line_search(rows: Rows, state: _State, at: _ProxPoint, d: Tensor, along: Tensor) -> Tensor:
    """Step lengths (b,): one, or where that is far too long what a line through the slopes says.

    The kernel tries several lengths. Here a few instances would hold up all others.
    """
    start, sigma = (at.grad * d).sum(1), state.sigma.unsqueeze(1)
    v, step = state.w0 + sigma * (state.seen + along), sigma * along
    y = soft_threshold(v, sigma * rows.thresholds, rows.positive)
    keep = (1.0 - state.sigma * rows.radius / y.norm(dim=1).clamp(min=1e-30)).clamp_(min=0.0)
    x = at.xhat + state.tau.unsqueeze(1) * d
    rho = _loss_prox_length(x.norm(dim=1), rows.s, state.tau)
    slope = keep * (y * step).sum(1) / state.sigma - (rows.c * d).sum(1)
    slope += rho / (rho + state.tau) * (x * d).sum(1)
    shorter = (start / (start + slope)).clamp(min=0.1)
    return shorter.where(slope > TOO_STEEP * start, start * 0 + 1.0)
