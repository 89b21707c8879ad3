"""scikit-learn's callback protocol, on the releases that have it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["CallbackSupport", "reported"]

Fit = TypeVar("Fit", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupport:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method: Any) -> Any:
        """Return the method as it is."""
        return method


def reported(fit: Fit) -> Fit:
    """Tell callbacks that were set on the estimator when its fit begins and ends."""

    @functools.wraps(fit)
    def wrapped(self: Any, X: Any, y: Any = None, *rest: Any, **options: Any) -> Any:
        if not hasattr(self, "_init_callback_context"):
            return fit(self, X, y, *rest, **options)
        context = self._init_callback_context()
        task = {"estimator": self, "X": X, "y": y, "metadata": options}
        context.call_on_fit_task_begin(**task)
        result = fit(self, X, y, *rest, **options)
        # Every fitted attribute is on the estimator already.
        context.call_on_fit_task_end(**task, reconstruction_attributes={})
        return result

    managed: Fit = with_callbacks(wrapped)
    return managed
