"""A kernel that takes long to compile is compiled once, whatever the precision of the data."""

import subprocess
import sys

# In a process of its own: other tests call kernels with arrays of their own choice.
PROGRAM = """
import pickle, numpy as np
from sketchlasso import solve
from sketchlasso.engine import Batch
from sketchlasso.kernels.homotopy import walk_path
from sketchlasso.kernels.newton import solve_instance

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
print(len(solve_instance.signatures), len(walk_path.signatures))
"""


def test_a_kernel_has_one_signature():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1", "1"]
