"""The corpus that comes with the package."""

import json

import numpy as np
import pytest

from sketchlasso.topics import TopicImager, embedded_corpus


@pytest.fixture(scope="module")
def corpus():
    return embedded_corpus()


def test_it_is_a_real_corpus(corpus):
    documents, words = corpus.shape
    assert documents > 10_000
    assert 2000 < words < 8000
    assert {"numpy.fft.fft", "scipy.linalg.solve", "sklearn.cluster.KMeans"} <= set(corpus.titles)
    assert len(set(corpus.titles)) == documents
    row = corpus.counts[[corpus.titles.index("numpy.fft.fft")]]
    assert {"fourier", "discrete"} <= {corpus.words[j] for j in row.indices}
    json.dumps(corpus.settings)


def test_images_of_words_are_about_them(corpus):
    imager = TopicImager(rank=60, stop_words=None, min_documents=8, random_state=0).fit(corpus)
    assert np.array_equal(imager.words_, corpus.words)
    for word, about in [
        ("fourier", {"transform", "fft", "discrete"}),
        ("matrix", {"sparse", "diagonal", "square"}),
        ("cluster", {"clustering", "centroid", "label"}),
        ("file", {"directory", "filename", "open"}),
    ]:
        assert len(about & set(imager.image(word, 20, judge=False).words)) >= 2, word
