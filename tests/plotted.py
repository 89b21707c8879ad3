"""One small problem and every object that can be plotted, for the tests of plots."""

from functools import cache
from types import SimpleNamespace

import numpy as np

import sketchlasso as sl
from sketchlasso.inference import (
    SparsePrecision,
    StabilitySelection,
    desparsified,
    treatment_effect,
)


@cache
def drawable():
    """A path, a cross-validation, leave-one-out and an estimator of one small regression."""
    rng = np.random.default_rng(0)
    X = 2 * rng.standard_normal((60, 6)) @ rng.standard_normal((6, 25))
    X += 0.5 * rng.standard_normal((60, 25))
    truth = np.zeros(25)
    truth[:5] = [3, -2, 1.5, -1, 0.5]
    y = X @ truth + rng.standard_normal(60)
    Y = np.column_stack([y, X[:, 3] + 0.1 * rng.standard_normal(60)])
    found = sl.sketch(X, rank=8, center=True, random_state=0)
    path = sl.sqrt_lasso_path(X, Y, found, alphas=12, radius=["realised", "0.05*spectral"])
    one = sl.sqrt_lasso_path(X, y, found, alphas=12)
    return SimpleNamespace(
        X=X,
        y=y,
        Y=Y,
        sketch=found,
        path=path,
        one=one,
        cv=sl.cross_validate(found, X, Y, cv=4, alphas=10, metrics=("mse", "r2")),
        loo=sl.leave_one_out(found, X, y, alpha=3.0),
        inferred=desparsified(X, Y),
        effects=treatment_effect(X[:, 5:], y, X[:, :5]),
        chosen=sl.SqrtLassoCV(alphas=12, cv=4, sketch="randomized", rank=8, random_state=0).fit(
            X, y
        ),
        stable=StabilitySelection(n_pairs=10, random_state=0).fit(X, y),
        graph=SparsePrecision().fit(X).graph(),
    )


def everything(made):
    """Every plotting function with its arguments, by name."""
    plots = sl.plots
    return {
        "path": lambda **kw: plots.plot_path(made.one, **kw),
        "path of an estimator": lambda **kw: plots.plot_path(made.chosen, made.X, made.y, **kw),
        "cv": lambda **kw: plots.plot_cv(made.cv, **kw),
        "cv of an estimator": lambda **kw: plots.plot_cv(made.chosen, **kw),
        "influence": lambda **kw: plots.plot_leave_one_out(made.loo, **kw),
        "forest": lambda **kw: plots.plot_forest(made.inferred, **kw),
        "forest of effects": lambda **kw: plots.plot_forest(made.effects, **kw),
        "volcano": lambda **kw: plots.plot_volcano(made.inferred, **kw),
        "stability": lambda **kw: plots.plot_stability(made.stable, **kw),
        "network": lambda **kw: plots.plot_network(made.graph, **kw),
    }
