"""Sparsity control lost and regained: the paper's figure 2, redrawn.

On a sketch of rank k the non-robust model (radius 0) has, for every lambda, a solution with at
most k non-zeros, so lambda controls nothing beyond them; the robust model keeps its control.
The figure shows cardinality against lambda at ranks 1, 5 and 20, on generated data whose
features come in equal copies and on scikit-learn's digits. The non-robust solution appears as
the solver returned it and after `sparsify`, which makes the theorem's bound true by
construction at equal fit and penalty.

    python -m benchmarks rank_one --figure figure.png
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Report
from sketchlasso import Settings, build_problems, sketch, solve
from sketchlasso.engine import primal_value, sparsify

RANKS = (1, 5, 20)
BLUE, ORANGE, GREY = "#1f5fa8", "#d9621e", "#8a8a8a"


@dataclass(frozen=True)
class Panel:
    """Cardinalities along lambda for one data set and rank.

    Arrays have shape (n_alphas,): `shares` is lambda / lambda_max of the non-robust model,
    `rise` the largest relative rise of the objective caused by sparsifying.
    """

    data: str
    rank: int
    n_features: int
    radius: float
    shares: np.ndarray
    raw: np.ndarray
    sparse: np.ndarray
    robust: np.ndarray
    rise: float
    worst_gap: float


def generated(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return 200 samples of 60 features with a common factor, each present four times."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(200, 1)) * rng.uniform(0.5, 1.5, size=60)
    others = rng.normal(size=(200, 12)) @ rng.normal(size=(12, 60)) * 0.25
    distinct = 3.0 * common + others + 0.3 * rng.normal(size=(200, 60))
    y = distinct[:, :6] @ rng.uniform(0.5, 1.5, size=6) + rng.normal(size=200)
    return np.tile(distinct, (1, 4)), y


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Pixels of handwritten digits against the digit itself, neither of them centred."""
    from sklearn.datasets import load_digits

    images, label = load_digits(return_X_y=True)
    return images, label.astype(float)


def compute_panel(
    data: str, X: np.ndarray, y: np.ndarray, rank: int, share_of_error: float, n_alphas: int
) -> Panel:
    """Solve both models along a grid of lambda on one sketch of X."""
    made = sketch(X, rank=rank, method="exact")
    P = np.asarray(made.P, dtype=np.float64)
    common: dict[str, Any] = {"sketch": made, "y": y, "fit_intercept": False}
    largest = build_problems(alphas=1, radii=[0.0], **common).batch.alpha[0]
    shares = np.geomspace(1.0, 1e-3, n_alphas)
    radius = share_of_error * made.radius
    plain = build_problems(alphas=shares * largest, radii=[0.0], **common).batch
    robust = build_problems(alphas=shares * largest, radii=[radius], **common).batch
    settings = Settings(tol=1e-8)
    without, within = solve(plain, settings=settings), solve(robust, settings=settings)
    coef = without.coef.toarray()
    sparse = np.stack([sparsify(P, w) for w in coef])
    before, after = primal_value(plain, coef), primal_value(plain, sparse)
    return Panel(
        data,
        rank,
        X.shape[1],
        radius,
        shares,
        np.count_nonzero(coef, axis=1),
        np.count_nonzero(sparse, axis=1),
        within.n_nonzero,
        float(np.max(after / before - 1.0)),
        float(max(without.relative_gap.max(), within.relative_gap.max())),
    )


def draw(panels: list[Panel], output: Path) -> None:
    """One row per data set, one column per rank."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    names = list(dict.fromkeys(panel.data for panel in panels))
    figure, axes = plt.subplots(
        len(names), len(RANKS), figsize=(11.0, 6.2), sharex=True, sharey="row", squeeze=False
    )
    for panel in panels:
        axis = axes[names.index(panel.data)][RANKS.index(panel.rank)]
        draw_panel(axis, panel)
    for row, name in zip(axes, names, strict=True):
        row[0].set_ylabel(f"non-zeros, {name}")
    for axis in axes[-1]:
        axis.set_xlabel(r"$\lambda\,/\,\lambda_{\max}$")
    for axis, rank in zip(axes[0], RANKS, strict=True):
        axis.set_title(f"sketch of rank {rank}", fontsize=11)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", ncols=4, frameon=False)
    figure.tight_layout(rect=(0.0, 0.0, 1.0, 0.95))
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=150)
    plt.close(figure)


def draw_panel(axis: Any, panel: Panel) -> None:
    axis.axhline(panel.rank, color="black", linestyle=":", linewidth=1.3, label="bound k")
    curves = (
        (panel.robust, ORANGE, 2.2, "robust"),
        (panel.raw, GREY, 1.3, "non-robust, as solved"),
        (panel.sparse, BLUE, 2.2, "non-robust, sparsified"),
    )
    for counts, colour, width, label in curves:
        axis.step(panel.shares, counts, where="mid", color=colour, linewidth=width, label=label)
    axis.set_xscale("log")
    axis.set_yscale("symlog", linthresh=1.0, linscale=0.35)
    ticks = [0, 1, 5, 20, panel.n_features]
    axis.set_yticks(ticks, [str(tick) for tick in ticks])
    axis.minorticks_off()
    axis.set_ylim(-0.12, 1.3 * panel.n_features)
    axis.grid(axis="y", color="#e6e6e6", linewidth=0.8)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--figure", type=Path, help="(rank_one.png in the results)")
    parser.add_argument("--alphas", type=int, help="points on the lambda axis (60; quick: 12)")
    parser.add_argument(
        "--radius-share", type=float, default=0.3, help="radius of the robust model / sketch error"
    )


def run(options: argparse.Namespace) -> Report:
    report = options.report
    alphas = options.alphas or (12 if options.quick else 60)
    sets = {"generated": generated(), "digits": digits()}
    panels = [
        compute_panel(name, X, y, rank, options.radius_share, alphas)
        for name, (X, y) in sets.items()
        for rank in RANKS
    ]
    for panel in panels:
        for target in (1e-3, 1e-2, 1e-1, 0.5):
            report.add(**panel_row(panel, int(np.argmin(np.abs(panel.shares - target)))))
    suffix = "-quick" if options.quick else ""
    figure = options.figure or options.results / f"rank_one{suffix}.png"
    draw(panels, figure)
    report.note(f"figure: {figure.name}")
    return report


def panel_row(panel: Panel, i: int) -> dict[str, Any]:
    return {
        "data": panel.data,
        "rank k": panel.rank,
        "radius": panel.radius,
        "lambda / max": float(panel.shares[i]),
        "non-robust, raw": int(panel.raw[i]),
        "sparsified": int(panel.sparse[i]),
        "robust": int(panel.robust[i]),
        "largest rise by sparsifying": panel.rise,
        "worst gap": panel.worst_gap,
    }


if __name__ == "__main__":
    import sys

    from benchmarks.__main__ import main

    sys.exit(main(["rank_one", *sys.argv[1:]]))
