"""scikit-learn's callback protocol, on the releases that have it.

Callbacks hear when a fit begins and ends, and in between of one task each time the solver reports
of its progress: after a round over a sketch, after a problem without one. A callback that asks
to stop ends the solve with what it has.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from sketchlasso.estimators.interrupts import unfitted_if_interrupted
from sketchlasso.solvers import Progress, StopSolve

__all__ = ["CallbackSupport", "reported", "round_reporter"]

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


def reported(*, rounds: bool) -> Callable[[Fit], Fit]:
    """Tell callbacks that were set on the estimator when its fit begins and ends.

    Parameters
    ----------
    rounds : bool
        Whether the fit reports its progress in between, see :func:`round_reporter`.
    """

    def decorated(fit: Fit) -> Fit:
        @functools.wraps(fit)
        def wrapped(self: Any, X: Any, y: Any = None, *rest: Any, **options: Any) -> Any:
            if not hasattr(self, "_init_callback_context"):
                return fit(self, X, y, *rest, **options)
            # How many rounds it takes nobody knows in advance: None.
            context = self._init_callback_context(max_subtasks=None if rounds else 0)
            task = {"estimator": self, "X": X, "y": y, "metadata": options}
            context.call_on_fit_task_begin(**task)
            result = fit(self, X, y, *rest, **options)
            # Every fitted attribute is on the estimator already.
            context.call_on_fit_task_end(**task, reconstruction_attributes={})
            return result

        managed: Fit = with_callbacks(unfitted_if_interrupted(wrapped))
        return managed

    return decorated


def round_reporter(estimator: Any) -> Callable[[Progress], None] | None:
    """Return what turns the solver's progress into tasks of the fit; None if nobody listens."""
    context = getattr(estimator, "_callback_fit_ctx", None)
    if context is None or not getattr(estimator, "_skl_callbacks", None):
        return None

    def report(progress: Progress) -> None:
        task = context.subcontext(task_name="round")
        task.call_on_fit_task_begin(estimator=estimator)
        if task.call_on_fit_task_end(estimator=estimator):
            raise StopSolve

    return report
