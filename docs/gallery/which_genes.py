"""
# Which genes: intervals for thousands of coefficients

A fit selects genes but does not show how certain each of them is. The desparsified square-root LASSO
does: one regression per gene gives every coefficient an estimate, a standard error and a p-value.
"""

# %%
# ## Data
# The riboflavin data (71 samples of *Bacillus subtilis*, 4,088 genes, the logarithm of the
# production rate as response) if they are available; otherwise similar simulated data: few
# samples, genes that move in groups, five of them with an effect.

import os
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import sketchlasso as sl

stored = Path(os.environ.get("SKETCHLASSO_DATA", ""), "microarray", "riboflavin.npz")
if stored.is_file():
    held = np.load(stored)
    X, y, genes, source = held["X"], held["y"], held["genes"].tolist(), "riboflavin"
else:
    rng = np.random.default_rng(0)
    shared = np.repeat(rng.standard_normal((71, 100)), 10, axis=1)
    X = 0.6 * shared + 0.8 * rng.standard_normal((71, 1000))
    y = X[:, [0, 200, 400, 600, 800]] @ [1.2, -1.2, 1.2, -1.0, 1.0] + rng.standard_normal(71)
    genes, source = [f"gene {j}" for j in range(1000)], "simulated"
print(f"{source}: {X.shape[0]} samples x {X.shape[1]} genes")

# %%
# ## One call
# `standard_error` assumes noise of equal variance; `errors="robust"` does not. `flagged` marks the
# intervals that may miss the truth more often than they say, for example those of twin genes.

with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    found = sl.inference.desparsified(X, y, feature_names=genes)
for warning in warned:
    print(f"{warning.category.__name__}: {warning.message}")
print(f"noise {found.noise:.2f}, {found.flagged.sum()} intervals flagged")
print(found)

# %%
# ## Which genes
# Thousands of tests need an adjustment. Holm's bounds the chance of any false discovery, that of
# Benjamini and Hochberg the expected share of false discoveries.

holm, rates = found.adjusted("holm"), found.adjusted("benjamini-hochberg")
print(f"Holm: {np.sum(holm < 0.05)} genes, Benjamini-Hochberg: {np.sum(rates < 0.1)} genes")
for j in np.argsort(found.p_value)[:5]:
    lower, upper = found.interval(0.95)[:, j]
    print(f"{genes[j]:12s} {found.estimate[j]:6.2f}  [{lower:5.2f}, {upper:5.2f}]", end="")
    print(f"  p {found.p_value[j]:.1e}  Holm {holm[j]:.2g}")

# %%
# Few genes remain significant, or none: 71 samples are few for so many tests. On the riboflavin data
# no single gene is significant. A group may still be, here the twenty genes that the LASSO itself
# selects first.

strongest = np.argsort(-np.abs(found.initial) * X.std(axis=0))[:20]
value = found.group_test(strongest, random_state=0)
print(f"group of {len(strongest)} genes: p = {value:.3f} (optimistic: the data chose the group)")

# %%
# ## Pictures
# The forest plot shows intervals of the strongest genes; the thin lines cover all genes
# simultaneously. The volcano plot shows all genes.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
sl.plots.plot_forest(found, top=12, simultaneous=True, ax=axes[0])
sl.plots.plot_volcano(found, top=5, ax=axes[1])
