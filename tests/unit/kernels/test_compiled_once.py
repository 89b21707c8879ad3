"""A fit compiles the kernels that it calls, each of them once for all kinds of data."""

import subprocess
import sys

# In a process of its own: other tests call kernels with arrays of their own choice.
PROGRAM = """
import pickle, sys, numpy as np
from sketchlasso import SqrtLassoCV, solve
from sketchlasso.engine import Batch
from sketchlasso.kernels.homotopy import walk_path
from sketchlasso.kernels.newton import solve_instance

def solved(P, radius, root):
    alpha = np.geomspace(0.5, 0.05, 12)
    batch = Batch.build(P, np.ones(4), 0.5, alpha=alpha, radius=radius, roots=root)
    for posed in (batch, pickle.loads(pickle.dumps(batch))):
        assert solve(posed, chain=np.zeros(12, dtype=int)).solved.all()

def called():
    modules = [module for name, module in sys.modules.items() if ".kernels." in name]
    kernels = {kernel for module in modules for kernel in vars(module).values()
               if getattr(kernel, "signatures", None)}
    return sorted(kernel.__name__ for kernel in kernels
                  if not kernel.targetoptions["no_cpython_wrapper"])

P = np.random.default_rng(0).normal(size=(9, 4))
SqrtLassoCV(alphas=10).fit(np.vstack([P] * 5), np.arange(45.0))
print(*called())
fixed = P.copy()
fixed.setflags(write=False)
for values in (P, fixed, P.T.copy().T, P.astype(np.float32)):
    for radius in (0.0, 0.2):
        for root in (None, np.eye(4), np.asfortranarray(np.tri(4)), np.tri(4)[None]):
            solved(values, radius, root)
print(len(solve_instance.signatures), len(walk_path.signatures))
"""


def test_fits_compile_few_kernels_with_one_signature():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["walk_gram", "1 1"]
