"""
# Networks: which measurements belong together

Correlation links everything that has a common cause. A graph of partial correlations links two
measurements only if one helps to predict the other when all the rest are known. One square-root
LASSO per column finds it, at a penalty that needs no noise level and no search.
"""

# %%
# ## A graph that is known
# Simulated: 200 samples of 100 variables in groups of ten. The hub of each group drives the nine
# others, which are therefore correlated without being linked.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import sketchlasso as sl
from sketchlasso.inference import SparsePrecision, neighbourhoods

rng = np.random.default_rng(0)
m, n, size = 200, 100, 10
hubs = np.repeat(rng.standard_normal((m, n // size)), size, axis=1)
X = np.where(np.arange(n) % size == 0, hubs, 0.7 * hubs + 0.7 * rng.standard_normal((m, n)))
truth = {(f"x{j - j % size}", f"x{j}") for j in range(n) if j % size}

models = {
    "pivotal": SparsePrecision(),
    "extended BIC": SparsePrecision("ebic"),
    "held-out likelihood": SparsePrecision("cv"),
}
for name, model in models.items():
    edges = set(model.fit(X).graph().edges)
    print(f"{name:20s} {len(edges):4d} edges, {len(edges & truth):2d} of {len(truth)} true")

# %%
# Likelihood keeps false edges, because small wrong entries cost it little. To find edges, use the
# first or the second rule.
#
# ## Real measurements
# Thirty measurements of cell nuclei in 569 images of breast tumours. Which of them are linked
# directly, and how stable is each link? Forty half-samples of the images answer the second question.

data = load_breast_cancer(as_frame=True)
found = neighbourhoods(data.data, n_half_samples=40, random_state=0)
graph = found.graph("and", min_stability=0.9)
print(f"{found}\n{graph}: all in at least 90 % of the half-samples")
print(f"worst duality gap on the full data: {found.regressions.worst_gap:.0e}")
links = graph["worst concave points"]
for name in sorted(links, key=lambda name: -links[name]["weight"])[:5]:
    weight = links[name]["sign"] * links[name]["weight"]
    print(f"  worst concave points - {name}: {weight:+.2f}")

# %%
# ## The picture
# Columns that measure the same thing (radius, perimeter and area) form one corner; texture,
# smoothness and symmetry have corners of their own.
# `sl.graphs.write_graph("cells.graphml", graph)` writes the graph for Gephi or Cytoscape;
# `sketchlasso network cells.csv -o cells.graphml` does it in the shell, and
# `sketchlasso explore cells.graphml --open` shows it in the browser.

figure, axis = plt.subplots(figsize=(8.4, 6.2), layout="constrained")
sl.plots.plot_network(graph, top=12, ax=axis)
