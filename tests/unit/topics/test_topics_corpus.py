"""What a corpus accepts, and what pruning leaves of it."""

import json
import re

import numpy as np
import pytest
from scipy import sparse

from sketchlasso.errors import InvalidInputError
from sketchlasso.topics import Corpus

COUNTS = np.array([[1, 0, 2], [0, 3, 0]])
WORDS = ("wave", "sea", "the")
TITLES = ("one", "two")


def corpus(documents=400, seed=0):
    """Words whose share of the documents is known: rare, common and in between."""
    generator = np.random.default_rng(seed)
    shares = {"all": 1.0, "most": 0.97, "half": 0.5, "the": 0.3, "tide": 0.1}
    counts = np.zeros((documents, len(shares) + 2), dtype=int)
    for column, share in enumerate(shares.values()):
        chosen = generator.permutation(documents)[: round(share * documents)]
        counts[chosen, column] = generator.integers(1, 5, len(chosen))
    counts[:4, -2] = 1
    counts[:5, -1] = 2
    words = (*shares, "rare", "squid")
    return Corpus(sparse.csr_array(counts), words, [f"d{i}" for i in range(documents)])


@pytest.mark.parametrize("kind", [np.uint8, np.int64, np.float32, np.float64, bool])
def test_any_matrix_of_counts_becomes_float64(kind):
    given = sparse.coo_array(COUNTS.astype(kind))
    held = Corpus(given, WORDS, TITLES, ["a", "b"], "here", {"column": "text"})
    assert isinstance(held.counts, sparse.csr_array)
    assert held.counts.dtype == np.float64
    assert np.array_equal(held.counts.toarray(), COUNTS.astype(kind))
    assert held.shape == (2, 3)
    assert held.document_frequency.tolist() == [1, 1, 1]
    assert repr(held) == "<Corpus of 2 documents, 3 words from here>"


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        (([[1, np.nan]], "ab", "t"), "nan in row 1, column 2"),
        (([[1, 1], [0, -2]], "ab", "tu"), "-2.0 in row 2, column 2"),
        (([[1, 1]], ["a", "a"], "t"), "several columns for the word 'a'"),
        (([[1, 1]], "ab", "tu"), "2 titles; give 1, one per row"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(parts, says):
    with pytest.raises(InvalidInputError, match=re.escape(says)):
        Corpus(*parts)


def test_pruning_drops_rare_common_and_stop_words():
    whole = corpus()
    kept = whole.pruned()
    assert kept.words == ("half", "tide", "squid")  # 'most' is over 95 %, 'rare' in 4 documents
    assert kept.titles == whole.titles
    assert kept.settings["min_documents"] == 5
    assert kept.settings["max_share"] == 0.95
    assert kept.settings["stop_words"] == "english"
    json.dumps(kept.settings)
    everything = whole.pruned(min_documents=1, max_share=1, stop_words=None)
    assert everything.words == whole.words
    assert whole.pruned(stop_words=["half"]).words == ("the", "tide", "squid")


@pytest.mark.parametrize(
    ("documents", "least"), [(10, 1), (49, 1), (50, 2), (199, 4), (200, 5), (9000, 5)]
)
def test_fewer_documents_are_asked_for_where_there_are_few(documents, least):
    assert corpus(documents).pruned().settings["min_documents"] == least


def test_a_corpus_without_a_word_left_is_refused():
    with pytest.raises(InvalidInputError, match="no word left of its 7"):
        corpus().pruned(min_documents=1000)
