"""The solver of GPUs, run on PyTorch's CPU device: the same answers, proved the same way."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests import twins

from sketchlasso.errors import DeviceWarning, InvalidInputError, MissingExtraError
from sketchlasso.linalg import device as devices
from sketchlasso.problem import Batch, alpha_max
from sketchlasso.solvers import Settings, solve, solve_for_size
from sketchlasso.solvers.device.chunk import gathered

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# Tensors of tests are small: threads would only wait for each other.
torch.set_num_threads(1)

ON_DEVICE = Settings(tol=1e-6, device="torch")


def make_batch(
    seed=0,
    n=300,
    k=12,
    count=9,
    share=(0.05, 0.9),
    radius=0.1,
    s=0.7,
    dtype=np.float64,
    positive=False,
    rooted=False,
    factors=False,
    excluded=False,
):
    """Instances of one regime; alpha is a share of each one's largest."""
    rng = np.random.default_rng(seed)
    P = (rng.normal(size=(n, k)) * np.geomspace(2.0, 0.2, k)).astype(dtype)
    options = {"positive": positive}
    if rooted:
        options["roots"] = np.linalg.cholesky(
            np.stack([np.cov(rng.normal(size=(k, 3 * k))) for _ in range(3)])
        )
        options["root_of"] = rng.integers(0, 3, count)
    if factors:
        factor = rng.uniform(0.5, 2.0, size=n)
        factor[rng.integers(0, n, size=2)] = np.inf
        options["penalty_factor"] = factor
    if excluded:
        where = (np.arange(count), rng.integers(0, n, count))
        options["excluded"] = sparse.csr_array((np.ones(count), where), shape=(count, n))
    batch = Batch.build(P, rng.normal(size=(count, k)), s, alpha=1.0, radius=0.0, **options)
    batch = replace(batch, radius=radius * alpha_max(batch))
    return replace(batch, alpha=rng.uniform(*share, count) * alpha_max(batch))


def assert_proved(batch, found, tol):
    for b in range(batch.n_instances):
        w = found.coef[[b]].toarray().ravel()
        primal = twins.primal(batch, b, w)
        assert found.primal[b] == pytest.approx(primal, rel=1e-9)
        assert twins.violation(batch, b, found.dual_point[b]) <= 1e-9
        assert primal - twins.dual(batch, b, found.dual_point[b]) <= 1.01 * tol * primal


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.sampled_from([3, 40, 700]),
    k=st.integers(2, 20),
    radius=st.sampled_from([0.0, 0.02, 0.3]),
    s=st.sampled_from([0.0, 0.01, 1.0]),
    dtype=st.sampled_from([np.float32, np.float64]),
    tol=st.sampled_from([1e-4, 1e-6]),
    flags=st.tuples(*[st.booleans()] * 4),
)
def test_every_gap_is_proved_in_double_precision(seed, n, k, radius, s, dtype, tol, flags):
    names = ("positive", "rooted", "factors", "excluded")
    options = dict(zip(names, flags, strict=True))
    batch = make_batch(seed, n, k, radius=radius, s=s, dtype=dtype, **options)
    batch = batch.take(np.flatnonzero(batch.alpha > 0))
    found = solve(batch, settings=replace(ON_DEVICE, tol=tol))
    assert found.solved.all()
    assert_proved(batch, found, tol)
    assert found.device == "torch" and found.solver == "newton"


def test_the_device_and_the_cpu_agree_within_their_gaps():
    batch = make_batch(n=2000, k=30, count=40)
    there, here = solve(batch, settings=ON_DEVICE), solve(batch)
    assert there.finished_on_cpu == 0
    assert np.all(np.abs(there.primal - here.primal) <= 1e-6 * here.primal)
    apart = np.linalg.norm((there.coef - here.coef).toarray(), axis=1)
    assert np.all(apart <= 0.02 * np.linalg.norm(here.coef.toarray(), axis=1))


def test_chunks_of_instances_change_nothing_but_rounding():
    batch = make_batch(count=20, n=1500)
    whole = solve(batch, settings=ON_DEVICE)
    parts = solve(batch, settings=replace(ON_DEVICE, device_memory=3 * 2**20))
    assert np.allclose(whole.primal, parts.primal, rtol=2e-6)
    assert parts.solved.all()


