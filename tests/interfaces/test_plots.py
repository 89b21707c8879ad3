"""Plots show what they were given: every number is read back from the axes."""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError, MissingExtraError, SketchlassoWarning
from sketchlasso.inference import StabilitySelection
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


def names_of(ax):
    return [text.get_text() for text in ax.texts]


def named_lines(ax, alphas):
    """The lines that run along all penalties, in the order of their labels."""
    return [line for line in ax.lines if len(line.get_xdata()) == len(alphas)]


@pytest.mark.parametrize(("response", "radius"), [(0, 0), (1, 1)])
def test_path_draws_every_coefficient_of_the_response_and_radius_asked_for(made, response, radius):
    ax = plots.plot_path(made.path, feature_names=NAMES, response=response, radius=radius, top=4)
    block = made.path.models.coef.toarray().reshape(2, 2, 12, 25)[response, radius]
    largest = np.argsort(-np.abs(block).max(axis=0), kind="stable")[:4]
    assert names_of(ax) == [NAMES[feature] for feature in largest]
    lines = named_lines(ax, made.path.alphas[response, radius])
    for line, feature in zip(lines, largest, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), block[:, feature])
        np.testing.assert_array_equal(line.get_xdata(), made.path.alphas[response, radius])
    rest = [j for j in range(25) if block[:, j].any() and j not in largest]
    drawn = np.array([segment[:, 1] for segment in ax.collections[0].get_segments()])
    np.testing.assert_array_equal(drawn, block[:, rest].T)


def test_path_runs_to_the_right_and_counts_on_top(made):
    ax = plots.plot_path(made.one)
    left, right = ax.get_xlim()
    assert left > right and ax.get_xscale() == "log"
    ax.figure.draw_without_rendering()
    top = ax.child_axes[0].xaxis
    counts = dict(zip(made.one.alphas[0, 0], made.one.models.n_nonzero, strict=True))
    labels = zip(top.get_majorticklocs(), top.get_majorticklabels(), strict=True)
    said = {alpha: int(label.get_text()) for alpha, label in labels}
    assert len(said) >= 4
    assert all(counts[alpha] == count for alpha, count in said.items())


def test_path_of_an_estimator_passes_through_its_effects(made):
    for options in ({}, {"sketch": None}, {"penalty_factor": np.linspace(0.5, 2, 25)}):
        model = clone(made.chosen).set_params(tol=1e-11, **options).fit(made.X, made.y)
        ax = plots.plot_path(model, made.X, made.y, feature_names=NAMES)
        at = np.abs(np.atleast_1d(model.alphas_) - model.alpha_).argmin()
        effects = dict(zip(NAMES, model.coef_ * made.X.std(axis=0), strict=True))
        lines = named_lines(ax, np.atleast_1d(model.alphas_))
        for name, line in zip(names_of(ax), lines, strict=True):
            np.testing.assert_allclose(line.get_ydata()[at], effects[name], atol=2e-3)
        marks = [line.get_xdata()[0] for line in ax.lines if len(line.get_xdata()) == 2]
        assert model.alpha_ in marks


def test_path_of_classifiers_sparse_data_and_rigorous_penalties(made):
    label = np.where(made.y > 0, "high", "low")
    classifier = sl.SqrtLassoClassifierCV(alphas=8, cv=3).fit(made.X, label)
    plots.plot_path(classifier, made.X, label)
    both = sl.SqrtLasso(alpha=2.0).fit(sparse.csr_array(made.X), made.Y)
    plots.plot_path(both, sparse.csr_array(made.X), made.Y, response=1)
    rigorous = sl.SqrtLasso("rigorous", tol=1e-9).fit(made.X, made.y)
    ax = plots.plot_path(rigorous, made.X, made.y, top=25, feature_names=NAMES)
    assert set(names_of(ax)) == {NAMES[j] for j in np.flatnonzero(rigorous.coef_)}


