"""When a search has seen enough: smaller penalties can no longer be the best.

Folds differ in difficulty, and a score is compared with the best one fold by fold: the mean of
the differences has a far smaller standard error than the mean score.
"""

from __future__ import annotations

import numpy as np

from sketchlasso.types import FloatArray

__all__ = ["decided"]

# A penalty is out when its cost exceeds the best by so many standard errors of the difference.
STANDARD_ERRORS = 2.0
# The search ends when so many penalties in a row are out.
IN_A_ROW = 6
# Differences below this share of the spread of the costs are ties, not losses.
SMALLEST_RISE = 1e-3


def decided(cost: FloatArray, in_a_row: int = IN_A_ROW) -> bool:
    """Whether the costs (folds, a) of decreasing penalties are well past their minimum.

    Parameters
    ----------
    cost : ndarray of shape (folds, a)
        Smaller is better; in the order in which the penalties were tried.
    in_a_row : int
        How many of the last penalties have to be out.
    """
    mean = cost.mean(axis=0)
    best = int(np.argmin(mean))
    if cost.shape[1] - 1 - best < in_a_row:
        return False
    rise = cost[:, -in_a_row:] - cost[:, [best]]
    error = rise.std(axis=0, ddof=1) / np.sqrt(len(rise)) if len(rise) > 1 else 0.0
    least = np.maximum(STANDARD_ERRORS * error, SMALLEST_RISE * (mean.max() - mean[best]))
    return bool(np.all(rise.mean(axis=0) > least))
