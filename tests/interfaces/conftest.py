"""Small files of every kind that the command line is tried on."""

import numpy as np
import pytest
from typer.testing import CliRunner

import sketchlasso as sl

NAMES = ("age", "rooms", "noise", "light", "dust", "trees")


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """A folder of data; tests write elsewhere."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6))
    y = 3 * X[:, 0] - 2 * X[:, 1] + 0.5 * rng.standard_normal(60)
    sl.write_table(folder / "houses.csv", sl.Table(X, y, NAMES, "price"))
    sl.write_table(folder / "new.csv", sl.Table(X[:7, ::-1], None, NAMES[::-1]))
    sizes = np.where(X[:, 0] > 0, "big", "small")
    sl.write_table(folder / "sizes.csv", sl.Table(X, sizes, NAMES, "size"))
    sl.write_table(folder / "signs.svm.gz", sl.Table(X, np.sign(y)))
    sl.write_table(folder / "plain.npz", sl.Table(X))
    kinds = np.array(["low", "mid", "top"])[np.digitize(X[:, 0], [-0.4, 0.4])]
    (folder / "kinds.txt").write_text("\n".join(kinds) + "\n")
    (folder / "numbers.txt").write_text("\n".join(map(repr, y.tolist())))
    counts = rng.poisson(0.5, (50, 12)).astype(float)
    counts[:, 0] = counts[:, 1] + counts[:, 2] + rng.poisson(0.1, 50)
    words = tuple(f"word{j}" for j in range(12))
    sl.write_table(folder / "docword.small.txt.gz", sl.Table(counts, None, words))
    return folder


@pytest.fixture
def call(files, tmp_path, monkeypatch):
    """Run a command in a fresh folder, as CliRunner does; {data} stands for the files."""
    from sketchlasso.interfaces.app import app

    monkeypatch.chdir(tmp_path)

    def run(line, code=0):
        words = [word.replace("{data}", str(files)) for word in line.split()]
        result = CliRunner().invoke(app, words, catch_exceptions=False)
        assert result.exit_code == code, result.output
        return result

    return run