def test_a_warm_start_saves_the_steps():
    batch = make_batch(count=20)
    first = solve(batch, settings=ON_DEVICE)
    from sketchlasso.solvers import Iterates

    warm = Iterates(first.coef, first.dual_point, np.zeros(20, dtype=np.intp))
    again = solve(batch, settings=ON_DEVICE, warm=warm)
    assert again.steps.sum() == 0 and again.solved.all()
    assert (again.coef - first.coef).nnz == 0


def test_what_the_device_cannot_certify_is_finished_on_the_cpu_and_counted(monkeypatch):
    from sketchlasso.solvers.device import chunk

    monkeypatch.setattr(chunk, "ROUNDS", 1)
    batch = make_batch(count=12)
    found = solve(batch, settings=ON_DEVICE)
    assert 0 < found.finished_on_cpu <= 12
    assert_proved(batch, found, 1e-6)


@pytest.mark.parametrize("kind", ["squared", "unpenalised"])
def test_problems_that_are_not_for_the_device_go_to_the_cpu(kind):
    batch = make_batch(count=3)
    if kind == "squared":
        batch = replace(batch, loss="squared")
    else:
        factor = np.ones(batch.n_features)
        factor[0] = 0.0
        batch = replace(batch, penalty_factor=factor)
    with pytest.warns(DeviceWarning, match="the CPU solves them"):
        found = solve(batch, settings=ON_DEVICE)
    assert np.array_equal(found.primal, solve(batch).primal) and found.device == "cpu"


def test_instances_without_a_penalty_alone_go_to_the_cpu():
    batch = make_batch(count=6)
    batch = replace(batch, alpha=np.where(np.arange(6) == 2, 0.0, batch.alpha))
    found = solve(batch, settings=ON_DEVICE)
    assert found.finished_on_cpu == 1 and found.device == "torch"
    assert_proved(batch.take(np.array([0, 1, 3, 4, 5])), taken(found, [0, 1, 3, 4, 5]), 1e-6)


def taken(found, rows):
    names = ("coef", "dual_point", "primal")
    return replace(found, **{name: getattr(found, name)[rows] for name in names})


@pytest.mark.parametrize("share", [0.5, 0.02, 0.001])
def test_models_with_many_non_zeros_are_solved_there_too(share):
    batch = make_batch(n=2500, k=25, count=6, share=(share, share), radius=2.0)
    found = solve(batch, settings=replace(ON_DEVICE, tol=1e-5))
    assert found.finished_on_cpu == 0
    assert share > 0.1 or found.n_nonzero.min() > 300
    assert_proved(batch, found, 1e-5)


@pytest.mark.parametrize("size", [1e-300, 1e-60, 1e-46, 1e-20, 1e20, 1e39, 1e100])
def test_numbers_beyond_single_precision_prove_no_less(size):
    batch = make_batch(n=700, k=8, count=5, radius=0.02)
    scaled = replace(batch, P=batch.P * size, alpha=batch.alpha * size, radius=batch.radius * size)
    found = solve(scaled, settings=replace(ON_DEVICE, tol=1e-4))
    assert found.solved.all()
    if size > 1e-200:
        assert_proved(scaled, found, 1e-4)


@pytest.mark.parametrize("tol", [1e-4, 1e-6])
def test_settings_of_pytorch_do_not_reduce_precision(tol):
    rng = np.random.default_rng(0)
    P = rng.normal(size=12) + 1e-3 * rng.normal(size=(3000, 12))
    batch = Batch.build(P, rng.normal(size=(4, 12)), 0.5, alpha=1.0, radius=0.01)
    batch = replace(batch, alpha=0.3 * alpha_max(batch))
    torch.set_float32_matmul_precision("medium")
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = solve(batch, settings=replace(ON_DEVICE, tol=tol))
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision("highest")
    assert_proved(batch, found, tol)


def test_products_that_lose_digits_are_refused(monkeypatch):
    coarse = torch.Tensor.__matmul__
    monkeypatch.setattr(
        torch.Tensor,
        "__matmul__",
        lambda a, b: (
            coarse(a.bfloat16(), b.bfloat16()).to(a.dtype)
            if a.dtype == torch.float32
            else coarse(a, b)
        ),
    )
    with pytest.raises(InvalidInputError, match="fewer digits"):
        devices.open_device("torch")


