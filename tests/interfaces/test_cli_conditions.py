"""The command line under bad conditions: hostile words."""

import numpy as np

from sketchlasso.io import Table, write_table
from sketchlasso.topics import TopicImager

# Clears the terminal, and rings, and goes back; as one byte; and turns the direction.
HOSTILE = "a\x1b[2J\x07\r\x9b2J\u202eb"
ESCAPED = r"a\x1b[2J\x07\r\x9b2J\u202eb"


def test_words_titles_and_columns_of_files(call, tmp_path):
    rng = np.random.default_rng(0)
    names = (HOSTILE, "two\nlines", "plain")
    X = rng.standard_normal((40, 3))
    write_table("named.parquet", Table(X, X @ [3.0, 2.0, 1.0], names, "y"))
    said = call("fit named.parquet --target y --alpha 1")
    assert ESCAPED in said.stdout and r"two\nlines" in said.stdout
    assert "\x1b" not in said.output
    answer = call("fit named.parquet --target \x1b[2Jy --alpha 1", code=2)
    assert r"\x1b[2Jy" in answer.stderr and "\x1b" not in answer.stderr
    counts = rng.poisson(1.0, (30, 6)).astype(float)
    words = [HOSTILE, *"bcdef"]
    TopicImager(rank=3, random_state=0, stop_words=None).fit(
        counts, vocabulary=words, titles=[f"{HOSTILE}{i}" for i in range(30)]
    ).save("hostile.topics")
    said = call("topics image hostile.topics b c --documents 2 --n-words 5").output
    assert ESCAPED in said and "\x1b" not in said
