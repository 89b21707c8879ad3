"""
# Which genes: intervals for thousands of coefficients

A fit selects genes; it does not say how sure it is of any of them. The desparsified square-root
LASSO does: one regression per gene gives every coefficient an estimate, an error and a p-value.
"""

# %%
# ## Data
# The riboflavin data (71 samples of *Bacillus subtilis*, 4,088 genes, the logarithm of the
# production rate as response) where they are at hand. Else a set made up in their image: few
# samples, genes that move in groups, five of them with an effect.

import os
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
    genes, source = [f"gene {j}" for j in range(1000)], "made up"
print(f"{source}: {X.shape[0]} samples x {X.shape[1]} genes")

# %%
# ## One call
# `standard_error` is for noise of equal variance; `errors="robust"` is for any other.
# `bias_bound` says how much of the other genes is left in a gene's score: small is good, and no
# estimate comes from a sketch without a step on the full data.

found = sl.desparsified(X, y, feature_names=genes)
print(f"noise {found.noise:.2f}, bias bound {found.bias_bound.max():.2f} at most")
print(found)

# %%
# ## Which genes
# Thousands of tests need an adjustment. Holm's bounds the chance of any false discovery, that of
# Benjamini and Hochberg the share of false ones.

holm, rates = found.adjusted("holm"), found.adjusted("benjamini-hochberg")
print(f"Holm: {np.sum(holm < 0.05)} genes, Benjamini-Hochberg: {np.sum(rates < 0.1)} genes")
for j in np.argsort(found.p_value)[:5]:
    lower, upper = found.interval(0.95)[:, j]
    print(f"{genes[j]:12s} {found.estimate[j]:6.2f}  [{lower:5.2f}, {upper:5.2f}]", end="")
    print(f"  p {found.p_value[j]:.1e}  Holm {holm[j]:.2g}")

# %%
# Few genes, or none, survive: 71 samples are not many for so many questions, and an honest
# answer may be "not yet". On the riboflavin data no single gene is certain. Groups may still be:
# here the twenty genes that the LASSO itself selects first.

strongest = np.argsort(-np.abs(found.initial) * X.std(axis=0))[:20]
value = found.group_test(strongest, random_state=0)
print(
    f"group of {len(strongest)} genes: p = {value:.3f} (chosen by the data, so take it with salt)"
)

# %%
# ## Pictures
# The forest shows intervals of the strongest genes, thin lines hold all at once. The volcano shows
# all genes.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
sl.plots.plot_forest(found, top=12, simultaneous=True, ax=axes[0])
sl.plots.plot_volcano(found, top=5, ax=axes[1])
