"""Nothing leaks: noise is not predicted, and leave-one-out is not optimistic.

Two experiments. `noise`: responses of pure noise on real rows; cross-validated R2 and AUC of
the response-aware sketch remade for every fold, beside a sketch that has seen all of y and is
(wrongly) used for every fold. `leave-one-out`: mean squared error of leave-one-out predictions
by cross-fitted groups, by refits with a sketch of their own, and by the sketch that has seen y.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np
from sklearn.model_selection import KFold

from benchmarks.cv import sqrt_lasso_alpha_max
from benchmarks.datasets import SEED, Split, available, load
from benchmarks.report import Report
from sketchlasso import Settings, cross_validate, leave_one_out, sketch, sqrt_lasso_path

ROWS = 600
# Penalty over the smallest one that leaves no feature (without centring).
SHARE = 0.1


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", nargs="+", default=["digits", "rcv1", "gisette_like"])
    parser.add_argument("--responses", type=int, help="of noise (200; quick: 10)")
    parser.add_argument("--refits", type=int, help="rows left out by refits (100; quick: 5)")


def run(options: argparse.Namespace) -> None:
    report = options.report
    report.note(f"the first {ROWS} training rows; intervals of 95 %; 5 folds")
    for split in available(options.data, lambda name: load(name).first(ROWS, 1), report.note):
        noise(split, options.responses or (10 if options.quick else 200), report)
        left_out(split, options.refits or (5 if options.quick else 100), report)


def noise(split: Split, count: int, report: Report) -> None:
    """Scores over many responses of noise, at a penalty that lets features in."""
    rng = np.random.default_rng(SEED)
    scores: dict[str, list[tuple[float, float]]] = {"remade for every fold": [], "shared": []}
    for number in range(count):
        y = np.sign(rng.standard_normal(split.X.shape[0]))
        made = sketch(split.X, y, method="response", rank=50, center=True, random_state=number)
        alpha = SHARE * sqrt_lasso_alpha_max(split.X, y)
        ways = {"remade for every fold": made, "shared": replace(made, response_rank=0)}
        for way, used in ways.items():
            found = cross_validate(
                used,
                split.X,
                y,
                cv=KFold(5, shuffle=True, random_state=number),
                metrics=("r2", "auc"),
                alphas=[alpha],
                radii="realised",
                settings=Settings(tol=1e-3),
            )
            scores[way].append((found.mean("r2")[0, 0, 0], found.mean("auc")[0, 0, 0]))
    for way, pairs in scores.items():
        values = np.array(pairs)
        mean, half = values.mean(axis=0), 1.96 * values.std(axis=0, ddof=1) / np.sqrt(count)
        report.add(
            data=split.name,
            experiment="noise",
            way=way,
            responses=count,
            R2=f"{mean[0]:.4f} +- {half[0]:.4f}",
            AUC=f"{mean[1]:.4f} +- {half[1]:.4f}",
        )


def left_out(split: Split, count: int, report: Report) -> None:
    """Leave-one-out errors by three ways, on the real response and on noise."""
    rng = np.random.default_rng(SEED)
    X, rows = split.X, rng.choice(split.X.shape[0], count, replace=False)
    for kind, y in (("real", split.y), ("noise", np.sign(rng.standard_normal(len(split.y))))):
        made = sketch(X, y, method="response", rank=50, center=True, random_state=SEED)
        path = sqrt_lasso_path(X, y, made, alphas=10, alpha_min_ratio=0.02)
        alpha = float(path.alphas.ravel()[-1])
        # Every way is given the same radius, so that they differ in the sketch alone.
        radius = float(path.radius[-1])
        predicted = {
            "cross-fitted groups": leave_one_out(
                made, X, y, alpha=alpha, radius=radius, rows=rows
            ).predictions,
            "sketch that has seen y": leave_one_out(
                replace(made, response_rank=0), X, y, alpha=alpha, radius=radius, rows=rows
            ).predictions,
            "refits": np.array([refit(X, y, row, alpha, radius) for row in rows]),
        }
        for way, values in predicted.items():
            report.add(
                **{
                    "data": split.name,
                    "experiment": f"leave-one-out, {kind} y",
                    "way": way,
                    "rows": count,
                    "mean squared error": float(np.mean((values - y[rows]) ** 2)),
                    "RMS distance to refits": float(
                        np.sqrt(np.mean((values - predicted["refits"]) ** 2))
                    ),
                }
            )


def refit(X: object, y: np.ndarray, row: int, alpha: float, radius: float) -> float:
    """Prediction of a row by a sketch and a model that were made without it."""
    rest = np.delete(np.arange(len(y)), row)
    own = sketch(X[rest], y[rest], method="response", rank=50, center=True, random_state=SEED)
    path = sqrt_lasso_path(X[rest], y[rest], own, alphas=[alpha], radius=radius)
    return float(path.models.predict(X[[row]])[0, 0])
