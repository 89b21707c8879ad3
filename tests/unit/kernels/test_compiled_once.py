"""A kernel is compiled once for all kinds of data."""

import subprocess
import sys

# In a process of its own: other tests call kernels with arrays of their own choice.
PROGRAM = """
import pickle, numpy as np
from sketchlasso import SqrtLassoCV, solve
from sketchlasso.engine import Batch
from sketchlasso.kernels.gram_path import walk_gram
from sketchlasso.kernels.newton import solve_instance

def solved(P, radius, root):
    alpha = np.geomspace(0.5, 0.05, 12)
    batch = Batch.build(P, np.ones(4), 0.5, alpha=alpha, radius=radius, roots=root)
    for posed in (batch, pickle.loads(pickle.dumps(batch))):
        assert solve(posed, chain=np.zeros(12, dtype=int)).solved.all()

P = np.random.default_rng(0).normal(size=(9, 4))
SqrtLassoCV(alphas=10).fit(np.vstack([P] * 5), np.arange(45.0))
fixed = P.copy()
fixed.setflags(write=False)
for values in (P, fixed, P.T.copy().T, P.astype(np.float32)):
    for radius in (0.0, 0.2):
        for root in (None, np.eye(4), np.asfortranarray(np.tri(4)), np.tri(4)[None]):
            solved(values, radius, root)
print(*(len(kernel.signatures) for kernel in (walk_gram, solve_instance)))
"""


def test_kernels_have_one_signature():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["1 1"]
