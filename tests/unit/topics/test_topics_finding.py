"""Topics to begin with: communities of words, their documents, groups and stability."""

import math

import numpy as np
import pytest
from tests.made_corpus import TOPICS, topical_corpus

from sketchlasso.errors import InvalidInputError
from sketchlasso.topics import Corpus, TopicImager, find_topics, read_corpus
from sketchlasso.topics.finding import periods

pytest.importorskip("networkx", reason="needs the extra graph")


@pytest.fixture(scope="module")
def imager():
    corpus = topical_corpus()
    years = [str(1990 + row // 60) for row in range(240)]
    grouped = Corpus(corpus.counts, corpus.words, corpus.titles, corpus.texts, groups=years)
    return TopicImager(rank=10, random_state=0).fit(grouped)


@pytest.fixture(scope="module")
def topics(imager):
    return find_topics(imager)


def test_planted_topics_are_found_with_telling_labels(topics):
    for name, words in TOPICS.items():
        planted = {name, *words}
        found = max(topics.topics, key=lambda topic: len(planted & set(topic.words)))
        assert len(planted & set(found.words)) >= 7
        assert set(found.label) <= planted
        assert found.stability > 0.5
        assert found.examples


def test_documents_belong_to_the_topic_they_are_made_of(topics, imager):
    shares = topics.shares
    assert shares.shape == (240, len(topics))
    assert np.allclose(shares.sum(axis=1), 1)
    counts = imager.corpus_.counts.toarray()
    of_word = topics.of_word(imager.corpus_.words)
    for row in (0, 17, 100):
        amounts = [counts[row, of_word == number].sum() for number in range(len(topics))]
        assert topics.main[row] == np.argmax(amounts)
    sizes = [topic.n_documents for topic in topics.topics]
    assert sizes == sorted(sizes, reverse=True)
    assert np.array_equal(np.bincount(topics.main, minlength=len(topics)), sizes)
    best = topics.topics[0].examples[0]
    assert topics.main[best.number] == 0
    assert best.title == imager.corpus_.titles[best.number]


def test_topics_over_groups_are_means(topics):
    names, shares = topics.over()
    assert names == ("1990", "1991", "1992", "1993")
    assert np.allclose(shares[1], topics.shares[60:120].mean(axis=0))
    other, _ = topics.over(["a", "b"] * 120)
    assert other == ("a", "b")
    with pytest.raises(InvalidInputError, match="3 groups for 240 documents"):
        topics.over(["a", "b", "c"])


def test_without_half_samples_stability_is_unknown(imager):
    images = imager.image_all()
    quick = find_topics(imager, images, stability=False)
    assert all(math.isnan(topic.stability) for topic in quick.topics)
    fine = find_topics(imager, images, stability=False, resolution=4.0)
    assert len(fine) >= len(quick)


def test_images_of_another_vocabulary_are_refused(imager):
    other = TopicImager(rank=4, random_state=0).fit(topical_corpus(60)).image_all(n_words=3)
    few = TopicImager(rank=4, random_state=0, stop_words=["sea"]).fit(topical_corpus())
    with pytest.raises(InvalidInputError, match="run image_all on this model again"):
        find_topics(few, other)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["2003-05-01", "2001-02-03", "1999-12-31"], ("2003", "2001", "1999")),
        (["2003-05-01", "2003-06-03T10:00"], ("2003-05", "2003-06")),
        (["2003", "2004"], ("2003", "2004")),
        (["sport", "2003-05-01"], ("sport", "2003-05-01")),
        ([], ()),
    ],
)
def test_dates_become_periods(values, expected):
    assert periods(values) == expected


def test_a_column_of_groups_is_read(tmp_path):
    path = tmp_path / "posts.csv"
    path.write_text("day,text\n2003-05-01,the wave\n2004-01-02,the sea\n", encoding="utf-8")
    corpus = read_corpus(path, column="text", group_column="day")
    assert corpus.groups == ("2003-05-01", "2004-01-02")
    assert corpus.pruned().groups == corpus.groups
    with pytest.raises(InvalidInputError, match="1 groups"):
        read_corpus(["the wave", "the sea"], groups=["a"])
