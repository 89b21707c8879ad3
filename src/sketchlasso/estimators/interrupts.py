"""What Ctrl-C leaves of an estimator."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["unfitted_if_interrupted"]

Fit = TypeVar("Fit", bound=Callable[..., Any])


def unfitted_if_interrupted(fit: Fit) -> Fit:
    """Remove the fitted attributes where a fit is interrupted, also those of an earlier fit.

    Some are written before the solve, so that an estimator could pass for a fitted one, or hold
    the coefficients of one fit and the number of features of another. An Exception says itself
    what is wrong with the input and changes nothing here.
    """

    @functools.wraps(fit)
    def wrapped(self: Any, *args: Any, **options: Any) -> Any:
        try:
            return fit(self, *args, **options)
        except Exception:
            raise
        except BaseException:
            for name in [name for name in vars(self) if _is_fitted(name)]:
                delattr(self, name)
            raise

    return wrapped  # type: ignore[return-value]


def _is_fitted(name: str) -> bool:
    """Whether scikit-learn takes an attribute for a sign of a finished fit."""
    return name.endswith("_") and not name.startswith("__")
