"""The picture that the demo leaves behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import sketchlasso as sl

__all__ = ["draw_cv_curve"]


def draw_cv_curve(path: Path, alphas: Any, scores: Any, chosen: float, metric: str) -> None:
    """Draw scores of every fold, their mean and standard error against the penalty.

    Parameters
    ----------
    path : Path
        PNG to write; appears under its name only when complete.
    alphas : ndarray of shape (a,)
    scores : ndarray of shape (a, folds)
    chosen : float
        The penalty that was chosen.
    metric : str
        Name of the score.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise sl.MissingExtraError("the picture", "matplotlib", "plot") from None
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.add_subplot()
    mean = scores.mean(axis=1)
    error = scores.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
    axes.plot(alphas, scores, color="0.8", linewidth=0.8)
    axes.fill_between(alphas, mean - error, mean + error, alpha=0.25, linewidth=0)
    axes.plot(alphas, mean, linewidth=2, label="mean of the folds, with standard error")
    axes.axvline(chosen, linestyle="--", color="C3", label=f"chosen, {chosen:.3g}")
    axes.set(xscale="log", xlabel="penalty alpha", ylabel=f"held-out {metric}")
    axes.invert_xaxis()
    axes.legend(frameon=False)
    partial = path.with_name(f".{path.name}.partial")
    try:
        figure.savefig(partial, format="png", dpi=110)
        partial.replace(path)
    except OSError as problem:
        raise sl.StoredFileError(
            f"{path} could not be written ({problem.strerror}); choose a path in a folder that "
            "exists and can be written to."
        ) from problem
    finally:
        partial.unlink(missing_ok=True)
