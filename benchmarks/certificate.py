"""Full-data gaps of sketched solutions against the rank, and how far they really are.

For each penalty the full problem is solved as well, so that the certificate (an upper bound on
the relative distance to the optimum) stands beside the distance itself.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np

from benchmarks.datasets import SEED, Split, available, load
from sketchlasso import Settings, certify, sketch, sqrt_lasso_path

SHARES = (0.3, 0.1, 0.03)
RANKS = (10, 25, 50, 100, 200)
# Name, whether the sketch knows y, radius.
KINDS = (
    ("singular directions, spectral", False, "spectral"),
    ("singular directions, realised", False, "realised"),
    ("response, realised", True, "realised"),
    ("response, 0.3 realised", True, "0.3*realised"),
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", nargs="+", default=["rcv1", "gisette_like", "20news"])
    parser.add_argument("--ranks", type=int, nargs="+", default=list(RANKS))


def run(options: argparse.Namespace) -> None:
    report = options.report
    report.note(
        "full gap: proved by the certificate from the sketched solution alone; true excess: its "
        "full objective over the optimum, less one, the optimum from the exact solver at 1e-6"
    )
    for split in available(options.data, partial(load, quick=options.quick), report.note):
        one_set(split, options)


def one_set(split: Split, options: argparse.Namespace) -> None:
    """Every rank and kind of sketch at a few penalties."""
    X, y = split.X, split.y
    largest = sqrt_lasso_path(X, y, None, alphas=1).alphas.ravel()[0]
    alphas = largest * np.array(SHARES)
    optimum = sqrt_lasso_path(X, y, None, alphas=alphas, settings=Settings(tol=1e-6))
    best, null = optimum.primal, np.linalg.norm(y - y.mean())
    for rank in options.ranks:
        for kind, knows_y, radius in KINDS:
            made = sketch(
                X,
                y if knows_y else None,
                method="response" if knows_y else "randomized",
                rank=min(rank, *X.shape),
                center=True,
                random_state=SEED,
            )
            path = sqrt_lasso_path(X, y, made, alphas=alphas, radius=radius)
            found = certify(X, y, path.models.coef, alphas)
            for a, share in enumerate(SHARES):
                options.report.add(
                    **{
                        "data": split.name,
                        "rank": rank,
                        "sketch": kind,
                        "alpha / alpha_max": share,
                        "non-zeros": int(path.models.n_nonzero[a]),
                        "of the optimum": int(optimum.models.n_nonzero[a]),
                        "full gap": float(found.relative_gap[a]),
                        "true excess": float(found.primal[a] / best[a] - 1.0),
                        "excess of w = 0": float(null / best[a] - 1.0),
                    }
                )
