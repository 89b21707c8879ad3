"""Solves side by side: one count for all, and one way to end them."""

import pytest

from sketchlasso import Progress
from sketchlasso.results.progress import SharedProgress
from sketchlasso.solvers import StopSolve


def test_parts_are_one_count():
    seen = []
    shared = SharedProgress(seen.append, parts=2)
    first, second = shared.part(), shared.part()
    first(Progress(3, 10, round=1, worst_gap=0.1))
    second(Progress(4, 10, round=1, worst_gap=0.1))
    first(Progress(1, 10, round=1, worst_gap=0.1))  # the next solve of this part
    shared.end()
    assert [(progress.solved, progress.total) for progress in seen] == [
        (3, 20),
        (7, 20),
        (8, 20),
        (20, 20),
    ]


def test_stopped_parts_are_interrupted():
    """Solutions of a solve that has ended early would be scored: that took seconds after Ctrl-C."""
    shared = SharedProgress(None, parts=2)
    report = shared.part()
    report(Progress(0, 10, round=1, worst_gap=1.0))
    shared.stop()
    with pytest.raises(KeyboardInterrupt):
        report(Progress(1, 10, round=2, worst_gap=1.0))


def test_a_callback_that_stops_at_the_end_stops_nothing():
    def stop(progress):
        raise StopSolve

    SharedProgress(stop, parts=2).end()
