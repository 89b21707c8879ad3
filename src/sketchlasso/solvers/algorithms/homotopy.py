"""Paths without a radius, walked knot by knot: proposals for whole chains of penalties."""

from __future__ import annotations

import numpy as np

from sketchlasso.kernels.gram_path import blank_solutions
from sketchlasso.kernels.homotopy import walk_path
from sketchlasso.kernels.instance import NO_ROOT
from sketchlasso.linalg.rows import read_only, stack_rows
from sketchlasso.linalg.threads import map_rows
from sketchlasso.problem.batch import Batch
from sketchlasso.problem.terms import spread_factors
from sketchlasso.solvers.algorithms.protocol import Iterates
from sketchlasso.types import BoolArray, FloatArray, IntArray

# A path has seldom more than three knots per dimension; past this many something is wrong.
KNOTS_PER_RANK = 30


def can_walk(batch: Batch) -> BoolArray:
    """Instances (B,) whose path is piecewise linear and has a simple start.

    The radius must be zero, and coefficients that are free of penalty may have any sign.
    """
    if batch.positive and bool((batch.penalty_factor == 0).any()):
        return np.zeros(batch.n_instances, dtype=bool)
    return batch.radius == 0


def walk_chains(batch: Batch, chain: IntArray, n_threads: int) -> tuple[Iterates, BoolArray]:
    """Propose a solution of every instance of a batch that :func:`can_walk` accepts.

    Instances with the same number in `chain` (B,) differ in alpha only; the knots of a chain count
    as steps of its first instance. Returns also which proposals were found (B,): where a walk ended
    before it came to the penalty, w = 0 is proposed.
    """
    order = np.lexsort((-batch.alpha, chain))
    chains = np.split(order, np.flatnonzero(np.diff(chain[order])) + 1)
    P = read_only(np.ascontiguousarray(batch.P, dtype=np.float64))
    spread = spread_factors(np.arange(batch.n_features))
    walks = map_rows(lambda row: _walk(batch, P, spread, chains[row]), len(chains), n_threads)
    pieces = [(np.empty(0, dtype=np.intp), np.empty(0))] * batch.n_instances
    dual = np.zeros((batch.n_instances, batch.rank))
    steps = np.zeros(batch.n_instances, dtype=np.intp)
    found = np.zeros(batch.n_instances, dtype=bool)
    for members, (coefficients, points, knots) in zip(chains, walks, strict=True):
        reached = members[: len(coefficients)]
        for instance, piece in zip(reached, coefficients, strict=True):
            pieces[instance] = piece
        dual[reached] = points
        found[reached] = True
        steps[members[0]] = knots
    return Iterates(stack_rows(pieces, batch.n_features), dual, steps), found


def _walk(
    batch: Batch, P: FloatArray, spread: FloatArray, members: IntArray
) -> tuple[list[tuple[IntArray, FloatArray]], FloatArray, int]:
    """Coefficients, dual points (found, k) and knots of one chain, from large to small alpha."""
    first, k = int(members[0]), batch.rank
    root = batch.root(first)
    out = blank_solutions(len(members), k, facts=k)
    done, knots = walk_path(
        P,
        NO_ROOT if root is None else root,
        batch.c[first],
        float(batch.s[first]),
        batch.factor_row(first) * spread,
        batch.positive,
        batch.loss == "squared",
        batch.alpha[members],
        KNOTS_PER_RANK * k,
        out,
    )
    coefficients = []
    for i, count in enumerate(out.counts[:done]):
        indices, values = out.indices[i, :count], out.values[i, :count]
        kept = np.flatnonzero(np.isfinite(values) & (values != 0))
        ordered = kept[np.argsort(indices[kept])]
        coefficients.append((indices[ordered], values[ordered]))
    return coefficients, out.facts[:done], knots
