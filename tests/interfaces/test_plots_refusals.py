"""What plots refuse, in one sentence, and how they wait for Matplotlib."""

import subprocess
import sys

import pytest

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError, MissingExtraError
from sketchlasso.topics import word_graph
from tests.plotted import drawable, everything
from tests.sentences import refusal

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

plots = sl.plots


@pytest.fixture(scope="module")
def made():
    return drawable()


MISTAKES = {
    "a Path or a fitted estimator can be drawn, not a list": lambda m: plots.plot_path([1.0]),
    "a SqrtLassoCV was given without data": lambda m: plots.plot_path(m.chosen),
    "response must be an integer from 0 to 1, not 2": lambda m: plots.plot_path(m.path, response=2),
    "radius must be an integer from 0 to 1, not 'a'": lambda m: plots.plot_path(m.path, radius="a"),
    "feature_names holds 2 names": lambda m: plots.plot_path(m.one, feature_names=["a", "b"]),
    "top must be an integer >= 0, not -1": lambda m: plots.plot_path(m.one, top=-1),
    "the smallest penalty is 0": lambda m: plots.plot_path(
        sl.sqrt_lasso_path(m.X, m.y, m.sketch, alphas=[1.0, 0.0])
    ),
    "a fitted SqrtLassoCV or SqrtLassoClassifierCV can be drawn, not a Path": lambda m: (
        plots.plot_cv(m.one)
    ),
    "metric='f1' was given, but 'mse', 'r2'": lambda m: plots.plot_cv(m.cv, metric="f1"),
    "the estimator keeps 'mse' only": lambda m: plots.plot_cv(m.chosen, metric="r2"),
    "a Sketch or a fitted estimator with one can be drawn, not a float": lambda m: (
        plots.plot_spectrum(3.0)
    ),
    "no sketch was given": lambda m: plots.plot_spectrum({}),
    "was fitted without a sketch": lambda m: plots.plot_spectrum(
        sl.SqrtLasso(sketch=None).fit(m.X, m.y)
    ),
    "a LeaveOneOut can be drawn, not a Path": lambda m: plots.plot_leave_one_out(m.one),
    "top must be an integer >= 0, not 1.5": lambda m: plots.plot_leave_one_out(m.loo, top=1.5),
    "row_names holds 1 names": lambda m: plots.plot_leave_one_out(m.loo, row_names=["a"]),
    "pass two of a kind": lambda m: plots.plot_sketched_against_full(m.one, m.chosen),
    "coefficients of shape": lambda m: plots.plot_sketched_against_full("ab", [1.0, 2.0]),
    "have 2 and 3 coefficients": lambda m: plots.plot_sketched_against_full([1.0, 2], [1.0, 2, 3]),
    "none nearer than": lambda m: plots.plot_sketched_against_full(
        m.one, sl.sqrt_lasso_path(m.X, m.y, None, alphas=[100.0])
    ),
    "position must be an integer from 0 to 11, not 99": lambda m: plots.plot_sketched_against_full(
        m.one, m.full, position=99
    ),
    "a Path can be drawn, not a CrossValidation": lambda m: plots.plot_gaps(m.cv),
    "tol must be a positive number, not -1": lambda m: plots.plot_gaps(m.one, tol=-1),
    "tol must be a positive number, not '1e-6'": lambda m: plots.plot_gaps(m.one, tol="1e-6"),
    "a networkx graph can be drawn, not a Path": lambda m: plots.plot_network(m.one),
    "the graph has no links": lambda m: plots.plot_network(word_graph([[0.0]], ["a"])),
    "top must be an integer >= 0, not -2": lambda m: plots.plot_network(
        word_graph([[0, 1.0], [1.0, 0]], ["a", "b"]), top=-2
    ),
    "ax is a str, but Matplotlib axes": lambda m: plots.plot_gaps(m.one, ax="left"),
}


@pytest.mark.parametrize("message", MISTAKES)
def test_mistakes_get_one_sentence(made, message):
    assert message in refusal(InvalidInputError, MISTAKES[message], made)
    assert plt.get_fignums() == [], "what is refused leaves no empty figure behind"


def test_responses_with_sketches_of_their_own_are_refused(made):
    model = sl.SqrtLasso(alpha=2.0, sketch="response", rank=8, random_state=0).fit(made.X, made.Y)
    told = refusal(InvalidInputError, plots.plot_path, model, made.X, made.Y, response=1)
    assert "keeps the sketch of response 0" in told


def test_without_matplotlib_the_sentence_says_how_to_install_it(made, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    for draw in everything(made).values():
        with pytest.raises(MissingExtraError, match=r"pip install 'sketchlasso\[plot\]'"):
            draw()


def test_importing_the_package_or_its_plots_does_not_import_matplotlib():
    code = (
        "import sys, sketchlasso as sl; assert 'sketchlasso.interfaces' not in sys.modules; "
        "sl.plots.plot_path; from sketchlasso import plots; assert 'plots' in dir(sl); "
        "assert not any(name.startswith('matplotlib') for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_names_are_still_refused():
    with pytest.raises(AttributeError, match="no attribute 'plot'"):
        _ = sl.plot
