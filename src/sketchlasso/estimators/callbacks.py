"""Progress of a fit on a terminal and to scikit-learn's callbacks, and interruption by Ctrl-C.

On releases of scikit-learn with a callback protocol, callbacks are called when a fit begins and
ends, and once per report of the solver: after a round over a sketch, after a problem without one.
A callback that asks to stop ends the solve with the solutions found so far.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from sketchlasso.solvers import Progress, StopSolve

__all__ = [
    "CallbackSupport",
    "Watcher",
    "count_callback",
    "progress_callback",
    "reported",
    "reporter",
    "unfitted_if_interrupted",
]

Watcher: TypeAlias = Callable[[Progress], None]
Fit = TypeVar("Fit", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupport:  # type: ignore[no-redef]
        """No callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Return the method as it is."""
        return method


def reported(fit: Fit) -> Fit:
    """Report the begin and the end of a fit to the callbacks set on the estimator."""

    @functools.wraps(fit)
    def wrapped(self: Any, X: Any, y: Any = None, *rest: Any, **options: Any) -> Any:
        if not hasattr(self, "_init_callback_context"):
            return fit(self, X, y, *rest, **options)
        # The number of rounds is not known in advance: None.
        context = self._init_callback_context(max_subtasks=None)
        task = {"estimator": self, "X": X, "y": y, "metadata": options}
        context.call_on_fit_task_begin(**task)
        result = fit(self, X, y, *rest, **options)
        # Every fitted attribute is on the estimator already.
        context.call_on_fit_task_end(**task, reconstruction_attributes={})
        return result

    managed: Fit = with_callbacks(unfitted_if_interrupted(wrapped))
    return managed


def unfitted_if_interrupted(fit: Fit) -> Fit:
    """Remove the fitted attributes where a fit is interrupted, also those of an earlier fit.

    Some are written before the solve, so an estimator could seem fitted, or hold the coefficients
    of one fit and the number of features of another. An Exception, which reports bad input, leaves
    the attributes as they are.
    """

    @functools.wraps(fit)
    def wrapped(self: Any, *args: Any, **options: Any) -> Any:
        try:
            return fit(self, *args, **options)
        except Exception:
            raise
        except BaseException:
            # scikit-learn takes such attributes as signs of a finished fit.
            for name in [own for own in vars(self) if own.endswith("_") and own[:2] != "__"]:
                delattr(self, name)
            raise

    return wrapped  # type: ignore[return-value]


def reporter(estimator: Any) -> Watcher | None:
    """Return what reports progress to `verbose` and to scikit-learn's callbacks; None for none."""
    watchers = [
        watcher
        for watcher in (progress_callback(estimator.verbose), _task_reporter(estimator))
        if watcher is not None
    ]

    def report(progress: Progress) -> None:
        for watcher in watchers:
            watcher(progress)

    return report if watchers else None


def _task_reporter(estimator: Any) -> Watcher | None:
    context = getattr(estimator, "_callback_fit_ctx", None)
    if context is None or not getattr(estimator, "_skl_callbacks", None):
        return None

    def report(progress: Progress) -> None:
        task = context.subcontext(task_name="round")
        task.call_on_fit_task_begin(estimator=estimator)
        if task.call_on_fit_task_end(estimator=estimator):
            raise StopSolve

    return report


def progress_callback(verbose: bool | int | Watcher) -> Watcher | None:
    """Return a callback that writes one changing line on a terminal, or lines in a pipe.

    The latter with verbose > 1 only. A callable is returned as it is.
    """
    if callable(verbose) or not verbose:
        return verbose if callable(verbose) else None

    def report(progress: Progress) -> None:
        counts = f"{progress.solved}/{progress.total} solved, worst gap {progress.worst_gap:.1e}"
        if sys.stderr.isatty():
            end = "\n" if progress.solved == progress.total else ""
            sys.stderr.write(f"\rsketchlasso: {counts}{end}")
        elif int(verbose) > 1:
            sys.stderr.write(f"sketchlasso: round {progress.round}, {counts}\n")
        sys.stderr.flush()

    return report


def count_callback(verbose: bool | int | Watcher) -> Callable[[int, int], None] | None:
    """Return the callback of :func:`progress_callback` for work counted as (done, total)."""
    report = progress_callback(verbose)
    if report is None:
        return None
    return lambda done, total: report(Progress(done, total, round=0, worst_gap=0.0))