@pytest.mark.parametrize("metric", ["mse", "r2"])
def test_cv_draws_means_errors_and_both_choices(made, metric):
    ax = plots.plot_cv(made.cv, metric=metric, response=1)
    best, careful = (made.cv.best(metric, 1, rule) for rule in ("min", "1se"))
    row = best.radius_index
    mean, error = made.cv.mean(metric)[1], made.cv.standard_error(metric)[1, row]
    lines = {line.get_label(): line for line in ax.lines}
    (chosen,) = [line for label, line in lines.items() if label.endswith(", chosen")]
    np.testing.assert_array_equal(chosen.get_ydata(), mean[row])
    np.testing.assert_array_equal(chosen.get_xdata(), made.cv.alphas[1, row])
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    for edge in (mean[row] - error, mean[row] + error):
        assert np.isin(edge, band).all()
    marks = {
        line.get_linestyle(): line.get_xdata()[0] for line in ax.lines if len(line.get_xdata()) == 2
    }
    assert (marks["--"], marks[":"]) == (best.alpha, careful.alpha)


@pytest.mark.parametrize("selection", ["min", "1se"])
def test_cv_of_an_estimator_marks_its_model(made, selection):
    model = clone(made.chosen).set_params(selection=selection).fit(made.X, made.y)
    ax = plots.plot_cv(model)
    scores = model.score_path_.mean(axis=1)
    np.testing.assert_allclose(named_lines(ax, scores)[0].get_ydata(), scores)
    (mark,) = [line for line in ax.lines if line.get_linestyle() == "--"]
    assert mark.get_xdata()[0] == model.alpha_
    label = mark.get_label()
    assert label.startswith(f"selection {selection}:")
    assert label.endswith(f"{np.count_nonzero(model.coef_)} non-zero")
    several = clone(made.chosen).fit(made.X, made.Y)
    ax = plots.plot_cv(several, response=1)
    scores = several.score_path_[1].mean(axis=1)
    np.testing.assert_allclose(named_lines(ax, scores)[0].get_ydata(), scores)


def test_influence_draws_every_row_and_names_the_largest(made):
    ax = plots.plot_leave_one_out(made.loo, top=3)
    points = np.vstack([part.get_offsets() for part in ax.collections])
    wanted = np.column_stack([made.loo.residuals, made.loo.coefficient_shift])
    np.testing.assert_array_equal(points[np.lexsort(points.T)], wanted[np.lexsort(wanted.T)])
    largest = np.argsort(-made.loo.coefficient_shift)[:3]
    assert names_of(ax) == [f"row {row}" for row in largest]
    named = plots.plot_leave_one_out(made.loo, top=1, row_names=[f"s{row}" for row in range(60)])
    assert names_of(named) == [f"s{largest[0]}"]


@pytest.mark.parametrize("response", [0, 1])
def test_forest_draws_intervals_from_the_smallest_p_value_down(made, response):
    result = made.inferred
    ax = plots.plot_forest(result, level=0.9, simultaneous=True, response=response, top=7)
    order = np.argsort(result.p_value[:, response], kind="stable")[:7]
    points = ax.lines[-1]
    np.testing.assert_array_equal(points.get_xdata(), result.estimate[order, response])
    assert np.all(np.diff(points.get_ydata()) < 0)
    wide, ends = (
        np.array([segment[:, 0] for segment in bars.get_segments()]) for bars in ax.collections
    )
    np.testing.assert_array_equal(ends, result.interval(0.9)[:, order, response].T)
    assert np.all(wide[:, 0] < ends[:, 0]) and np.all(wide[:, 1] > ends[:, 1])
    assert [label.get_text() for label in ax.get_yticklabels()] == [result.names[j] for j in order]
    assert "90 %" in ax.get_xlabel()