def test_an_interruption_returns_what_is_solved():
    batch = make_batch(count=50, n=3000)

    def stop(progress):
        raise KeyboardInterrupt

    few = replace(ON_DEVICE, device_memory=3 * 2**20, callback=stop)
    found = solve(batch, settings=few)
    from sketchlasso.solvers import Status

    assert (found.status == Status.INTERRUPTED).any() and found.solved.any()
    rows = np.flatnonzero(found.solved)
    assert_proved(batch.take(rows), taken(found, rows), 1e-6)
    assert np.isfinite(found.primal).all()


def test_memory_that_runs_out_is_reported():
    device = devices.open_device("torch")
    with pytest.raises(InvalidInputError, match="ran out of memory"), device.at_work():
        raise torch.OutOfMemoryError("no")


@pytest.mark.parametrize("device", ["cpu", "torch"])
def test_a_warm_start_outside_the_constraint_is_brought_inside(device):
    from sketchlasso.solvers import Iterates

    free = make_batch(count=5, positive=False)
    first = solve(free)
    assert first.coef.min() < 0
    warm = Iterates(first.coef, first.dual_point, np.zeros(5, dtype=np.intp))
    bounded = replace(free, positive=True)
    found = solve(bounded, settings=Settings(device=device), warm=warm)
    assert found.coef.min() >= 0
    assert np.allclose(found.primal, solve(bounded).primal, rtol=1e-5)


def test_a_callback_gets_chunks():
    heard = []
    batch = make_batch(count=50, n=3000)
    solve(batch, settings=replace(ON_DEVICE, device_memory=2 * 2**20, callback=heard.append))
    assert len(heard) > 1 and heard[-1].solved == heard[-1].total == 50
    assert np.all(np.diff([one.solved for one in heard]) >= 0)


def test_the_search_for_a_size_is_the_cpus_own():
    batch = make_batch(count=4)
    there, here = solve_for_size(batch, 5, ON_DEVICE), solve_for_size(batch, 5)
    assert np.array_equal(there.alpha, here.alpha) and there.solution.device == "cpu"


def test_a_device_too_small_for_one_problem_is_refused():
    with pytest.raises(InvalidInputError, match="may use 0 MiB, but one problem"):
        solve(make_batch(), settings=replace(ON_DEVICE, device_memory=1000))


@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:x", 3, None, ""])
def test_an_unknown_device_is_refused(name):
    with pytest.raises(InvalidInputError, match="'cpu', 'cuda'"):
        Settings(device=name)


def test_other_solvers_stay_on_the_cpu():
    with pytest.raises(InvalidInputError, match="devices solve by 'newton'"):
        solve(make_batch(), "conic", ON_DEVICE)


@pytest.mark.parametrize("name", ["cuda", "auto", "cuda:7"])
def test_without_a_gpu_a_sentence_and_the_cpu(name, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    batch = make_batch(count=2)
    with pytest.warns(DeviceWarning, match="no GPU can be used"):
        found = solve(batch, settings=Settings(device=name))
    assert np.array_equal(found.primal, solve(batch).primal)


def test_without_pytorch_the_extra_is_named(monkeypatch):
    import builtins

    real = builtins.__import__

    def without_torch(name, *rest):
        if name == "torch":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_torch)
    with pytest.raises(MissingExtraError, match=r"sketchlasso\[gpu\]"):
        devices.open_device("cuda")
    with pytest.warns(DeviceWarning, match="PyTorch is not installed"):
        assert devices.open_device("auto") is None


def test_memory_must_be_positive():
    with pytest.raises(InvalidInputError, match="device_memory must be at least 1 byte, not 0"):
        Settings(device_memory=0)


def test_coefficients_reach_the_host_in_three_copies_however_many_rounds_found_them(monkeypatch):
    dense = np.array([[0.0, 2.0, 0.0, 1.0], [3.0, 0.0, 0.0, 0.0], [0.0] * 4, [0.0, 0.0, -1.0, 4.0]])
    pieces = [
        (torch.tensor([row]), torch.arange(4)[None], torch.tensor(dense[[row]]))
        for row in (3, 0, 2, 1)
    ]
    copies, copy = [], torch.Tensor.cpu
    monkeypatch.setattr(torch.Tensor, "cpu", lambda self: (copies.append(1), copy(self))[1])
    assert (gathered(pieces, 4, 4).toarray() == dense).all()
    assert len(copies) == 3
