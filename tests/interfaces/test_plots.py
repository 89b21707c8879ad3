"""Plots show what they were given: every number is read back from the axes."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

import sketchlasso as sl
from sketchlasso.errors import EmptyGridWarning
from sketchlasso.interfaces.plots.labels import spread
from sketchlasso.topics import word_graph
from tests.plotted import drawable, everything

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

plots = sl.plots

NAMES = [f"gene {number}" for number in range(25)]


@pytest.fixture(scope="module")
def made():
    return drawable()


@pytest.fixture(autouse=True)
def _close_figures():
    before = dict(matplotlib.rcParams)
    yield
    plt.close("all")
    assert dict(matplotlib.rcParams) == before, "plots must not touch global settings"


def drawn_path(display):
    """Every drawn coefficient: label to values, and the values without a label."""
    named = {
        label.get_text(): line.get_ydata()
        for label, line in zip(display.labels_, display.lines_, strict=True)
    }
    others = [] if display.others_ is None else display.others_.get_segments()
    return named, [segment[:, 1] for segment in others]


@pytest.mark.parametrize(("response", "radius"), [(0, 0), (1, 1)])
def test_path_draws_every_coefficient_of_the_response_and_radius_asked_for(made, response, radius):
    display = plots.plot_path(
        made.path, feature_names=NAMES, response=response, radius=radius, top=4
    )
    block = made.path.models.coef.toarray().reshape(2, 2, 12, 25)[response, radius]
    named, others = drawn_path(display)
    largest = np.argsort(-np.abs(block).max(axis=0), kind="stable")[:4]
    assert set(named) == {NAMES[feature] for feature in largest}
    for feature in largest:
        np.testing.assert_array_equal(named[NAMES[feature]], block[:, feature])
    rest = [j for j in range(25) if block[:, j].any() and j not in largest]
    np.testing.assert_array_equal(np.array(others), block[:, rest].T)
    np.testing.assert_array_equal(display.lines_[0].get_xdata(), made.path.alphas[response, radius])


def test_path_runs_to_the_right_and_counts_on_top(made):
    display = plots.plot_path(made.one)
    left, right = display.ax_.get_xlim()
    assert left > right
    assert display.ax_.get_xscale() == "log"
    display.figure_.draw_without_rendering()
    top = display.count_axis_.xaxis
    counts = dict(zip(made.one.alphas[0, 0], made.one.models.n_nonzero, strict=True))
    said = {
        alpha: int(label.get_text())
        for alpha, label in zip(top.get_majorticklocs(), top.get_majorticklabels(), strict=True)
    }
    assert len(said) >= 4
    assert all(counts[alpha] == count for alpha, count in said.items())


def test_labels_do_not_touch_each_other(made):
    for ax in (None, plt.figure(figsize=(4, 3)).subplots()):
        display = plots.plot_path(made.one, feature_names=NAMES, ax=ax, top=10)
        display.figure_.draw_without_rendering()
        # The whole annotation spans its leader as well, so look at the text alone.
        boxes = [matplotlib.text.Text.get_window_extent(label) for label in display.labels_]
        boxes.sort(key=lambda box: box.y0)
        assert len(boxes) > 5
        assert all(low.y1 <= high.y0 + 1 for low, high in pairwise(boxes))


@given(st.lists(st.floats(-0.5, 1.5), min_size=1, max_size=12), st.floats(0.01, 0.3))
def test_labels_are_spread_in_order_and_apart(wanted, distance):
    wanted = np.array(wanted)
    places = spread(wanted, distance)
    apart = min(distance, 1.0 / max(len(wanted) - 1, 1))
    assert (places >= -1e-9).all() and (places <= 1 + 1e-9).all()
    assert (np.diff(np.sort(places)) >= apart - 1e-9).all()
    assert (np.argsort(places, kind="stable") == np.argsort(wanted, kind="stable")).all()


def test_labels_with_room_stay_where_their_lines_end():
    np.testing.assert_allclose(spread(np.array([0.7, 0.1, 0.4]), 0.2), [0.7, 0.1, 0.4])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"standardize": True},
        {"sketch": None},
        {"penalty_factor": np.linspace(0.5, 2, 25)},
        {"positive": True, "fit_intercept": False, "alphas": [3.0, 1.5]},
    ],
)
def test_path_of_an_estimator_passes_through_its_coefficients(made, options):
    model = clone(made.chosen).set_params(tol=1e-11, **options).fit(made.X, made.y)
    display = plots.plot_path(model, made.X, made.y)
    at = np.abs(display.alphas - model.alpha_).argmin()
    assert display.alphas[at] == pytest.approx(model.alpha_)
    np.testing.assert_allclose(display.coef.toarray()[at], model.coef_, atol=1e-4)
    assert "used by the model" in display.ax_.get_xlabel()
    sizes = [np.abs(line.get_ydata()[at]) for line in display.lines_]
    assert sizes == sorted(sizes, reverse=True)


def test_path_of_other_estimators(made):
    label = np.where(made.y > 0, "high", "low")
    classifier = sl.SqrtLassoClassifierCV(alphas=8, cv=3).fit(made.X, label)
    display = plots.plot_path(classifier, made.X, label)
    at = np.abs(display.alphas - classifier.alpha_[0]).argmin()
    np.testing.assert_allclose(display.coef.toarray()[at], classifier.coef_[0], atol=2e-3)
    both = sl.SqrtLasso(alpha=2.0).fit(sparse.csr_array(made.X), made.Y)
    plots.plot_path(both, sparse.csr_array(made.X), made.Y, response=1)


@pytest.mark.parametrize("metric", ["mse", "r2"])
def test_cv_draws_means_errors_and_both_choices(made, metric):
    display = plots.plot_cv(made.cv, metric=metric, response=1)
    best, careful = (made.cv.best(metric, 1, rule) for rule in ("min", "1se"))
    row = best.radius_index
    mean, error = made.cv.mean(metric)[1], made.cv.standard_error(metric)[1, row]
    np.testing.assert_array_equal(display.line_.get_ydata(), mean[row])
    np.testing.assert_array_equal(display.line_.get_xdata(), made.cv.alphas[1, row])
    band = display.band_.get_paths()[0].vertices[:, 1]
    for edge in (mean[row] - error, mean[row] + error):
        assert np.isin(edge, band).all()
    marked = [mark.get_xdata()[0] for mark in display.marks_]
    assert marked == [best.alpha, careful.alpha]
    others = np.array([line.get_ydata() for line in display.others_])
    np.testing.assert_array_equal(others, np.delete(mean, row, axis=0))
    words = " ".join(text.get_text() for text in display.legend_.get_texts())
    assert f"{best.alpha:.3g}" in words and f"{careful.alpha:.3g}" in words


def test_cv_of_an_estimator_is_its_score_path(made):
    model = made.chosen
    display = plots.plot_cv(model)
    np.testing.assert_allclose(display.line_.get_ydata(), model.score_path_.mean(axis=1))
    spread = model.score_path_.std(axis=1, ddof=1) / 2.0
    assert np.isin(np.round(display.mean[0] + spread, 12), np.round(_heights(display), 12)).all()
    assert [mark.get_xdata()[0] for mark in display.marks_] == [model.alpha_min_, model.alpha_1se_]
    np.testing.assert_array_equal(display.n_nonzero[0], model.n_nonzero_path_.mean(axis=1))


def _heights(display):
    return display.band_.get_paths()[0].vertices[:, 1]


def test_cv_leaves_out_radii_that_allow_no_feature(made):
    with pytest.warns(EmptyGridWarning):
        cv = sl.cross_validate(made.sketch, made.X, made.y, cv=3, alphas=5, radii=[0.1, 1e6])
    display = plots.plot_cv(cv)
    assert display.others_ == []
    assert min(display.ax_.get_xlim()) > 1e-9


def test_cv_of_several_targets(made):
    model = clone(made.chosen).fit(made.X, made.Y)
    display = plots.plot_cv(model, response=1)
    np.testing.assert_allclose(display.line_.get_ydata(), model.score_path_[1].mean(axis=1))


def test_spectrum_draws_singular_values_radius_and_effective_rank(made):
    wide = made.sketch.with_radius(float(made.sketch.singular_values[3]) * 1.001)
    display = plots.plot_spectrum({"narrow": made.sketch, "wide": wide})
    assert display.effective_ranks[1] == 3
    display.plot(relative=False)
    for line, mark in zip(display.lines_, display.marks_, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), made.sketch.singular_values)
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 9))
        assert mark.get_ydata()[0] in made.sketch.singular_values
    assert display.marks_[1].get_xdata()[0] == 3
    assert [line.get_ydata()[0] for line in display.radius_lines_] == [
        made.sketch.radius,
        wide.radius,
    ]
    words = [text.get_text() for text in display.legend_.get_texts()]
    assert any("wide\neffective rank 3 of 8" in text for text in words)


def test_spectrum_is_relative_where_there_are_several(made):
    display = plots.plot_spectrum({"a": made.sketch, "b": made.chosen})
    values = made.sketch.singular_values
    np.testing.assert_allclose(display.lines_[0].get_ydata(), values / values[0])
    assert display.radius_lines_[0].get_ydata()[0] == pytest.approx(made.sketch.radius / values[0])
    assert len(plots.plot_spectrum([made.sketch, made.sketch]).lines_) == 2
    exact = plots.plot_spectrum({"": sl.sketch(made.X, method="exact")})
    assert len(exact.lines_) == 1


def test_influence_draws_every_row_and_names_the_largest(made):
    display = plots.plot_leave_one_out(made.loo, top=3)
    points = np.vstack([part.get_offsets() for part in display.points_])
    wanted = np.column_stack([made.loo.residuals, made.loo.coefficient_shift])
    np.testing.assert_array_equal(points[np.lexsort(points.T)], wanted[np.lexsort(wanted.T)])
    largest = np.argsort(-made.loo.coefficient_shift)[:3]
    assert [label.get_text() for label in display.labels_] == [f"row {row}" for row in largest]
    for label, row in zip(display.labels_, largest, strict=True):
        assert label.xy == tuple(wanted[row])
    names = [f"sample {row}" for row in range(60)]
    again = display.plot(top=1, row_names=names)
    assert again.labels_[0].get_text() == f"sample {largest[0]}"


def test_scatter_draws_both_models_and_says_how_near_they_are(made):
    display = plots.plot_sketched_against_full(made.one, made.full, position=8)
    first, second = (path.models.coef[[8]].toarray()[0] for path in (made.one, made.full))
    points = np.vstack([part.get_offsets() for part in display.points_])
    shown = (first != 0) | (second != 0)
    wanted = np.column_stack([second, first])[shown]
    np.testing.assert_array_equal(points[np.lexsort(points.T)], wanted[np.lexsort(wanted.T)])
    both = np.count_nonzero((first != 0) & (second != 0))
    correlation = np.corrcoef(first[shown], second[shown])[0, 1]
    assert f"correlation {correlation:.3f}" in display.words
    assert f"{both} of {shown.sum()} features in both" in display.words
    assert display.legend_.get_title().get_text() == display.words
    assert display.ax_.get_xlim() == display.ax_.get_ylim()


def test_scatter_of_predictions_arrays_and_estimators(made):
    display = plots.plot_sketched_against_full(made.one, made.full, made.X, position=8)
    predicted = made.one.models.predict(made.X)[:, 8]
    np.testing.assert_allclose(display.points_[0].get_offsets()[:, 1], predicted)
    assert "60 rows" in display.words
    model = sl.SqrtLasso(alpha=2.0, sketch=None).fit(made.X, made.y)
    pair = plots.plot_sketched_against_full(made.chosen, model)
    arrays = plots.plot_sketched_against_full(made.chosen.coef_, list(model.coef_))
    np.testing.assert_array_equal(pair.sketched, arrays.sketched)
    np.testing.assert_array_equal(pair.full, model.coef_)
    rows = plots.plot_sketched_against_full(made.chosen, model, sparse.csr_array(made.X))
    np.testing.assert_allclose(rows.full, model.predict(made.X))
    empty = plots.plot_sketched_against_full(np.zeros(4), np.zeros(4))
    assert "undefined" in empty.words


def test_gaps_are_those_of_the_path(made):
    full = made.one.certificate(made.X, made.y)
    display = plots.plot_gaps(made.one, full)
    for line, gaps in zip(display.lines_, (made.one.relative_gap, full.relative_gap), strict=True):
        kept = gaps > 1e-12
        np.testing.assert_array_equal(line.get_ydata()[kept], gaps[kept])
        assert np.isnan(line.get_ydata()[~kept]).all()
    assert display.tolerance_.get_ydata()[0] == sl.Settings().tol
    assert display.ax_.get_yscale() == "log"
    exact = plots.plot_gaps(made.full)
    assert len(exact.lines_) == 1 and exact.tolerance_ is None
    marked = sum(len(mark.get_xdata()) for mark in exact.zeros_)
    assert marked == np.count_nonzero(made.full.relative_gap <= 1e-12)
    told = plots.plot_gaps(made.full, tol=1e-4)
    assert told.tolerance_.get_ydata()[0] == 1e-4


@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize("layout", [None, "constrained", "tight"])
def test_every_plot_returns_the_axes_it_was_given_and_can_be_saved(made, style, layout, tmp_path):
    with plt.style.context(style):
        for number, draw in enumerate(everything(made).values()):
            figure, ax = plt.subplots(layout=layout)
            assert draw(ax=ax).ax_ is ax
            if ax.get_legend() is not None:  # no line crosses its text
                frame = ax.get_legend().get_frame()
                assert frame.get_visible() and frame.get_facecolor() == ax.get_facecolor()
            assert plt.gcf() is figure
            figure.savefig(tmp_path / f"{number}.png", dpi=40)
            plt.close(figure)


def test_every_plot_makes_axes_of_its_own_and_passes_options_on(made):
    for draw in everything(made).values():
        ax = draw(color="red", alpha=0.5).ax_
        colors = [matplotlib.colors.to_hex(line.get_color()) for line in ax.get_lines()]
        faces = [
            matplotlib.colors.to_hex(color)
            for collection in ax.collections
            for color in collection.get_facecolor()
        ]
        assert "#ff0000" in colors + faces
        ax.figure.draw_without_rendering()


def test_a_display_can_be_drawn_again(made):
    display = plots.plot_gaps(made.one)
    first = display.ax_
    second = display.plot().ax_
    assert first is not second and second.figure is display.figure_


def test_one_penalty_is_a_point(made):
    short = sl.sqrt_lasso_path(made.X, made.y, made.sketch, alphas=[2.0])
    for ax in (plots.plot_path(short).ax_, plots.plot_gaps(short).ax_):
        ax.figure.draw_without_rendering()
        assert any(line.get_marker() not in ("None", None) for line in ax.get_lines())
    cv = sl.cross_validate(made.sketch, made.X, made.y, cv=3, alphas=[2.0])
    plots.plot_cv(cv).figure_.draw_without_rendering()


def test_nothing_to_name_draw_or_see(made):
    display = plots.plot_path(made.one, top=0)
    assert display.labels_ == [] and display.lines_ == []
    assert plots.plot_leave_one_out(made.loo, top=0).labels_ == []
    alphas = np.array([2.0, 1.0])
    zero = plots.GapDisplay(
        alphas=alphas, solved_gap=np.zeros(2), full_gap=np.zeros(2), sketched=False
    ).plot()
    np.testing.assert_array_equal(zero.zeros_[0].get_xdata(), alphas)
    thin = sl.sketch(made.X, rank=1, random_state=0)
    assert plots.plot_spectrum({"thin": thin}).lines_[0].get_marker() == "o"


def test_network_draws_every_link_with_its_sign_and_names_the_most_linked():
    weights = np.zeros((6, 6))
    weights[0, 1:4], weights[3, 4] = (0.5, -0.2, 0.4), -1.0
    graph = word_graph(weights, [f"node {j}" for j in range(6)])
    display = plots.plot_network(graph, top=2)
    assert display.names == tuple(f"node {j}" for j in range(5))  # the last has no link
    positive, negative = (lines.get_segments() for lines in display.links_)
    links = sl.graphs.links_of(graph)
    expected = display.places[links.edges]
    np.testing.assert_allclose(positive, expected[links.weights > 0])
    np.testing.assert_allclose(negative, expected[links.weights < 0])
    assert {label.get_text() for label in display.labels_} == {"node 0", "node 3"}
    widths = np.concatenate([lines.get_linewidths() for lines in display.links_])
    assert np.argmax(widths) == 3  # -1.0 is the strongest, and the negative ones come last
    np.testing.assert_allclose(display.points_.get_offsets(), display.places)
    whole = plots.plot_network(graph, isolated=True)
    assert len(whole.points_.get_offsets()) == 6
