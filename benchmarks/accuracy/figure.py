"""Score on held-out rows against the number of non-zeros, one picture per text set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.summary import Summary

STYLES = {
    "full": ("#444444", "full square-root LASSO"),
    "paper-50": ("#1f5fa8", "paper's sketch, rank 50, spectral radius"),
    "ours-50": ("#d9621e", "ours, rank 50, default radii"),
}
CHOSEN = "chosen by cross-validation"
ABOVE = {"bbox_to_anchor": (0.005, 0.955)}


def draw(task: str, columns: dict[str, Summary], output: Path) -> bool:
    """Draw a set's curves; False where no column has any."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    drawable = {name: columns[name] for name in STYLES if name in columns and columns[name].done}
    if not any(cell["curve"] for one in drawable.values() for cell in one.done):
        return False
    figure, axis = plt.subplots(figsize=(6.4, 4.2))
    for name, summary in drawable.items():
        _draw_column(axis, summary, *STYLES[name])
    metric = next(iter(drawable.values())).done[0]["metric"]
    axis.set(xscale="log", xlabel="non-zeros of a model", ylabel=f"{metric} on held-out rows")
    axis.grid(color="#e6e6e6", linewidth=0.8)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    _zoom(axis, drawable)
    axis.plot([], [], "o", color="#888888", markeredgecolor="white", label=CHOSEN)
    handles, labels = axis.get_legend_handles_labels()
    figure.text(0.02, 0.955, task, fontsize=11)
    figure.legend(handles, labels, loc="upper left", ncols=2, frameon=False, fontsize=9, **ABOVE)
    figure.tight_layout(rect=(0.0, 0.0, 1.0, 0.85))
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=150)
    plt.close(figure)
    return True


def _draw_column(axis: Any, summary: Summary, colour: str, label: str) -> None:
    """A thin line per split, and a dot where cross-validation chose."""
    for number, cell in enumerate(summary.done):
        points = np.array([(count, score) for _, count, score in cell["curve"] if count > 0])
        name = label if number == 0 else None
        if len(points):
            axis.plot(*points.T, color=colour, linewidth=1.4, alpha=0.8, label=name)
        elif name:
            axis.plot([], [], color=colour, label=name)
        axis.plot(
            max(cell["nonzeros"], 1.0),
            cell["score"],
            marker="o",
            markersize=7,
            markerfacecolor=colour,
            markeredgecolor="white",
            zorder=3,
        )


def _zoom(axis: Any, columns: dict[str, Summary]) -> None:
    """Leave out the steep start of the curves: from a little below the worst chosen score."""
    cells = [cell for one in columns.values() for cell in one.done]
    chosen = [(cell["nonzeros"], cell["score"]) for cell in cells]
    points = [(count, score) for cell in cells for _, count, score in cell["curve"]]
    low, high = min(score for _, score in chosen), max(score for _, score in chosen + points)
    height = max(high - low, 0.05)
    bottom = max(0.0, low - 0.8 * height)
    seen = [count for count, score in chosen + points if score >= bottom and count > 0]
    axis.set_ylim(bottom, high + 0.08 * height)
    axis.set_xlim(0.8 * min(seen), 1.25 * max(seen))
