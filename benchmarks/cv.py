"""5-fold cross-validation over 100 penalties, sketch and refit included, against the peers.

Claim under test: at least 100 times faster than scikit-learn's LassoCV on the same folds, at
equal or better test F1. Ours counts sketch, build, solve, scores on held-out rows and the refit
at the penalty of least mean squared error. LassoCV gets CSC or Fortran order, what it works on.

Grids: every side walks from the penalty at which its own model is empty down to the same share
of it. For the LASSO that is max |Xc'yc| / m, c for centred; for ours alpha_max(radius), which
falls as the radius grows. The two penalties are not the same number: at radius 0 a LASSO
penalty a and ours are one problem when a = ours * ||residual|| / m.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV
from sklearn.metrics import f1_score

from benchmarks.datasets import Split, available, folds, load
from benchmarks.harness import Measured, Outcome, alternate, run_limited
from benchmarks.pipeline import Fitted, cross_validated
from benchmarks.report import Report

DATA = ("rcv1", "20news", "imdb", "gisette_like")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", nargs="+", default=list(DATA))
    parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=list(PEERS))
    parser.add_argument("--rank", type=int, default=50)
    parser.add_argument("--method", default="randomized", help="of the sketch")
    parser.add_argument("--alphas", type=int, help="penalties (100; quick: 10)")
    parser.add_argument("--ratio", type=float, default=1e-3, help="smallest / largest penalty")
    parser.add_argument("--shares", type=float, nargs="+", default=[1.0, 0.3, 0.1])
    parser.add_argument("--tol", type=float, default=1e-6, help="relative gap of ours")
    parser.add_argument("--peer-tol", type=float, default=1e-3)


def pipeline(split: Split, share: float, options: argparse.Namespace) -> Fitted:
    """Everything a user waits for, at a share of the spectral radius."""
    return cross_validated(
        split,
        rank=options.rank,
        method=options.method,
        radius=f"{share}*spectral",
        alphas=options.alphas,
        ratio=options.ratio,
        tol=options.tol,
        metric="mse",
    )


@dataclass(frozen=True)
class Peer:
    """What a peer's process sends back; `gap` is that of the refit, relative."""

    test_f1: float
    nonzeros: int
    alpha_share: float
    at_edge: bool
    gap: float
    warned: bool


def unconverged(caught: list[warnings.WarningMessage]) -> bool:
    """Whether one of the warnings is about convergence; others come from joblib."""
    return any(issubclass(warning.category, ConvergenceWarning) for warning in caught)


def lasso_cv(name: str, quick: bool, alphas: int, ratio: float, tol: float) -> Callable[[], Peer]:
    """scikit-learn's LassoCV, ready to run."""
    split = load(name, quick)
    X = peer_layout(split.X)
    model = LassoCV(alphas=alphas, eps=ratio, cv=folds(len(split.y)), tol=tol, n_jobs=2)

    def run() -> Peer:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            model.fit(X, split.y)
        residual = split.y - model.predict(X)
        value = residual @ residual / (2 * len(residual)) + model.alpha_ * abs(model.coef_).sum()
        return Peer(
            f1_score(split.y_test > 0, model.predict(split.X_test) > 0),
            int(np.count_nonzero(model.coef_)),
            float(model.alpha_ / model.alphas_[0]),
            bool(model.alpha_ == model.alphas_[-1]),
            float(model.dual_gap_ / value),
            unconverged(caught),
        )

    return run


def celer_cv(name: str, quick: bool, alphas: int, ratio: float, tol: float) -> Callable[[], Peer]:
    """A loop of celer paths over the folds: its own LassoCV does not run on scikit-learn 1.9."""
    split = load(name, quick)
    X = peer_layout(split.X)
    grid = lasso_alpha_max(X, split.y) * np.geomspace(1.0, ratio, alphas)

    def run() -> Peer:
        errors = np.zeros(len(grid))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            for train, test in folds(len(split.y)):
                coef, intercept, _ = celer_fits(X[train], split.y[train], grid, tol)
                predicted = X[test] @ coef + intercept
                errors += np.mean((predicted - split.y[test][:, None]) ** 2, axis=0)
            best = int(np.argmin(errors))
            # celer has no warm start worth a path for one penalty: fit it directly.
            coef, intercept, gap = celer_fits(X, split.y, grid[[best]], tol)
        predicted = split.X_test @ coef[:, 0] + intercept[0]
        return Peer(
            f1_score(split.y_test > 0, predicted > 0),
            int(np.count_nonzero(coef)),
            float(grid[best] / grid[0]),
            best == len(grid) - 1,
            gap,
            unconverged(caught),
        )

    return run


PEERS = {"LassoCV": lasso_cv, "celer loop": celer_cv}


def peer_layout(X: Any) -> Any:
    return X.tocsc() if hasattr(X, "tocsc") else np.asfortranarray(X)


