"""Which words may explain a query: the evidence of the documents, and columns of length one."""

import numpy as np
import pytest
from scipy import sparse
from tests.made_corpus import topical_corpus

from sketchlasso.solvers import Settings
from sketchlasso.topics import Corpus, TopicImager
from sketchlasso.topics.answering import EVIDENCE, Queries, supported


def with_a_coincidence(documents):
    """The made corpus, and a word in these documents alone, where it is frequent."""
    made = topical_corpus()
    alone = np.zeros(made.shape[0])
    alone[documents] = 9.0
    counts = np.column_stack([made.counts.toarray(), alone])
    return Corpus(sparse.csr_array(counts), (*made.words, "comet"), made.titles)


def documents_of(word):
    made = topical_corpus()
    return np.flatnonzero(made.counts.toarray()[:, made.words.index(word)])


@pytest.mark.parametrize("scale", [False, True])
def test_evidence_counts_the_documents_behind_a_link(scale):
    corpus = with_a_coincidence(documents_of("sea")[:2])
    fitted = TopicImager(rank=12, scale=scale, min_documents=1, random_state=0).fit(corpus)
    columns = fitted._columns
    weights = fitted.weights_.toarray()
    F = weights - weights.mean(axis=0)
    F /= np.linalg.norm(F, axis=0)
    words = np.arange(F.shape[1])
    place = {word: i for i, word in enumerate(fitted.words_)}
    a = columns.combine(np.array([place["sea"], place["sail"]]), np.ones(2))
    np.testing.assert_allclose(a, F[:, place["sea"]] + F[:, place["sail"]], atol=1e-12)
    products = a[:, None] * F
    found = columns.evidence(a, words)
    expected = products.sum(axis=0) / np.sqrt((products**2).sum(axis=0))
    np.testing.assert_allclose(found, expected, atol=1e-10)
    alone = columns.evidence(F[:, place["sea"]], words)
    assert 0.9 < alone[place["comet"]] < EVIDENCE < alone[place["sail"]]


def test_a_link_of_two_documents_is_no_evidence(monkeypatch):
    corpus = with_a_coincidence(documents_of("sea")[:2])
    fitted = TopicImager(rank=40, min_documents=1, random_state=0).fit(corpus)
    columns, words = fitted._columns, list(fitted.words_)
    sea, comet = words.index("sea"), words.index("comet")
    queries = Queries.single(np.array([sea]))
    batch = queries.batch(columns.P, columns, True)

    def left_out():
        return supported(queries, batch, columns, 5, Settings())[0].excluded_features(0)

    assert comet in left_out()
    monkeypatch.setattr("sketchlasso.topics.answering.EVIDENCE", 0.0)
    assert comet not in left_out()


def test_an_image_has_as_many_words_as_asked_whatever_the_evidence(monkeypatch):
    monkeypatch.setattr("sketchlasso.topics.answering.EVIDENCE", np.inf)
    imager = TopicImager(rank=12, random_state=0).fit(topical_corpus())
    strict = imager.image("sea", n_words=6, judge=False)
    assert len(strict.words) == 6 and strict.gap <= imager.tol


def test_words_that_cannot_enter_do_not_count_as_found():
    rng = np.random.default_rng(0)
    topics = rng.integers(0, 6, 300)
    rates = 0.2 + 1.5 * (np.arange(60) % 6 == topics[:, None])
    words = [f"word{j}" for j in range(60)]
    fitted = TopicImager(rank=20, stop_words=None, random_state=0)
    fitted.fit(rng.poisson(rates).astype(float), vocabulary=words)
    for word in words[:6]:
        one = fitted.image(word, n_words=11, positive=True, judge=False)
        assert len(one.words) == 11 and (one.weights > 0).all()


def test_a_word_that_does_not_vary_has_an_empty_image():
    counts = np.random.default_rng(0).poisson(0.8, (40, 8)).astype(float)
    counts[:, 0] = 1.0
    words = [f"word{j}" for j in range(8)]
    settings = {"stop_words": None, "min_documents": 1, "max_share": 1.0, "random_state": 0}
    fitted = TopicImager(rank=5, weighting="counts", **settings).fit(counts, vocabulary=words)
    empty = fitted.image(words[0], 3, judge=False)
    assert empty.words == () and np.isnan(empty.explained)
