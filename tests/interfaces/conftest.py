"""Small files of every kind that the command line is tried on."""

import json

import numpy as np
import pytest
from scipy import sparse
from typer.testing import CliRunner

from sketchlasso.io import Table, write_table
from sketchlasso.topics import TopicImager, read_corpus
from tests.interfaces.posts import SUBJECTS, posts

NAMES = ("age", "rooms", "noise", "light", "dust", "trees")


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """A folder of data; tests write elsewhere."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6))
    y = 3 * X[:, 0] - 2 * X[:, 1] + 0.5 * rng.standard_normal(60)
    write_table(folder / "houses.csv", Table(X, y, NAMES, "price"))
    write_table(folder / "new.csv", Table(X[:7, ::-1], None, NAMES[::-1]))
    sizes = np.where(X[:, 0] > 0, "big", "small")
    write_table(folder / "sizes.csv", Table(X, sizes, NAMES, "size"))
    write_table(folder / "signs.svm.gz", Table(X, np.sign(y)))
    write_table(folder / "plain.npz", Table(X))
    kinds = np.array(["low", "mid", "top"])[np.digitize(X[:, 0], [-0.4, 0.4])]
    (folder / "kinds.txt").write_text("\n".join(kinds) + "\n")
    (folder / "numbers.txt").write_text("\n".join(map(repr, y.tolist())))
    counts = rng.poisson(0.5, (50, 12)).astype(float)
    counts[:, 0] = counts[:, 1] + counts[:, 2] + rng.poisson(0.1, 50)
    words = tuple(f"word{j}" for j in range(12))
    write_table(folder / "docword.small.txt.gz", Table(counts, None, words))
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


def write_lines(path, records):
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A folder with two corpora, their models and images, and counts with many words."""
    folder = tmp_path_factory.mktemp("topics")
    write_lines(folder / "posts.jsonl", posts(0))
    other = {"sea": ["desert", "wave", "sand"], "music": SUBJECTS["music"]}
    write_lines(folder / "other.jsonl", posts(1, other))
    for name in ("posts", "other"):
        corpus = read_corpus(folder / f"{name}.jsonl", column="body", title_column="name")
        imager = TopicImager(rank=8, random_state=0).fit(corpus)
        imager.save(folder / f"{name}.topics")
        imager.image_all(folder / f"{name}.images", 5)
    rng = np.random.default_rng(2)
    counts = sparse.random_array((150, 3000), density=0.05, rng=rng, data_sampler=rng.random)
    counts.data[:] = 1 + np.floor(3 * counts.data)
    many = [f"w{j}" for j in range(3000)]
    TopicImager(rank=10, random_state=0, stop_words=None).fit(counts, vocabulary=many).save(
        folder / "many.topics"
    )
    return folder


@pytest.fixture
def ask(call, made):
    """Run a command of topics; {made} stands for the folder."""
    return lambda line, code=0: call(line.replace("{made}", str(made)), code)