def test_volcano_separates_discoveries_and_names_the_strongest(made):
    result = made.inferred
    ax = plots.plot_volcano(result, cutoff=0.2, adjustment="holm", top=3)
    rest, discovered = (points.get_offsets().data for points in ax.collections)
    chosen = result.adjusted("holm")[:, 0] <= 0.2
    assert len(discovered) == chosen.sum() and len(rest) == (~chosen).sum()
    np.testing.assert_allclose(discovered[:, 0], result.estimate[chosen, 0])
    np.testing.assert_allclose(discovered[:, 1], -np.log10(result.p_value[chosen, 0]))
    assert names_of(ax)[0] == result.names[np.argmin(result.p_value[:, 0])]


def test_stability_draws_every_feature_that_is_ever_chosen(made):
    ax = plots.plot_stability(made.stable, feature_names=NAMES, top=2)
    selected = made.stable.get_support(indices=True)
    often = selected[np.argsort(-made.stable.frequencies_[selected], kind="stable")][:2]
    assert names_of(ax) == [NAMES[j] for j in often]
    lines = named_lines(ax, made.stable.alphas_)
    for line, feature in zip(lines, often, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), made.stable.stability_path_[:, feature])
    rest = np.setdiff1d(np.flatnonzero(made.stable.frequencies_), often)
    assert len(ax.collections[0].get_segments()) == len(rest)
    assert f"{len(selected)} selected" in ax.get_title()
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 5)), rng.standard_normal(30)
    empty = StabilitySelection(n_pairs=10, cutoff=1.0, q=1, random_state=0).fit(X, y)
    assert names_of(plots.plot_stability(empty)) == []


def test_network_draws_every_link_with_its_sign_and_names_the_most_linked():
    weights = np.zeros((6, 6))
    weights[0, 1:4], weights[3, 4] = (0.5, -0.2, 0.4), -1.0
    graph = word_graph(weights, [f"node {j}" for j in range(6)])
    ax = plots.plot_network(graph, top=2)
    positive, negative = ax.collections[:2]
    assert (len(positive.get_segments()), len(negative.get_segments())) == (2, 2)
    assert max(negative.get_linewidths()) > max(positive.get_linewidths())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "positive (2 links)",
        "negative (2 links)",
    ]
    assert sum(len(nodes.get_offsets()) for nodes in ax.collections[2:]) == 5
    assert set(names_of(ax)) <= {"node 0", "node 3"} and names_of(ax)
    whole = plots.plot_network(graph, isolated=True)
    assert sum(len(nodes.get_offsets()) for nodes in whole.collections[2:]) == 6


@pytest.mark.parametrize("size", [(3.3, 3.0), (7.0, 5.0)])
@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_nothing_is_clipped_and_no_label_covers_another(made, size, style, tmp_path):
    for name, draw in everything(made).items():
        with plt.style.context(style):
            figure, ax = plt.subplots(figsize=size, layout="constrained")
            assert draw(ax=ax) is ax
            figure.savefig(tmp_path / "plot.png")
        renderer = figure.canvas.get_renderer()
        labels = [matplotlib.text.Text.get_window_extent(text, renderer) for text in ax.texts]
        for number, box in enumerate(labels):
            assert not any(box.shrunk(0.9, 0.7).overlaps(one) for one in labels[:number]), name
        texts = [ax.xaxis.label, ax.yaxis.label, ax.get_legend()]
        if ax.get_legend() is not None:
            below = ax.get_legend().get_window_extent(renderer).y1
            assert below <= ax.get_window_extent(renderer).y0 + 1, name
        for text in texts:
            if text is None or (hasattr(text, "get_text") and not text.get_text()):
                continue
            box = text.get_window_extent(renderer)
            assert box.x0 >= -1 and box.x1 <= figure.bbox.width + 1, name
            assert box.y0 >= -1 and box.y1 <= figure.bbox.height + 1, name
        plt.close(figure)


