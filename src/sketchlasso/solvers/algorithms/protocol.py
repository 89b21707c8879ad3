"""The interface of solvers: they propose iterates, and the driver does the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

import numpy as np

from sketchlasso.linalg.rows import stack_rows
from sketchlasso.problem import formulas
from sketchlasso.problem.batch import Batch
from sketchlasso.problem.dual import Certificate, certify_batch
from sketchlasso.problem.screening import RowNorms, gap_safe_rule, norm_rule
from sketchlasso.solvers.settings import Settings
from sketchlasso.types import BoolArray, FloatArray, IntArray, Loss, RealArray, SparseRows

# A coefficient this much smaller than the largest may be rounding of an exact zero.
NEGLIGIBLE = 1e-4


@dataclass(frozen=True, eq=False)
class Iterates:
    """Proposed solutions of some instances.

    Attributes
    ----------
    coef : csr_array of shape (b, n)
    dual : ndarray of shape (b, k)
        Dual candidates; need not be feasible.
    steps : ndarray of shape (b,)
        Inner iterations spent on this proposal.
    """

    coef: SparseRows
    dual: FloatArray
    steps: IntArray

    def take(self, rows: IntArray) -> Iterates:
        """The iterates of some of the instances; these themselves where it is all of them."""
        if np.array_equal(rows, np.arange(len(self.steps))):
            return self
        return Iterates(self.coef[rows], self.dual[rows], self.steps[rows])


@dataclass(frozen=True, eq=False)
class Round:
    """State of the instances (b,) that were open before the latest proposal."""

    batch: Batch  # these instances only
    instances: IntArray  # (b,): their numbers in the chunk; an algorithm keeps its state under them
    iterates: Iterates  # the latest proposal
    correlation: RealArray  # (b, n): R u at the latest dual candidate
    certificate: Certificate
    norms: RowNorms | None  # where a safe rule is in force
    reach: FloatArray  # (b,): bound on the length of the optimal dual point
    margin: FloatArray  # (b,): of the static rule in force; infinite where none is
    distance: FloatArray  # (b,): gap-safe distance; infinite where that rule is off
    number: int  # 0 for the first round


class Algorithm(Protocol):
    """A solver of batches."""

    def start(self, batch: Batch, settings: Settings) -> None:
        """Prepare for a chunk of instances."""
        ...

    def advance(self, view: Round, rows: IntArray) -> Iterates:
        """Propose better iterates for the instances in some rows (c,) of a view, still open."""
        ...


@dataclass(frozen=True, eq=False)
class Instance:
    """One problem with its own R, restricted to the features (one or more) not removed.

        minimise  sqrt(||c - R'w||^2 + s^2) + radius ||w||_2 + sum_j thresholds_j |w_j|

    or, for the squared loss, the elastic net of :class:`~sketchlasso.problem.batch.Batch`.
    """

    R: FloatArray  # (p, k)
    c: FloatArray  # (k,)
    s: float
    radius: float
    thresholds: FloatArray  # (p,): finite
    positive: bool
    loss: Loss
    length: float = 1.0  # what the response was divided by

    @property
    def squared(self) -> bool:
        """Whether the loss is the squared one."""
        return self.loss == "squared"

    def with_unit_response(self) -> Instance:
        """The instance with (c, s) divided by their length; w shrinks with it.

        The length is the loss at w = 0; 1 where the response is zero.
        """
        length = float(formulas.response_length(self.c[None], self.s)[0]) or 1.0
        thresholds = self.thresholds / length if self.squared else self.thresholds
        return replace(
            self, c=self.c / length, s=self.s / length, thresholds=thresholds, length=length
        )

    def restored(self, w: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coefficients (p,) and dual point (k,) for the response before it was divided."""
        return self.length * w, (self.length if self.squared else 1.0) * u


class InstanceSolver(Protocol):
    """A solver of one instance, which it was made for."""

    def improve(self) -> tuple[FloatArray, FloatArray, int]:
        """Go on; return w (p,), a dual candidate u (k,) and the steps spent."""
        ...


# Makes the solver of an instance that starts at w (p,), u (k,).
MakeSolver: TypeAlias = Callable[[Instance, FloatArray, FloatArray], InstanceSolver]


class PerInstance:
    """Solves the instances of a batch in turn, each by a solver of its own."""

    def __init__(self, make_solver: MakeSolver) -> None:
        self._make_solver = make_solver

    def start(self, batch: Batch, settings: Settings) -> None:
        """Forget earlier chunks."""
        self._open: dict[int, tuple[IntArray, InstanceSolver | None]] = {}

    def advance(self, view: Round, rows: IntArray) -> Iterates:
        """Let the solver of each open instance improve it."""
        batch = view.batch
        dual, steps = np.empty((len(rows), batch.rank)), np.empty(len(rows), dtype=np.intp)
        pieces: list[tuple[IntArray, FloatArray]] = []
        for place, row in enumerate(rows):
            number = view.instances[row]
            if number not in self._open:
                self._open[number] = self._begin(view, row)
            features, solver = self._open[number]
            if solver is None:
                null = dual_of_zero(batch.c[row], batch.s[row], batch.loss)
                w, dual[place], steps[place] = np.zeros(0), null, 0
            else:
                w, dual[place], steps[place] = solver.improve()
            support = np.flatnonzero(w)
            pieces.append((features[support], w[support]))
        return Iterates(coef=stack_rows(pieces, batch.n_features), dual=dual, steps=steps)

    def _begin(self, view: Round, row: int) -> tuple[IntArray, InstanceSolver | None]:
        """The features that are left, and a solver for them; None where none is left."""
        batch = view.batch
        thresholds = batch.thresholds(row)
        features = np.flatnonzero(~removed_features(view, row) & np.isfinite(thresholds))
        if not len(features):
            return features, None
        instance = Instance(
            R=batch.rows(row, features),
            c=batch.c[row],
            s=float(batch.s[row]),
            radius=float(batch.radius[row]),
            thresholds=thresholds[features],
            positive=batch.positive,
            loss=batch.loss,
        )
        w = view.iterates.coef[[row]].toarray().ravel()[features]
        return features, self._make_solver(instance, w, view.iterates.dual[row].copy())


def removed_features(view: Round, row: int) -> BoolArray:
    """Features (n,) that the safe rules in force prove zero for one open instance."""
    if view.norms is None:
        return np.zeros(view.batch.n_features, dtype=bool)
    removed = norm_rule(view.batch, view.norms, row, float(view.margin[row]))
    scale = view.certificate.scale[row]
    if np.isfinite(view.distance[row]) and np.isfinite(scale):
        seen = view.correlation[row] * scale
        removed |= gap_safe_rule(view.batch, view.norms, row, seen, float(view.distance[row]))
    return removed


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
        rounded=True,
    )


def dual_of_zero(c: FloatArray, s: float, loss: Loss) -> FloatArray:
    """The dual point (k,) of w = 0, which is optimal when no feature is left."""
    return c if loss == "squared" else np.asarray(formulas.null_dual(c[None], s))[0]


class Best:
    """The best primal and the best dual point seen so far; they need not belong together.

    `primal` is the objective at w (p,), `dual` that at the feasible point that u (k,) gives.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance, self._batch = instance, as_batch(instance)
        self.w, self.primal = np.zeros(len(instance.R)), np.inf
        self.u, self.dual = np.zeros(len(instance.c)), -np.inf
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
