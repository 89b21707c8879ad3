"""Ctrl-C during a fit, and fits in several threads: nothing half-done is left behind."""

import sys
import threading

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted
from tests.forked import run
from threadpoolctl import ThreadpoolController

import sketchlasso as sl
from sketchlasso.engine import solve_for_size
from sketchlasso.errors import InaccurateWarning

# One fit that would take minutes is interrupted after each of several times.
INTERRUPTED = """
import os, signal, sys, threading, warnings
import numpy as np
import sketchlasso as sl
from sketchlasso.engine import solve_for_size
from threadpoolctl import ThreadpoolController

warnings.simplefilter("ignore")
# A shell that runs the tests in the background lets them ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
kind = sys.argv[1]
rng = np.random.default_rng(0)
X = rng.standard_normal((300, 200))
y = X[:, 0] - X[:, 1] + rng.standard_normal(300)
if kind == "side by side":
    y = np.column_stack([y, X[:, 2] + y, X[:, 3] - y])
blas = ThreadpoolController().select(user_api="blas")

def start(X, y, many):
    # Penalties that are given are all solved; a search of its own would end early.
    alphas = np.geomspace(10.0, 1e-3, many)
    if kind == "exact":
        return sl.SqrtLassoCV(alphas=alphas, sketch=None, tol=1e-9)
    if kind == "sketched":
        return sl.SqrtLassoCV(alphas=alphas, sketch="randomized", rank=30, random_state=0, n_jobs=1)
    method = "response" if kind == "side by side" else "randomized"
    return sl.SqrtLassoCV(alphas=alphas, sketch=method, rank=30, random_state=0, n_jobs=2)

start(X[:40, :30], y[:40], 4).fit(X[:40, :30], y[:40])  # compiles
before = [library.get_num_threads() for library in blas.lib_controllers]
for seconds in (0.05, 0.3, 0.9):
    model = start(X, y, 20_000)
    ours = set(vars(model))
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        model.fit(X, y)
    except KeyboardInterrupt:
        ending = "KeyboardInterrupt"
    except BaseException as error:
        ending = repr(error)
    else:
        ending = "returned"
    after = [library.get_num_threads() for library in blas.lib_controllers]
    left = sorted(name for name in set(vars(model)) - ours if name.endswith("_"))
    print(ending, left, after == before)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to one process")
@pytest.mark.parametrize("kind", ["exact", "sketched", "threads", "side by side"])
def test_ctrl_c_ends_a_fit_whenever_it_comes(kind):
    done = run(["-c", INTERRUPTED, kind])
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["KeyboardInterrupt [] True"] * 3
    assert done.stderr == ""


def make():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 20))
    return X, X[:, 0] - 2 * X[:, 1] + rng.standard_normal(60)


def interrupt(progress):
    raise KeyboardInterrupt


@pytest.mark.parametrize("sketch", [None, "randomized"])
@pytest.mark.parametrize(
    "kind", [sl.SqrtLasso, sl.SqrtLassoCV, sl.SqrtLassoClassifier, sl.SqrtLassoClassifierCV]
)
def test_an_interrupted_fit_leaves_the_estimator_unfitted(kind, sketch):
    X, y = make()
    target = np.sign(y) if "Classifier" in kind.__name__ else y
    # At the pivotal penalty the radius of so small a sketch would leave no feature.
    penalty = {} if kind.__name__.endswith("CV") else {"alpha": 0.5}
    model = kind(sketch=sketch, rank=5, random_state=0, **penalty).fit(X, target)
    model.set_params(verbose=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :10], target)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_an_interrupted_path_and_leave_one_out_raise():
    X, y = make()
    settings = sl.Settings(callback=interrupt)
    sketch = sl.sketch(X, rank=5, center=True, random_state=0)
    for call in (
        lambda: sl.sqrt_lasso_path(X, y, settings=settings),
        lambda: sl.sqrt_lasso_path(X, y, sketch, settings=settings),
        lambda: sl.cross_validate(sketch, X, y, settings=settings),
        lambda: sl.leave_one_out(sketch, X, y, alpha=1.0, settings=settings),
        lambda: solve_for_size(sl.build_problems(sketch, y, radii=0.1).batch, 3, settings),
    ):
        with pytest.raises(KeyboardInterrupt):
            call()


def test_solve_alone_returns_what_it_has():
    X, y = make()
    batch = sl.build_problems(sl.sketch(X, rank=5, random_state=0), y, radii=0.1).batch
    found = sl.solve(batch, settings=sl.Settings(callback=interrupt))
    assert (found.status == sl.Status.INTERRUPTED).any()
    with pytest.warns(InaccurateWarning, match="interrupted"):
        found.warn_if_unsolved()


def test_overlapping_fits_leave_blas_with_its_threads():
    X, y = make()
    blas = ThreadpoolController().select(user_api="blas")
    first_in, second_in, first_out = (threading.Event() for _ in range(3))
    counts = []

    def note():
        counts.append([library.get_num_threads() for library in blas.lib_controllers])

    def wait_in_first(progress):
        first_in.set()
        assert second_in.wait(60)

    def wait_in_second(progress):
        second_in.set()
        assert first_out.wait(60)
        note()

    def fit(callback):
        sl.SqrtLasso(alpha=1.0, sketch=None, verbose=callback).fit(X, y)

    # Given in an environment variable or by the machine, so set in a thread that ends.
    setting = threading.Thread(target=blas.limit, kwargs={"limits": 2})
    setting.start()
    setting.join()
    note()
    threads = [threading.Thread(target=fit, args=(f,)) for f in (wait_in_first, wait_in_second)]
    threads[0].start()
    assert first_in.wait(60)
    threads[1].start()
    threads[0].join()
    first_out.set()
    threads[1].join()
    note()
    before, between, after = counts
    assert set(between) == {1}
    assert after == before and set(before) != {1}
