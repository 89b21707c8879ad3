"""
# Leave-one-out: finding wrong rows

A row with a wrong response pulls the fit towards itself, so its residual looks small. Leaving out
every row in turn shows what the other rows predict for it, and how much the model changes without
it. It takes one call.
"""

# %%
# ## Data with known mistakes
# The bundled diabetes data, 442 patients, with products of features (65 columns). Eight responses
# are replaced by those of other, very different patients.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import PolynomialFeatures, scale

import sketchlasso as sl

X, y = load_diabetes(return_X_y=True)
X = scale(PolynomialFeatures(2, include_bias=False).fit_transform(X))
order = np.argsort(y)
rng = np.random.default_rng(0)
wrong = np.r_[rng.choice(order[:80], 4, replace=False), rng.choice(order[-80:], 4, replace=False)]
y[wrong] = y[wrong[::-1]]
print(f"{X.shape[0]} rows, {X.shape[1]} features, {len(wrong)} of the responses are wrong")

# %%
# ## One sketch, 442 refits
# With 65 features the exact sketch of full rank costs next to nothing, and its radius is 0: nothing
# is approximated. The penalty comes from cross-validation on the same data, mistakes included.

model = sl.SqrtLassoCV(selection="1se").fit(X, y)
found = sl.sketch(X, method="exact", center=True)
loo = sl.leave_one_out(found, X, y, alpha=model.alpha_)
print(f"{len(loo.rows)} problems in {loo.seconds:.2f} s, worst gap {loo.relative_gap.max():.0e}")
print(f"features in the model: {np.count_nonzero(model.coef_)}")
changed = np.sum(loo.features_gained + loo.features_lost > 0)
print(f"rows without which other features are selected: {changed}")

# %%
# ## Which rows stand out
# The size of the residual and the change of the coefficients are different measures: a row may be
# badly predicted and harmless, or well predicted because the model follows it.

suspicion = np.abs(loo.residuals)
ranked = np.argsort(-suspicion)
place = {row: position + 1 for position, row in enumerate(ranked)}
print("places of the wrong rows by residual:", sorted(place[row] for row in wrong))
figure, axis = plt.subplots(figsize=(7, 4.4), layout="constrained")
honest = np.setdiff1d(loo.rows, wrong)
axis.scatter(suspicion[honest], loo.coefficient_shift[honest], s=12, label="as recorded")
cross = {"marker": "x", "color": "tab:red", "label": "response exchanged"}
axis.scatter(suspicion[wrong], loo.coefficient_shift[wrong], s=40, **cross)
axis.set(xlabel="|y - prediction without the row|", ylabel="change of the coefficients")
axis.set(yscale="log", title="442 models, each without one row")
axis.legend()
