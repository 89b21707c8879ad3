"""
# Tall data: many rows, on disk

With more rows than features a sketch of full rank is exact, and everything after it (folds,
penalties, refits) has as many dimensions as there are features. The rows are read to make the
sketch and to score the models; the solves in between do not depend on their number.
"""

# %%
# ## A file on disk
# 80,000 rows and 60 features in a `.npy` file. `read_table` maps the file into memory without reading
# it.

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

import sketchlasso as sl
from sketchlasso.io import read_table

rng = np.random.default_rng(0)
m, n = 80_000, 60
stored = np.lib.format.open_memmap("tall.npy", mode="w+", dtype=np.float32, shape=(m, n))
for start in range(0, m, 20_000):
    stored[start : start + 20_000] = rng.standard_normal((20_000, n), dtype=np.float32)
stored.flush()
table = read_table("tall.npy")
y = table.X[:, :5] @ np.array([3.0, -2.0, 1.0, -0.5, 0.1]) + 5 * rng.standard_normal(m)
print(type(table.X).__name__, table.shape)

# %%
# ## Sketch, then everything else
# For growing parts of the file: the sketch, 5 folds x 30 penalties over it, and the scores on
# the held-out rows. A first call, not measured, loads the compiled kernels.

small = sl.sketch(table.X[:1000], method="exact", center=True)
sl.cross_validate(small, table.X[:1000], y[:1000], alphas=3)

rows = [5_000, 10_000, 20_000, 40_000, 80_000]
seconds = {"sketch": [], "solve 150 problems": [], "everything": []}
for count in rows:
    part, response = table.X[:count], y[:count]
    start = perf_counter()
    found = sl.sketch(part, method="exact", center=True)
    seconds["sketch"].append(perf_counter() - start)
    scores = sl.cross_validate(found, part, response, alphas=30)
    seconds["everything"].append(perf_counter() - start)
    seconds["solve 150 problems"].append(scores.seconds)
    best = scores.best(rule="1se")
    used = scores.n_nonzero[0, 0, 0, best.alpha_index]
    print(
        f"{count:7,d} rows: {used} features, held-out mse {scores.mean()[0, 0, best.alpha_index]:.3f}"
    )

# %%
# ## The picture
# The noise has variance 25, and with more rows the error approaches it. The time of the solves does
# not grow.

figure, axis = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
for name, values in seconds.items():
    axis.plot(rows, values, marker="o", label=name)
axis.set(xscale="log", yscale="log", xlabel="rows", ylabel="seconds")
axis.set_xticks(rows, [f"{count:,d}" for count in rows], minor=False)
axis.minorticks_off()
axis.legend()
