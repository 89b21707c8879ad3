"""The closed form of a solution whose support and signs are known."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["face_level"]


def face_level(alpha: Any, error: Any, steepness: Any) -> Any:
    """Return lambda = alpha ||r|| of the solution on a face.

    With Z the columns of the support, e = f sign(w), H = (Z'Z)^-1 and b the least-squares
    solution, the solution is w = b - lambda H e, and ||r||^2 = C + lambda^2 e'H e gives

        lambda = alpha sqrt( C / (1 - alpha^2 e'H e) )

    Parameters
    ----------
    alpha : float or ndarray of shape (r,)
    error : float or ndarray of shape (r,)
        C, the squared length of the least-squares residual.
    steepness : float or ndarray of shape (r,)
        e'H e.

    Returns
    -------
    float or ndarray of shape (r,)
        NaN where the penalty leaves no room: alpha^2 e'H e >= 1.
    """
    room = 1.0 - np.square(alpha) * steepness
    with np.errstate(divide="ignore", invalid="ignore"):
        return alpha * np.sqrt(error / np.where(room > 0, room, np.nan))
