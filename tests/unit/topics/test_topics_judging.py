"""Images are judged on documents they were not made from; words are found in any case."""

import math
import pickle

import numpy as np
import pytest
from scipy import sparse
from tests.made_corpus import topical_corpus

from sketchlasso.errors import UnknownWordError
from sketchlasso.solvers import Settings
from sketchlasso.topics import TopicImager, corpus_from_matrix
from sketchlasso.topics.answering import Queries, Question
from sketchlasso.topics.corpus import weigh
from sketchlasso.topics.image import advice
from sketchlasso.topics.judging import RIDGE, HalfSample, held_out


@pytest.fixture(scope="module")
def imager():
    return TopicImager(rank=10, random_state=0).fit(topical_corpus())


def test_a_topic_is_strong_and_a_filler_is_weak(imager):
    violin, filler = imager.image("violin"), imager.image("fillera")
    assert violin.quality == "strong"
    assert violin.advice == ""
    assert filler.quality == "weak"
    assert filler.held_out < 0.01 < 0.1 < violin.held_out < 1
    assert filler.advice


def test_images_together_and_alone_are_judged_alike(imager):
    words = ["violin", "judge", "fillerb"]
    alone = [imager.image(word).held_out for word in words]
    assert [image.held_out for image in imager.images(words)] == pytest.approx(alone, abs=1e-9)
    both = imager.image(["violin", "judge"])
    assert both.quality == "strong"


def test_without_judging_nothing_is_said(imager):
    image = imager.image("violin", judge=False)
    assert math.isnan(image.held_out)
    assert image.quality == "unknown"
    assert image.advice == ""
    assert image.words == imager.image("violin").words


def test_a_few_documents_are_not_judged():
    few = TopicImager(rank=4, random_state=0).fit(topical_corpus(12))
    assert few.image("violin").quality == "unknown"


@pytest.mark.parametrize("scale", [False, True])
def test_errors_agree_with_dense_ridge_regression(scale):
    weights = weigh(topical_corpus().counts, "tfidf")
    seen, unseen = np.arange(0, 240, 2), np.arange(1, 240, 2)
    half = HalfSample.of(weights[seen], weights[unseen], 10, scale)
    members, features = np.array([3, 9]), np.array([1, 4, 5, 30])
    dense = weights.toarray()
    means = dense[seen].mean(axis=0)
    here, there = dense[seen] - means, dense[unseen] - means
    lengths = np.linalg.norm(here, axis=0)
    here, there = here / lengths, there / lengths
    a, b = here[:, members].sum(axis=1), there[:, members].sum(axis=1)
    F = here[:, features]
    w = np.linalg.solve(F.T @ F + RIDGE * np.eye(4), F.T @ a)
    rest = b - there[:, features] @ w
    assert half.errors(members, features) == pytest.approx((rest @ rest, b @ b))


def test_what_is_judged_does_not_see_the_documents_it_is_judged_on():
    """Shuffled unseen documents change the score and never the words."""
    weights = weigh(topical_corpus().counts, "tfidf")
    rng = np.random.default_rng(0)
    order = np.random.default_rng(0).permutation(240)
    first, second = (np.sort(part) for part in np.array_split(order, 2))
    shuffled = weights.toarray()
    for column in shuffled.T:
        column[second] = rng.permutation(column[second])
    queries = Queries.single(np.array([9]))
    question = Question.checked(10, None, "auto", False)
    scores, seen = [], []
    for matrix in (weights, sparse.csr_array(shuffled)):
        half = HalfSample.of(matrix[first], matrix[second], 10, False)
        scores.append(held_out([half], queries, question, [10], Settings())[0])
        seen.append(half.seen.sketch.P)
    assert np.array_equal(*seen)
    assert scores[0] > 0.2
    assert scores[1] < 0.05


@pytest.mark.parametrize("radius", [0.5, "0.1*spectral", "realised"])
def test_other_radii_are_judged_too(imager, radius):
    image = imager.image("violin", radius=radius)
    assert image.quality in ("strong", "fair")
    assert imager.image("violin", alpha=image.alpha, radius=radius).quality in ("strong", "fair")


@pytest.mark.parametrize(
    ("changes", "documents", "rank", "largest", "says"),
    [
        ({}, 7, 50, 400, "in only 7 documents"),
        ({"excluded": ("song",)}, 100, 50, 400, "excluded"),
        ({"words": ("song",)}, 100, 50, 400, "ask for 10"),
        ({}, 100, 50, 400, "a rank of 100 may help"),
        ({}, 100, 50, 66, "a rank of 66 may help"),
        ({}, 100, 66, 66, "more specific"),
        ({}, 100, 400, 500, "more specific"),
    ],
)
def test_advice_names_what_would_help(imager, changes, documents, rank, largest, says):
    from dataclasses import replace

    weak = replace(imager.image("fillera"), held_out=0.0, **changes)
    question = Question.checked(10, None, "auto", False)
    assert says in advice(weak, question, documents, rank, largest)
    assert advice(replace(weak, held_out=0.3), question, documents, rank, largest) == ""
    own = Question.checked(10, 0.1, "auto", False)
    if not changes and documents > 20:
        assert "leave them" in advice(weak, own, documents, rank, largest)


def test_case_is_folded(imager):
    image = imager.image("Violin", exclude=["SONG"])
    assert image.query == ("violin",)
    assert image.excluded == ("song",)
    assert "song" not in image.words


def test_stop_words_are_called_stop_words(imager):
    with pytest.raises(UnknownWordError, match="'Eight' is a stop word") as caught:
        imager.image("Eight")
    assert caught.value.stop_word
    assert caught.value.suggestions == ()
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.word, again.stop_word, str(again)) == ("Eight", True, str(caught.value))


def test_documents_without_titles_are_named_by_their_words():
    made = topical_corpus()
    bare = corpus_from_matrix(made.counts, made.words)
    imager = TopicImager(rank=10, random_state=0).fit(bare)
    match = imager.documents(imager.image("violin"), 1)[0]
    number, _, words = match.title.partition(" (")
    assert number == f"document {match.number + 1}"
    own = {made.words[j] for j in bare.counts[[match.number]].indices}
    assert set(words.rstrip(")").split(", ")) <= own
    assert len(words.split(", ")) == 5
    titled = TopicImager(rank=10, random_state=0).fit(made)
    assert titled.documents(titled.image("violin"), 1)[0].title.startswith("report ")
