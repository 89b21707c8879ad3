"""Plots of stability paths and interval bands: every number is read back from the axes."""

import numpy as np
import pytest

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.inference import StabilitySelection
from tests.plotted import drawable

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

plots = sl.plots


@pytest.fixture(scope="module")
def made():
    return drawable()


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_stability_draws_every_feature_that_is_ever_chosen(made):
    names = [f"gene {j}" for j in range(25)]
    display = plots.plot_stability(made.stable, feature_names=names, top=2)
    selected = made.stable.get_support(indices=True)
    often = selected[np.argsort(-made.stable.frequencies_[selected], kind="stable")][:2]
    assert [label.get_text() for label in display.labels_] == [names[j] for j in often]
    for line, feature in zip(display.lines_, often, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), made.stable.alphas_)
        np.testing.assert_array_equal(line.get_ydata(), made.stable.stability_path_[:, feature])
    rest = np.setdiff1d(np.flatnonzero(made.stable.frequencies_), often)
    segments = display.others_.get_segments()
    assert len(segments) == len(rest)
    for segment, feature in zip(segments, rest, strict=True):
        np.testing.assert_allclose(segment[:, 1], made.stable.stability_path_[:, feature])
    assert set(display.cutoff_line_.get_ydata()) == {made.stable.cutoff_}
    title = display.ax_.get_title()
    assert f"{len(selected)} selected" in title and f"{made.stable.pfer_:.3g}" in title


def test_a_selector_that_selects_nothing_is_drawn(made):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 5)), rng.standard_normal(30)
    empty = StabilitySelection(n_pairs=10, cutoff=1.0, q=1, random_state=0).fit(X, y)
    display = plots.plot_stability(empty)
    assert display.lines_ == [] and display.others_ is not None


def test_intervals_are_drawn_in_the_order_of_predictions(made):
    X, y = made.X[40:], made.y[40:]
    display = plots.plot_intervals(made.calibrated, X, y, level=0.8)
    predictions = made.calibrated.predict(X)
    order = np.argsort(predictions)
    np.testing.assert_array_equal(display.line_.get_ydata(), predictions[order])
    ends = made.calibrated.predict_interval(X, 0.8)
    inside = (ends[:, 0] <= y) & (y <= ends[:, 1])
    assert display.coverage_ == inside.mean()
    np.testing.assert_array_equal(display.inside_.get_ydata(), y[order][inside[order]])
    np.testing.assert_array_equal(display.outside_.get_ydata(), y[order][~inside[order]])
    drawn = display.band_.get_paths()[0].vertices[:, 1]
    assert (drawn.min(), drawn.max()) == (ends.min(), ends.max())
    assert f"{100 * inside.mean():.1f} % of 20 responses inside" in display.ax_.get_title()


def test_intervals_of_several_targets_and_without_responses(made):
    model = sl.SqrtLasso(alpha=3.0).fit(made.X, made.Y).calibrate(made.X, made.Y, method="cv+")
    display = plots.plot_intervals(model, made.X, response=1)
    assert display.inside_ is None and "cv+" in display.ax_.get_title()
    np.testing.assert_array_equal(display.intervals, model.predict_interval(made.X)[:, 1])
    both = plots.plot_intervals(model, made.X, made.Y, response=1)
    assert 0 < both.coverage_ <= 1


def test_refusals(made):
    with pytest.raises(InvalidInputError, match="a fitted StabilitySelection is accepted"):
        plots.plot_stability(StabilitySelection())
    with pytest.raises(InvalidInputError, match="top must be an integer >= 0, not -1"):
        plots.plot_stability(made.stable, top=-1)
    with pytest.raises(InvalidInputError, match="feature_names holds 2 names"):
        plots.plot_stability(made.stable, feature_names=["a", "b"])
    with pytest.raises(InvalidInputError, match="a fitted and calibrated SqrtLasso or"):
        plots.plot_intervals(made.stable, made.X)
    with pytest.raises(InvalidInputError, match="the model is not calibrated"):
        plots.plot_intervals(made.chosen, made.X)
    with pytest.raises(InvalidInputError, match=r"are infinite, .*calibrate on more rows"):
        plots.plot_intervals(made.calibrated, made.X, level=0.99)
    with pytest.raises(InvalidInputError, match="pass one response per row"):
        plots.plot_intervals(made.calibrated, made.X, made.y[:3])
    with pytest.raises(InvalidInputError, match="response must be an integer from 0 to 0, not 1"):
        plots.plot_intervals(made.calibrated, made.X, response=1)
