"""The graph of words: links by both rules."""

import numpy as np
import pytest
from scipy import sparse

from sketchlasso.errors import InvalidInputError
from sketchlasso.topics import word_graph

WORDS = ["sea", "wave", "desert", "owl"]
#          sea  wave desert owl
IMAGES = [
    [9.0, 0.5, -0.3, 0.0],
    [0.2, 0.0, 0.4, 0.0],
    [-0.1, -0.6, 0.0, 0.0],
    [0.0, 0.0, 0.0, 0.0],
]


@pytest.mark.parametrize("form", [np.array, sparse.csr_array, sparse.coo_array])
def test_or_takes_the_larger_and_and_the_smaller(form):
    either = word_graph(form(np.array(IMAGES)), WORDS)
    assert list(either) == WORDS
    assert list(either.edges(data=True)) == [
        ("sea", "wave", {"weight": 0.5, "sign": 1}),
        ("sea", "desert", {"weight": 0.3, "sign": -1}),
        ("wave", "desert", {"weight": 0.6, "sign": -1}),
    ]
    both = word_graph(form(np.array(IMAGES)), WORDS, "and")
    assert list(both.edges(data=True)) == [  # wave and desert contradict each other
        ("sea", "wave", {"weight": 0.2, "sign": 1}),
        ("sea", "desert", {"weight": 0.1, "sign": -1}),
    ]


def test_words_without_links_stay_or_go():
    kept = word_graph(IMAGES, WORDS)
    assert dict(kept.degree) == {"sea": 2, "wave": 2, "desert": 2, "owl": 0}
    graph = word_graph(np.array(IMAGES)[::-1, ::-1], WORDS[::-1], drop_isolated=True)
    assert list(graph) == ["desert", "wave", "sea"]
    assert graph["desert"] == kept["desert"]


def test_what_is_no_set_of_images_is_refused():
    for weights, words in ((np.eye(2), ["a"]), (np.eye(2), ["a", "a"]), ([[0, np.nan]] * 2, "ab")):
        with pytest.raises(InvalidInputError):
            word_graph(weights, words)
