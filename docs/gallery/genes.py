"""
# Genes: few samples, thousands of features

Expression data are wide, and genes rise and fall in groups. A single fit that predicts well contains
the right genes and some that came in by chance. To tell them apart, we fit many times, on halves of
the samples.
"""

# %%
# ## Data with a known answer
# Simulated: 120 samples, 3,000 genes in groups of ten that share a factor, and a response that
# depends on six genes and on age.

import matplotlib.pyplot as plt
import numpy as np

import sketchlasso as sl
from sketchlasso.engine import complementary_pairs

rng = np.random.default_rng(0)
m, n, group = 120, 3000, 10
shared = np.repeat(rng.standard_normal((m, n // group)), group, axis=1)
genes = 0.5 * shared + np.sqrt(0.75) * rng.standard_normal((m, n))
age = rng.uniform(20, 80, m)
true = np.arange(6) * 500
y = genes[:, true] @ np.array([1.5, -1.5, 1.2, -1.2, 1.0, -1.0]) + 0.05 * age
y += rng.standard_normal(m)

# %%
# ## One fit
# Age is adjusted for, not selected: its penalty factor is 0. `alpha="pivotal"` needs neither a noise
# level nor cross-validation. Cross-validation predicts better and selects more genes.

X = np.column_stack([genes, (age - 50) / 17])
factor = np.r_[np.ones(n), 0.0]
pivotal = sl.SqrtLasso("pivotal", penalty_factor=factor).fit(X, y)
chosen = sl.SqrtLassoCV(penalty_factor=factor, cv=10).fit(X, y)
for name, model in (("pivotal", pivotal), ("cross-validated", chosen)):
    genes_used = np.flatnonzero(model.coef_[:n])
    hits = np.isin(true, genes_used).sum()
    print(
        f"{name:16s} alpha {model.alpha_:5.2f}: {len(genes_used):3d} genes, {hits} of 6 true,",
        end="",
    )
    print(f" gap {model.dual_gap_:.0e}")

# %%
# ## A hundred half-samples, one sketch
# Fifty random pairs of complementary halves are a hundred problems over one sketch. With 120
# samples the exact sketch has rank 120 and radius 0: nothing is approximated.

found = sl.sketch(X, method="exact", center=True)
halves = complementary_pairs(m, 50, random_state=0)
problems = sl.build_problems(
    found, y, alphas=[chosen.alpha_], radii=[0.0], rows=halves, penalty_factor=factor
)
solution = sl.solve(problems.batch)
print(f"{solution.message()}, {solution.seconds:.2f} s")
often = np.asarray((abs(solution.coef) > 0).mean(axis=0)).ravel()[:n]
best = np.argsort(-often)[:12]
for gene in best:
    print(f"gene {gene:4d} chosen in {often[gene]:4.0%} of the halves{' (true)' * (gene in true)}")

# %%
# ## The picture
# Nearly every half chooses the true genes, but not those that came in by chance. A single fit cannot
# show this.

figure, axis = plt.subplots(figsize=(8, 3.8), layout="constrained")
others = np.setdiff1d(np.arange(n), true)
axis.scatter(others, often[others], s=5, color="tab:grey", label="other genes")
axis.scatter(true, often[true], s=45, marker="*", color="tab:red", label="genes of the model")
axis.set(xlabel="gene", ylabel="share of halves that chose it", ylim=(0, 1.02))
axis.legend(loc="upper right")