def lasso_alpha_max(X: Any, y: np.ndarray) -> float:
    centred = y - y.mean()  # Xc'yc = X'yc
    return float(np.abs(X.T @ centred).max() / len(y))


def sqrt_lasso_alpha_max(X: Any, y: np.ndarray) -> float:
    """The same for the square-root LASSO without a sketch."""
    centred = y - y.mean()
    return float(np.abs(X.T @ centred).max() / np.linalg.norm(centred))


def lasso_fits(
    path: Callable[..., Any], X: Any, y: np.ndarray, grid: np.ndarray, **options: Any
) -> tuple[np.ndarray, np.ndarray, float]:
    """Coefficients (n, alphas), intercepts and the last relative gap of a centred path."""
    means = np.asarray(X.mean(axis=0)).ravel()
    centred = y - y.mean()
    if hasattr(X, "tocsc"):
        # As LassoCV passes it: a sparse matrix is centred implicitly.
        options |= {"X_offset": means, "X_scale": np.ones_like(means)}
        data = X.tocsc()
    else:
        data = np.asfortranarray(X - means)
    _, coef, gaps = path(data, centred, alphas=grid, **options)
    residual = centred - (X @ coef[:, -1] - means @ coef[:, -1])
    value = residual @ residual / (2 * len(y)) + grid[-1] * np.abs(coef[:, -1]).sum()
    return coef, y.mean() - means @ coef, float(gaps[-1] / value)


def celer_fits(
    X: Any, y: np.ndarray, grid: np.ndarray, tol: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """The same by celer."""
    from celer.homotopy import celer_path

    return lasso_fits(celer_path, X, y, grid, pb="lasso", tol=tol, prune=True)


def run(options: argparse.Namespace) -> None:
    options.alphas = options.alphas or (10 if options.quick else 100)
    report = options.report
    report.note(
        f"5 folds x {options.alphas} penalties down to {options.ratio:g} of the largest; relative "
        f"gap {options.tol:g} for ours, tol={options.peer_tol:g} for the peers; test F1 at the "
        "penalty of least cross-validated squared error"
    )
    report.note(
        "gap, relative: for ours the worst of all instances and the refit, for a peer its refit's"
    )
    report.note("at edge: the smallest penalty of the grid won, so a deeper grid might do better")
    for split in available(options.data, partial(load, quick=options.quick), report.note):
        one_set(split, options, report)


def one_set(split: Split, options: argparse.Namespace, report: Report) -> None:
    """Every radius and every peer on one data set."""
    name = split.name
    peer_arguments = (name, options.quick, options.alphas, options.ratio, options.peer_tol)
    ours, theirs = alternate(
        {
            f"ours, {share:g} x radius": partial(pipeline, split, share, options)
            for share in options.shares
        },
        {
            peer: partial(run_limited, PEERS[peer], peer_arguments, options.peer_limit)
            for peer in options.peers
        },
        options.repeats,
    )
    for peer, outcome in theirs.items():
        report.add(**peer_row(name, peer, outcome, list(theirs)))
    for contender, measured in ours.items():
        report.add(**our_row(name, contender, measured, theirs))


def our_row(
    name: str, contender: str, measured: Measured, theirs: dict[str, Outcome]
) -> dict[str, Any]:
    found: Fitted = measured.value
    return {
        "data": name,
        "contender": contender,
        "seconds": measured.median,
        **{f"{peer} / ours": speed_up(outcome, measured) for peer, outcome in theirs.items()},
        "test F1": found.test_f1,
        "non-zeros": found.nonzeros,
        "penalty / largest": found.alpha_share,
        "at edge": found.at_edge,
        "gap": found.worst_gap,
        "failure": f"{found.unsolved} unsolved" if found.unsolved else "",
        "sketch s": found.sketch_seconds,
        "solve s": found.solve_seconds,
        "spread": measured.spread,
    }


def speed_up(outcome: Outcome, measured: Measured) -> str | float:
    """How many times faster we are; a peer stopped at its limit gives a lower bound."""
    times = outcome.seconds / measured.median
    if outcome.finished:
        return times
    return f"> {times:.3g}" if np.isfinite(times) else "failed"


def peer_row(name: str, peer: str, outcome: Outcome, peers: list[str]) -> dict[str, Any]:
    row = {"data": name, "contender": peer, "seconds": outcome.seconds}
    row |= {f"{other} / ours": None for other in peers}
    if not outcome.finished:
        return {**row, "failure": outcome.failure}
    found: Peer = outcome.value
    return {
        **row,
        "test F1": found.test_f1,
        "non-zeros": found.nonzeros,
        "penalty / largest": found.alpha_share,
        "at edge": found.at_edge,
        "gap": found.gap,
        "failure": "warns of non-convergence" if found.warned else "",
    }
