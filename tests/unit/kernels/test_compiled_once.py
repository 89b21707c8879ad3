"""A kernel that takes long to compile is compiled once for each precision, and never again."""

import subprocess
import sys

# In a process of its own: other tests call kernels with arrays of their own choice.
PROGRAM = """
import pickle, numpy as np
from sketchlasso import Batch, solve
from sketchlasso.kernels.homotopy import walk_path
from sketchlasso.kernels.working_set import improve_instance

def solved(P, radius, root):
    alpha = np.geomspace(0.5, 0.05, 12)
    batch = Batch.build(P, np.ones(4), 0.5, alpha=alpha, radius=radius, roots=root)
    for posed in (batch, pickle.loads(pickle.dumps(batch))):
        assert solve(posed, chain=np.zeros(12, dtype=int)).solved.all()

P = np.random.default_rng(0).normal(size=(9, 4))
fixed = P.copy()
fixed.setflags(write=False)
for values in (P, fixed, P.T.copy().T, P.astype(np.float32)):
    for radius in (0.0, 0.2):
        for root in (None, np.eye(4), np.asfortranarray(np.tri(4)), np.tri(4)[None]):
            solved(values, radius, root)
print(len(improve_instance.signatures), len(walk_path.signatures))
"""


def test_a_kernel_has_no_more_signatures_than_precisions():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["2", "1"]
