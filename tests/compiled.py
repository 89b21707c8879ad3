"""Compile the kernels that most tests use: `python -m tests.compiled`.

Numba keeps what it has compiled on disk. Done once before the tests' workers start, no
worker compiles a kernel that another one compiles at the same time.
"""

import numpy as np
from scipy import sparse

import sketchlasso as sl
from sketchlasso.solvers import solve, solve_for_size
from tests.problems import Recipe


def compile_kernels():
    """Solve small problems through the kernels that take longest to compile."""
    for dtype in ("float64", "float32"):
        for radius in (0.0, 0.1):
            batch = Recipe(0, 30, 5, radius=radius, s=1.0, rooted=True, dtype=dtype).batch()
            chain = np.zeros(batch.n_instances, dtype=np.intp)
            assert solve(batch, chain=chain).solved.all()
        solve_for_size(batch, 3)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 12))
    y = X[:, 0] + 0.1 * rng.normal(size=40)
    for data in (X, sparse.csr_array(X)):
        for options in ({"sketch": "randomized"}, {}, {"alphas": [1.0, 0.5]}):
            sl.SqrtLassoCV(**options, cv=3, random_state=0).fit(data, y)
        sl.SqrtLasso(sketch=None).fit(data, y)


if __name__ == "__main__":
    compile_kernels()
