"""The search for sizes on devices, run on PyTorch's CPU device."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from tests.unit.solvers.test_device import ON_DEVICE, assert_proved, make_batch

from sketchlasso.solvers import Settings, solve_for_size
from sketchlasso.solvers import sizes as on_cpu

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from sketchlasso.solvers.device import sizes, support, walk  # noqa: E402
from sketchlasso.solvers.device.tensors import Rows, primal_value  # noqa: E402


class Operations(TorchDispatchMode):
    """Counts the operations on tensors: on a GPU nearly every one is a launch."""

    def __init__(self):
        super().__init__()
        self.count = Counter()

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        self.count[operation.overloadpacket.__name__] += 1
        return operation(*args, **(kwargs or {}))


def test_a_search_is_few_operations_and_few_waits():
    batch = make_batch(n=400, k=12, count=30, radius=0.02)
    with Operations() as seen:
        found = solve_for_size(batch, 6, ON_DEVICE)
    assert np.all(found.solution.n_nonzero == 6)
    # Probes of all instances together, one after another, took 293,000 and 4,000.
    assert sum(seen.count.values()) < 60_000
    assert seen.count["_local_scalar_dense"] + seen.count["nonzero"] < 300


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("radius", [1.0, 2.0])
def test_supports_that_outgrow_their_slots_get_more(radius, positive, monkeypatch):
    slots = []

    def recorded(rows, largest, size, count):
        slots.append(count)
        return walk.walk_down(rows, largest, size, count)

    monkeypatch.setattr(sizes, "walk_down", recorded)
    batch = make_batch(n=300, k=12, count=8, radius=radius, positive=positive)
    here, there = solve_for_size(batch, 3, Settings(tol=1e-6)), solve_for_size(batch, 3, ON_DEVICE)
    assert max(slots) > min(slots) == 3 + sizes.SPARE_SLOTS
    assert np.allclose(there.alpha, here.alpha, rtol=0.02)
    assert_proved(replace(batch, alpha=there.alpha), there.solution, 1e-6)


def test_searches_that_the_device_gives_up_are_the_cpus(monkeypatch):
    batch, given_up = make_batch(n=200, count=7, radius=0.02), []
    searched = on_cpu._searched_here

    def recorded(left, *rest):
        given_up.append(left.n_instances)
        return searched(left, *rest)

    monkeypatch.setattr(on_cpu, "_searched_here", recorded)
    solve_for_size(batch, 5, ON_DEVICE)
    assert given_up == []
    monkeypatch.setattr(walk, "MOST_PASSES", -1)
    there = solve_for_size(batch, 5, ON_DEVICE)
    assert given_up == [7]
    here = solve_for_size(batch, 5)
    assert np.allclose(there.alpha, here.alpha, rtol=1e-12)
    assert np.array_equal(there.solution.n_nonzero, here.solution.n_nonzero)


def test_a_search_keeps_to_its_memory_in_pieces(monkeypatch):
    pieces = []

    def recorded(rows, *rest):
        pieces.append(len(rows.c))
        return walk.walk_down(rows, *rest)

    monkeypatch.setattr(sizes, "walk_down", recorded)
    batch = make_batch(n=900, count=20, radius=0.02)
    whole = solve_for_size(batch, 5, ON_DEVICE)
    assert max(pieces) == 20
    pieces.clear()
    parts = solve_for_size(batch, 5, replace(ON_DEVICE, device_memory=2 * 2**20))
    assert max(pieces) < 20
    assert np.allclose(parts.alpha, whole.alpha, rtol=1e-6)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("radius", [0.0, 0.05, 0.5])
def test_no_pass_raises_the_objective_and_passes_end_at_the_optimum(radius, positive):
    rng = np.random.default_rng(3)
    A, c = (torch.as_tensor(rng.normal(size=shape)) for shape in ((40, 30, 8), (40, 8)))
    ones = torch.ones(40, dtype=torch.float64)
    thresholds = torch.as_tensor(rng.uniform(0.3, 0.9, (40, 30)))
    rows = Rows(A, thresholds, c, 0.5 * ones, radius * ones, positive)
    w, rest = torch.zeros(40, 30, dtype=torch.float64), c
    value = primal_value(rows, w)
    for _ in range(40):
        w, rest = support.improve(rows, support.SupportPoint.of(rows, w, rest), 30)
        after = primal_value(rows, w)
        assert bool((after <= value * (1 + 1e-13)).all())
        value = after
    assert float(support.violation(rows, support.SupportPoint.of(rows, w, rest)).max()) <= 1e-8
    assert bool((w != 0).any(1).any())
