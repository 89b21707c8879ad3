"""Names of columns are drawn as they are: dollars begin no formula, and controls are visible."""

from pathlib import Path

import numpy as np
import pytest

import sketchlasso as sl
from tests.interfaces.conftest import write_lines
from tests.interfaces.posts import posts

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

# A formula, a broken formula, controls of a terminal and of the direction of writing.
NAMES = ["a$b$", "$x^$", "c\x1b[31m", "\u202elive"]
WRITTEN = {"a$b$", "$x^$", "c\\x1b[31m", "\\u202elive"}


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 4))
    return X, X @ [4.0, 3.0, 2.0, 1.0] + rng.standard_normal(80)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def shown(ax):
    """What the texts of axes look like; one that holds a formula fails."""
    from matplotlib.text import Text

    found = set()
    for text in ax.findobj(Text):
        clean, formula = text._preprocess_math(text.get_text())
        if not formula:
            found.add(clean)
    return found


@pytest.mark.filterwarnings("error")
def test_names_of_features(data, tmp_path):
    X, y = data
    inferred = sl.inference.desparsified(X, y, feature_names=NAMES)
    for number, display in enumerate(
        [
            sl.plots.plot_path(sl.sqrt_lasso_path(X, y, alphas=10), feature_names=NAMES),
            sl.plots.plot_forest(inferred),
            sl.plots.plot_volcano(inferred, top=4),
        ]
    ):
        display.figure_.savefig(tmp_path / f"{number}.png")
        assert shown(display.ax_) >= WRITTEN


def test_names_of_sketches(data, tmp_path):
    found = sl.sketch(data[0], rank=2, random_state=0)
    display = sl.plots.plot_spectrum({"$x^$": found, "a$b": found})
    display.figure_.savefig(tmp_path / "spectrum.png")


def test_names_in_pictures_of_the_shell(call, data, recwarn):
    X, y = data
    table = sl.io.Table(X, y, tuple(NAMES), "$y^$")
    sl.io.write_table("prices.csv", table)
    pictures = {"fit": "fit.png", "cv": "cv.svg", "path": "path.png", "infer": "infer.png"}
    for command, picture in pictures.items():
        said = call(f"{command} prices.csv --target $y^$ --plot {picture}")
        assert "Glyph" not in said.stderr
        assert not [one for one in recwarn if "Glyph" in str(one.message)]
    # A classifier names its classes in the title.
    sl.io.write_table("kinds.csv", sl.io.Table(X, np.where(y > 0, "$x^$", "$y^$"), tuple(NAMES)))
    call("cv kinds.csv --target y --plot kinds.png")


def test_names_of_groups_in_shares_of_topics(ask):
    pytest.importorskip("networkx", reason="needs the extra graph")
    records = [record | {"year": f"$x^$ {n % 3}"} for n, record in enumerate(posts(0))]
    write_lines(Path("years.jsonl"), records)
    ask("topics fit years.jsonl --column body --group-column year --rank 8 -o years.topics")
    ask("topics export years.topics -o years")
    assert "$x^$ 2" in Path("years/over.svg").read_text(encoding="utf-8")
