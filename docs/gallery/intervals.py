"""
# How far off can a prediction be?

Leaving out every row in turn shows how far off the model is on patients it has not seen. These
residuals give prediction intervals that hold for any distribution. Half-samples of the rows then
show which features are chosen again and again.
"""

# %%
# ## Intervals from patients that were left out
# The bundled diabetes data: ten measurements, and the progression of the disease a year later.
# `calibrate` solves the problem without each of the 300 patients. It is a separate call, so a plain
# `fit` stays fast.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

import sketchlasso as sl
from sketchlasso.inference import StabilitySelection

X, y = load_diabetes(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=300, random_state=0)
model = sl.SqrtLasso(standardize=True).fit(X_train, y_train)
model.calibrate(X_train, y_train, method="jackknife+")
ends = model.predict_interval(X_test, level=0.9)
covered = (ends[:, 0] <= y_test) & (y_test <= ends[:, 1])
print(f"{covered.mean():.0%} of {len(y_test)} new patients are inside their 90 % interval")
print(f"mean width {np.mean(ends[:, 1] - ends[:, 0]):.0f}, standard deviation of y {y.std():.0f}")

# %%
# At level 90 % the jackknife+ guarantees 80 % for every distribution; in practice the coverage is
# near 90 %. The intervals are wide because the ten measurements explain only about half of the
# variance.

order = np.argsort(model.predict(X_test))
figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
axis.fill_between(np.arange(len(order)), *ends[order].T, alpha=0.25, label="90 % interval")
for inside, marker in ((True, "o"), (False, "x")):
    shown = np.flatnonzero(covered.to_numpy()[order] == inside)
    label = "inside" if inside else "outside"
    axis.plot(shown, y_test.to_numpy()[order][shown], marker, markersize=3, label=label)
axis.set(xlabel="patients, by their predictions", ylabel="progression of the disease")
axis.legend()

# %%
# ## When the penalty was chosen on the same rows
# `SqrtLassoCV` has used every row to choose its penalty. Its search is therefore repeated
# without each of ten folds (`cv+`). Keeping the penalty is faster and has no guarantee.

search = sl.SqrtLassoCV(standardize=True).fit(X_train, y_train)
for options in ({"method": "cv+"}, {"fixed_penalty": True}):
    ends = search.calibrate(X_train, y_train, **options).predict_interval(X_test)
    covered = (ends[:, 0] <= y_test) & (y_test <= ends[:, 1])
    width = np.mean(ends[:, 1] - ends[:, 0])
    print(f"{search.calibration_.method:10} {covered.mean():.0%} covered, mean width {width:.0f}")

# %%
# ## Which measurements matter, with a bound on mistakes
# The patients are split in half 50 times. Each half chooses the first features to enter; those
# chosen on most halves are selected. The bound limits how many of them are noise.

products = X.join(X.mul(X["bmi"], axis=0).add_suffix(" x bmi"))
selector = StabilitySelection(cutoff=0.7, pfer=1.0, random_state=0).fit(products, y)
print(f"{selector.q_} features per half, at most {selector.pfer_:.2f} false selections expected")
for name in selector.get_feature_names_out():
    print(f"{name:12} {selector.frequencies_[products.columns.get_loc(name)]:.2f}")
sl.plots.plot_stability(selector)
