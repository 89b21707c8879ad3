"""
# Text: which words tell two libraries apart?

The documents are docstrings of SciPy and scikit-learn, read from the installed files, so nothing
is downloaded. There are more words than documents, and few of them matter.
"""

# %%
# ## Documents
# Source files are parsed, not imported. The names of the two libraries are left out, because they
# would give the answer away.

import ast
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split

import sketchlasso as sl


def docstrings(package):
    found = set()
    for path in Path(find_spec(package).origin).parent.rglob("*.py"):
        if "tests" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                words = ast.get_docstring(node) or ""
                found |= {words} if len(words) > 300 else set()
    return sorted(found)


parts = {"SciPy": ["scipy.sparse", "scipy.stats", "scipy.signal"], "scikit-learn": ["sklearn"]}
texts, labels = [], []
for label, packages in parts.items():
    own = [text for package in packages for text in docstrings(package)]
    texts, labels = texts + own, labels + [label] * len(own)

train, test, y_train, y_test = train_test_split(
    texts, labels, test_size=0.3, stratify=labels, random_state=0
)
words = TfidfVectorizer(
    min_df=2,
    token_pattern=r"\b[a-z]{2,}\b",
    sublinear_tf=True,
    stop_words=["scipy", "sklearn", "scikit", "learn"],
)
X_train, X_test = words.fit_transform(train), words.transform(test)
print(f"{X_train.shape[0]} documents to learn from, {X_test.shape[0]} to judge by,", end=" ")
print(f"{X_train.shape[1]} words")

# %%
# ## Cross-validation on a sketch
# The default is a sketch of rank 50. Some of its directions start at the response, and each fold
# computes those again without its held-out rows. `selection="1se"` takes the sparsest model within
# one standard error of the best.

start = perf_counter()
sketched = sl.SqrtLassoClassifierCV(
    alphas=30, scoring="accuracy", selection="1se", radius="realised", random_state=0
).fit(X_train, y_train)
print(f"{perf_counter() - start:.1f} s for 5 folds x 30 penalties")
print(f"accuracy on documents never seen: {sketched.score(X_test, y_test):.3f}")
print(f"words used: {np.count_nonzero(sketched.coef_)}")

# %%
# ## The same penalties without a sketch
# At the larger penalties, which use few words, the full problem costs no more.

penalties = sketched.alphas_[0, 0] * np.geomspace(1.0, 0.15, 10)
start = perf_counter()
sign = np.where(np.array(y_train) == "scikit-learn", 1.0, -1.0)
path = sl.sqrt_lasso_path(X_train, sign, None, alphas=penalties)
print(f"{perf_counter() - start:.2f} s for 10 penalties, worst gap {path.relative_gap.max():.0e}")
true = np.array(y_test) == "scikit-learn"
accuracy = np.mean((path.models.predict(X_test) > 0) == true[:, None], axis=0)
for used, share in zip(path.models.n_nonzero, accuracy, strict=True):
    print(f"{used:4d} words: accuracy {share:.3f}")

# %%
# ## Which words decide
# Words with negative coefficients point to SciPy, those with positive ones to scikit-learn.

names = words.get_feature_names_out()
order = np.argsort(sketched.coef_[0])
shown = np.r_[order[:12], order[-12:]]
weights = sketched.coef_[0, shown]
figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
axes[0].barh(names[shown], weights, color=np.where(weights > 0, "tab:orange", "tab:blue"))
axes[0].tick_params(labelsize=7)
axes[0].set(xlabel="coefficient", title=f"{sketched.classes_[0]}  <  0  <  {sketched.classes_[1]}")
scores = sketched.score_path_[0]
tried = np.isfinite(scores).all(axis=1)  # the search leaves out penalties that cannot be chosen
scores, penalties = scores[tried], sketched.alphas_[0][tried]
middle, spread = scores.mean(axis=1), scores.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
axes[1].errorbar(penalties, middle, spread, marker=".", capsize=2)
axes[1].axvline(sketched.alpha_[0], color="grey", linestyle=":", label="one standard error")
axes[1].set(xscale="log", xlabel="penalty alpha", ylabel="held-out accuracy, 5 folds")
axes[1].legend()
