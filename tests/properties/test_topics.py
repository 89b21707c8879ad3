"""Properties of every corpus and every graph of words."""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sketchlasso.errors import InvalidInputError
from sketchlasso.graphs import force_layout, links_of, read_graph, write_graph
from sketchlasso.storage import reading, strings_array, write_stored
from sketchlasso.topics import Corpus, word_graph

VALUES = st.sampled_from([0.0, 0.0, 0.0, 0.5, -0.5, 1.0, -2.0, 1e-300, 0.1])
# Anything that XML can hold: quotation marks, angle brackets, line ends and all.
TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff")
    | st.sampled_from("\t\n <>&\"'"),
    min_size=1,
    max_size=8,
)


@st.composite
def images(draw, most=7):
    n = draw(st.integers(1, most))
    words = draw(st.lists(TEXT, min_size=n, max_size=n, unique=True))
    return draw(arrays(float, (n, n), elements=VALUES)), words


def as_mapping(graph):
    links = links_of(graph)
    return {tuple(edge): w for edge, w in zip(links.edges.tolist(), links.weights, strict=True)}


@given(images())
def test_and_is_inside_or_and_directions_do_not_matter(given_images):
    W, words = given_images
    either, both = as_mapping(word_graph(W, words)), as_mapping(word_graph(W, words, "and"))
    assert either == as_mapping(word_graph(W.T, words))
    assert both == as_mapping(word_graph(W.T, words, "and"))
    assert set(both) <= set(either)
    for (i, j), weight in either.items():
        assert i < j
        assert abs(weight) == max(abs(W[i, j]), abs(W[j, i]))
        assert weight in (W[i, j], W[j, i])
    for (i, j), weight in both.items():
        assert abs(weight) == min(abs(W[i, j]), abs(W[j, i]))
        assert W[i, j] * weight >= 0
        assert W[j, i] * weight >= 0
    present = {(i, j) for i, j in zip(*np.nonzero(W), strict=True) if i != j}
    assert set(either) == {(min(pair), max(pair)) for pair in present}


@given(images())
def test_a_symmetric_set_of_images_is_its_own_graph(given_images):
    W, words = given_images
    S = np.triu(W, 1) + np.triu(W, 1).T
    for rule in ("or", "and"):
        graph = links_of(word_graph(S, words, rule))
        back = np.zeros_like(S)
        back[graph.edges[:, 0], graph.edges[:, 1]] = graph.weights
        assert np.array_equal(back + back.T, S)


@settings(deadline=None, max_examples=25)
@given(images())
def test_the_map_is_finite_and_in_the_disc(given_images):
    W, words = given_images
    found = force_layout(word_graph(W, words))
    assert list(found) == words
    places = np.array(list(found.values()))
    assert np.isfinite(places).all()
    assert np.linalg.norm(places, axis=1).max() <= 1 + 1e-9


@settings(deadline=None, max_examples=60)
@given(images())
def test_what_is_written_is_read(given_images):
    graph = word_graph(*given_images)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("g.json", "g.graphml", "g.gexf", "g.csv.gz"):
            path = Path(folder) / name
            if name == "g.csv.gz" and not graph.edges:
                continue
            write_graph(path, graph)
            read = read_graph(path)
            assert set(read) == {word for word in graph if graph.degree[word] or "csv" not in name}
            assert {frozenset(pair): read.edges[pair] for pair in read.edges} == {
                frozenset(pair): graph.edges[pair] for pair in graph.edges
            }


@given(
    arrays(np.int64, st.tuples(st.integers(1, 9), st.integers(1, 6)), elements=st.integers(0, 3)),
    st.integers(1, 4),
    st.floats(0.05, 1),
    st.sets(st.sampled_from(["w0", "w2", "w5"])),
)
def test_pruning_never_changes_a_word_that_stays(counts, least, share, stopped):
    words = [f"w{i}" for i in range(counts.shape[1])]
    frequency = (counts > 0).sum(axis=0)
    stays = [
        word
        for word, seen in zip(words, frequency, strict=True)
        if least <= seen <= share * len(counts) and word not in stopped
    ]
    try:
        corpus = Corpus(counts, words, [str(i) for i in range(len(counts))])
        pruned = corpus.pruned(min_documents=least, max_share=share, stop_words=stopped)
    except InvalidInputError:
        assert not stays
        return
    assert list(pruned.words) == stays
    assert pruned.titles == corpus.titles
    kept = counts[:, [words.index(word) for word in stays]]
    assert np.array_equal(pruned.counts.toarray(), kept)
    assert pruned.settings["empty_documents"] == (kept.sum(axis=1) == 0).sum()


@given(st.lists(st.text(st.characters(codec="utf-8"))))
def test_strings_come_back_from_their_bytes(strings):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.images")
        write_stored(path, "images", {}, {"words": strings_array(strings)})
        with reading(path, "images") as stored:
            assert tuple(stored.strings("words")) == tuple(strings)
