"""Forest and volcano plots show the estimates they were given."""

import numpy as np
import pytest

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.inference import SparsePrecision
from tests.plotted import drawable
from tests.sentences import refusal

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


@pytest.mark.parametrize("response", [0, 1])
def test_forest_draws_intervals_from_the_smallest_p_value_down(made, response):
    found = made.inferred
    display = plots.plot_forest(found, level=0.9, simultaneous=True, response=response, top=7)
    order = np.argsort(found.p_value[:, response], kind="stable")[:7]
    np.testing.assert_array_equal(display.points_.get_xdata(), found.estimate[order, response])
    assert np.all(np.diff(display.points_.get_ydata()) < 0)
    ends = np.array([segment[:, 0] for segment in display.bars_.get_segments()])
    np.testing.assert_array_equal(ends, found.interval(0.9)[:, order, response].T)
    wide = np.array([segment[:, 0] for segment in display.wide_bars_.get_segments()])
    assert np.all(wide[:, 0] < ends[:, 0]) and np.all(wide[:, 1] > ends[:, 1])
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels == [found.names[j] for j in order]
    assert "90 %" in display.ax_.get_xlabel()


def test_forest_of_effects_uses_names(made):
    names = [f"dose {number}" for number in range(5)]
    drawn = plots.plot_forest(made.effects, feature_names=names)
    assert {label.get_text() for label in drawn.ax_.get_yticklabels()} == set(names)


def test_volcano_separates_discoveries_and_names_the_strongest(made):
    found = made.inferred
    display = plots.plot_volcano(found, cutoff=0.2, adjustment="holm", top=3)
    rest, discovered = (points.get_offsets().data for points in display.points_)
    chosen = found.adjusted("holm")[:, 0] <= 0.2
    assert len(discovered) == chosen.sum() and len(rest) == (~chosen).sum()
    np.testing.assert_allclose(discovered[:, 0], found.estimate[chosen, 0])
    np.testing.assert_allclose(discovered[:, 1], -np.log10(found.p_value[chosen, 0]))
    best = np.argsort(found.p_value[:, 0], kind="stable")[:3]
    assert [label.get_text() for label in display.labels_] == [found.names[j] for j in best]
    assert display.legend_.get_title().get_text() == "holm"


def test_paths_of_rigorous_estimators_pass_through_their_model(made):
    model = sl.SqrtLasso("rigorous", tol=1e-9).fit(made.X, made.y)
    display = plots.plot_path(model, made.X, made.y)
    nearest = np.argmin(np.abs(np.log(display.alphas / model.alpha_)))
    near = np.asarray(display.coef.todense() if hasattr(display.coef, "todense") else display.coef)
    assert np.array_equal(near[nearest] != 0, model.coef_ != 0)


def test_bad_input_is_refused_in_one_sentence(made):
    told = [
        refusal(InvalidInputError, plots.plot_forest, made.loo),
        refusal(InvalidInputError, plots.plot_volcano, made.cv),
    ]
    assert all("Desparsified or TreatmentEffects" in text for text in told)
    for draw, given, said in (
        (plots.plot_forest, {"level": 2}, "level must be a probability strictly between 0 and 1"),
        (plots.plot_volcano, {"cutoff": 0}, "cutoff must be a number strictly between 0 and 1"),
        (plots.plot_volcano, {"cutoff": None}, "cutoff must be a number strictly between 0 and 1"),
        (plots.plot_volcano, {"top": -1}, "top must be an integer >= 0"),
        (plots.plot_forest, {"response": 2}, "response must be an integer from 0 to 1"),
    ):
        refused = refusal(InvalidInputError, draw, made.inferred, **given)
        assert f"{said}, not {next(iter(given.values()))}" in refused
    assert "simultaneous" in refusal(
        InvalidInputError, plots.plot_forest, made.effects, simultaneous=True
    )
    assert "3 names" in refusal(
        InvalidInputError, plots.plot_forest, made.inferred, feature_names=["a", "b", "c"]
    )


def test_a_network_whose_links_have_one_sign_is_drawn():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((100, 5))
    Z[:, 1] += Z[:, 0]
    display = plots.plot_network(SparsePrecision().fit(Z).graph())
    assert [text.get_text() for text in display.legend_.get_texts()] == ["positive (1 links)"]


@pytest.mark.parametrize("size", [(9, 6), (3, 2.5)])
def test_labels_of_a_volcano_never_overlap(size):
    """Wide letters, and points that lie on each other: what finds no place is left out."""
    count = 14
    near = 1 + 1e-3 * np.arange(count)
    display = plots.VolcanoDisplay(
        estimate=near,
        p_value=1e-6 * near,
        adjusted=np.full(count, 1e-3),
        names=[f"WMWMWM_{j}" for j in range(count)],
        cutoff=0.05,
        adjustment="holm",
    ).plot(plt.figure(figsize=size).subplots(), top=count)
    display.figure_.draw_without_rendering()
    boxes = [matplotlib.text.Text.get_window_extent(label) for label in display.labels_]
    assert display.labels_[0].get_text() == "WMWMWM_0"
    assert len(boxes) >= 4
    for number, box in enumerate(boxes):
        for other in boxes[:number]:
            assert not box.overlaps(other)