def test_labels_at_line_ends_are_in_order_and_apart(made):
    ax = plots.plot_path(made.one, feature_names=NAMES, top=10)
    ax.figure.draw_without_rendering()
    boxes = [matplotlib.text.Text.get_window_extent(label) for label in ax.texts]
    boxes.sort(key=lambda box: box.y0)
    assert len(boxes) > 5
    assert all(low.y1 <= high.y0 + 1 for low, high in pairwise(boxes))


def test_every_plot_passes_options_on(made):
    for draw in everything(made).values():
        ax = draw(color="red", alpha=0.5)
        colors = [matplotlib.colors.to_hex(line.get_color()) for line in ax.lines]
        parts = [color for one in ax.collections for color in one.get_facecolor()]
        assert "#ff0000" in colors + list(map(matplotlib.colors.to_hex, parts))


def test_one_penalty_is_a_point(made):
    short = sl.sqrt_lasso_path(made.X, made.y, made.sketch, alphas=[2.0])
    cv = sl.cross_validate(made.sketch, made.X, made.y, cv=3, alphas=[2.0])
    for ax in (plots.plot_path(short), plots.plot_cv(cv)):
        ax.figure.draw_without_rendering()
        assert any(line.get_marker() == "o" for line in ax.lines)


def test_names_are_drawn_as_they_are_and_long_ones_shortened(made, tmp_path):
    names = ["a$b$", "$x^$", "c\x1b[31m", "x" * 60, *NAMES[4:]]
    ax = plots.plot_path(made.one, feature_names=names, top=25)
    ax.figure.savefig(tmp_path / "path.png")
    written = names_of(ax)
    assert r"a\$b\$" in written or r"\$x^\$" in written
    assert all(len(name) <= 30 for name in written)


def test_characters_without_a_font_are_one_warning(made, tmp_path, monkeypatch):
    monkeypatch.setattr("sketchlasso.interfaces.plots.canvas.FONTS", ())
    names = ["दिल्ली", "東京", *NAMES[2:]]
    with pytest.warns(SketchlassoWarning, match="no installed font has") as record:
        ax = plots.plot_path(made.one, feature_names=names, top=25)
        ax.figure.savefig(tmp_path / "path.png")
    assert len(record) == 1


@pytest.mark.parametrize(
    ("draw", "says"),
    [
        (lambda m: plots.plot_path([1.0]), "source must be a Path or a fitted estimator"),
        (lambda m: plots.plot_path(m.chosen), "pass X and y as well"),
        (lambda m: plots.plot_path(m.path, response=2), "response must be an integer from 0 to 1"),
        (lambda m: plots.plot_path(m.one, feature_names=["a"]), "one name for each of the 25"),
        (lambda m: plots.plot_path(m.one, top=-1), "top must be an integer >= 0, not -1"),
        (lambda m: plots.plot_path(m.one, ax="left"), "ax must be Matplotlib axes"),
        (lambda m: plots.plot_cv(m.cv, metric="f1"), "metric must be one of 'mse', 'r2'"),
        (lambda m: plots.plot_leave_one_out(m.one), "must be what leave_one_out returns"),
        (lambda m: plots.plot_volcano(m.inferred, cutoff=0), "strictly between 0 and 1"),
        (lambda m: plots.plot_network(word_graph([[0.0]], ["a"])), "has no links"),
    ],
)
def test_mistakes_get_one_sentence(made, draw, says):
    with pytest.raises(InvalidInputError, match=says):
        draw(made)
    assert plt.get_fignums() == [], "what is refused leaves no empty figure behind"


def test_without_matplotlib_the_sentence_says_how_to_install_it(made, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    for draw in everything(made).values():
        with pytest.raises(MissingExtraError, match=r"pip install 'sketchlasso\[plot\]'"):
            draw()


def test_importing_the_package_or_its_plots_does_not_import_matplotlib():
    code = (
        "import sys, sketchlasso as sl; sl.plots.plot_path; from sketchlasso import plots; "
        "assert not any(name.startswith('matplotlib') for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
