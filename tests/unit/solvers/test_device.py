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
from sketchlasso.problem import Batch, alpha_max, certify_batch, formulas
from sketchlasso.solvers import Iterates, Settings, Status, solve

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from sketchlasso.solvers.device import tensors  # noqa: E402

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


@pytest.mark.parametrize("size", [1e-300, 1e-46, 1e20, 1e100])
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


def test_an_interruption_returns_what_is_solved():
    batch = make_batch(count=50, n=3000)

    def stop(progress):
        raise KeyboardInterrupt

    few = replace(ON_DEVICE, device_memory=3 * 2**20, callback=stop)
    found = solve(batch, settings=few)
    assert (found.status == Status.INTERRUPTED).any() and found.solved.any()
    rows = np.flatnonzero(found.solved)
    assert_proved(batch.take(rows), taken(found, rows), 1e-6)
    assert np.isfinite(found.primal).all()


@pytest.mark.parametrize("device", ["cpu", "torch"])
def test_a_warm_start_outside_the_constraint_is_brought_inside(device):
    free = make_batch(count=5, positive=False)
    first = solve(free)
    assert first.coef.min() < 0
    warm = Iterates(first.coef, first.dual_point, np.zeros(5, dtype=np.intp))
    bounded = replace(free, positive=True)
    found = solve(bounded, settings=Settings(device=device), warm=warm)
    assert found.coef.min() >= 0
    assert np.allclose(found.primal, solve(bounded).primal, rtol=1e-5)


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


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Settings(device="gpu"), "'cpu', 'cuda'"),
        (lambda: Settings(device="cuda:x"), "'cpu', 'cuda'"),
        (lambda: Settings(device_memory=0), "device_memory must be at least 1 byte, not 0"),
        (lambda: solve(make_batch(), "conic", ON_DEVICE), "devices solve by 'newton'"),
        (
            lambda: solve(make_batch(), settings=replace(ON_DEVICE, device_memory=1000)),
            "may use 0 MiB, but one problem",
        ),
    ],
)
def test_what_no_device_can_do_is_refused(call, words):
    with pytest.raises(InvalidInputError, match=words):
        call()


def test_certificates_are_those_of_the_cpu():
    for positive in (False, True):
        batch = make_batch(rooted=True, factors=True, positive=positive)
        rng, every = np.random.default_rng(1), np.arange(batch.n_features)
        parts = [[batch.rows(b, every), batch.thresholds(b)] for b in range(batch.n_instances)]
        arrays = [*map(np.array, zip(*parts, strict=True)), batch.c, batch.s, batch.radius]
        rows = tensors.Rows(*map(torch.as_tensor, arrays), positive)
        w = rng.normal(size=(batch.n_instances, batch.n_features)) * np.isfinite(arrays[1])
        w = np.abs(w) if positive else w
        u, nowhere = rng.normal(size=batch.c.shape), torch.full((batch.n_instances,), torch.inf)
        found = tensors.certificate(rows, *map(torch.as_tensor, (w, u)), nowhere.double())
        wanted = certify_batch(batch, w, u)
        for ours, theirs in zip(found, (wanted.primal, wanted.dual, wanted.scale), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_formulas_give_the_same_on_arrays_and_tensors():
    def both(formula, *arrays, **options):
        here = formula(*arrays, **options)
        np.testing.assert_allclose(formula(*map(torch.as_tensor, arrays), **options), here, 1e-13)
        single = formula(*(torch.as_tensor(array).float() for array in arrays), **options)
        assert single.dtype == torch.float32
        return here

    rng = np.random.default_rng(7)
    x, t = rng.normal(size=(5, 9)), rng.uniform(0, 1, (5, 9))
    a, b, s = rng.uniform(0.1, 1, (3, 5))
    for flag in (False, True):
        both(formulas.magnitude, x, positive=flag)
        both(formulas.soft_threshold, x, t, positive=flag)
        both(formulas.objective, a, b, s, t[:, 0], squared=flag)
        both(formulas.dual_objective, a, b, s, squared=flag)
        both(formulas.best_on_ray, a - 0.5, b, s, squared=flag)
    both(formulas.null_dual, x, s)
    for radius in (0.0, 1e-9, 0.5):
        both(formulas.feasible_scale, np.abs(x), t, radius * b, 3.0 * a, slack=1e-6)
    values = [(np.nan, 0.0, 1.0), (1.0, np.nan, 1.0), (0.0, 0.0, 0.0), (2.0, 1.0, 3.0)]
    gap = both(formulas.relative_gap, *np.array(values).T)
    # A gap that is no number is never closed.
    np.testing.assert_array_equal(gap[:3], [np.nan, np.nan, 0.0])
