"""What importing and fitting leave of the process, and kernels that cannot be kept on disk."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import sketchlasso

PACKAGE = Path(sketchlasso.__file__).parent
USERS_KERNEL = """
import numpy as np
from numba import njit
from scipy import sparse
from sketchlasso import SqrtLassoClassifierCV, SqrtLassoCV

rng = np.random.default_rng(0)
X, y = rng.normal(size=(30, 6)), rng.normal(size=30)
SqrtLassoCV(alphas=5, cv=3).fit(X, y)
SqrtLassoClassifierCV(sketch="response", alphas=5, cv=3).fit(sparse.csr_array(X), y > 0)
names = {}
exec("def g(x):\\n    return x + 1", names)
assert "__module__" not in vars(names["g"]) and names["g"].__module__ is None
assert njit(names["g"])(2) == 3
"""
STATE = """
import gc, locale, signal, sys, warnings
import numpy as np
from numba.core.base import BaseContext
from numba.core.types.functions import BaseFunction
from numba.np import arrayobj
from threadpoolctl import threadpool_info
import sklearn, sklearn.linear_model

def state():
    names = [name for name in dir(signal) if name.startswith("SIG") and name[3] != "_"]
    signals = {getattr(signal, name) for name in names} & signal.valid_signals()
    return (
        np.geterr(), np.get_printoptions(), gc.isenabled(), list(warnings.filters),
        locale.setlocale(locale.LC_ALL), sys.getrecursionlimit(), sys.getswitchinterval(),
        {one: signal.getsignal(one) for one in signals}, sys.excepthook, sys.displayhook,
        sorted((pool["filepath"], pool["num_threads"]) for pool in threadpool_info()),
        BaseFunction.get_call_type, BaseContext.get_abi_sizeof, arrayobj.make_array,
        sklearn.get_config(), np.random.get_state()[1].tolist(),
    )

before = state()
from sketchlasso import SqrtLassoCV
assert state() == before, "an import changes it"
X, y = np.random.default_rng(0).normal(size=(30, 7))[:, :6], np.arange(30.0)
for sketch in (None, "exact"):
    SqrtLassoCV(alphas=5, cv=3, sketch=sketch).fit(X, y)
assert state() == before, "a fit changes it"
"""


def run(program, **variables):
    """Run a program in a fresh interpreter."""
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_users_compile_generated_functions_after_a_fit():
    done = run(USERS_KERNEL)
    assert done.returncode == 0, done.stderr


def test_importing_and_fitting_change_nothing_global():
    done = run(STATE)
    assert done.returncode == 0, done.stderr


def test_nothing_can_be_written_and_fits_still_run(tmp_path):
    """An installation and a home that are read-only, for the superuser as well."""
    copy = tmp_path / "sketchlasso"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "kernels" / "__pycache__").touch()  # no folder can be made here
    variables = {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    variables |= {"XDG_CACHE_HOME": "/dev/null", "HOME": "/dev/null", "NUMBA_CACHE_DIR": ""}
    where = f"import sketchlasso\nassert sketchlasso.__file__.startswith({str(tmp_path)!r})\n"
    done = run(where + USERS_KERNEL, **variables)
    assert done.returncode == 0, done.stderr
