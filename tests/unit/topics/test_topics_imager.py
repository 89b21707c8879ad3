"""Images of words of a corpus."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from tests.made_corpus import TOPICS, topical_corpus

import sketchlasso as sl
from sketchlasso.engine import RadiusPolicy
from sketchlasso.errors import InvalidInputError, StoredFileError, UnknownWordError
from sketchlasso.io import stored_info
from sketchlasso.solvers import Settings, solve
from sketchlasso.topics import ComparedImages, TopicImager, load_images, load_topics
from sketchlasso.topics.answering import Queries, supported
from sketchlasso.topics.corpus import weigh


@pytest.fixture(scope="module")
def imager():
    return TopicImager(rank=12, random_state=0).fit(topical_corpus())


@pytest.mark.parametrize("weighting", ["tfidf", "log", "counts", "length"])
@pytest.mark.parametrize("scale", [False, True])
def test_a_word_is_explained_by_its_topic(weighting, scale):
    fitted = TopicImager(rank=5, weighting=weighting, scale=scale, random_state=0).fit(
        topical_corpus()
    )
    for word, others in TOPICS.items():
        image = fitted.image(word, n_words=4, positive=True)
        assert set(image.words) <= set(others)
        assert image.n_nonzero == 4 and (image.weights > 0).all()
        assert 0.05 < image.explained < 1.0
        assert image.gap <= fitted.tol
        assert image.alpha > 0 and image.radius > 0 and image.seconds > 0


def test_words_come_strongest_first_with_their_signs(imager):
    image = imager.image("sea", n_words=12)
    assert len(image.words) == 12 and image.query == ("sea",)
    assert (np.diff(np.abs(image.weights)) <= 0).all()
    np.testing.assert_array_equal(image.signs, np.sign(image.weights))
    assert (image.signs < 0).any()  # other topics keep away
    assert str(image).startswith("sea: ") and "not " in str(image)


@pytest.mark.parametrize("radius", ["auto", 0.1])
def test_the_real_columns_say_how_much_is_explained(imager, radius):
    image = imager.image("music", n_words=6, radius=radius)
    weights = weigh(imager.corpus_.counts, "tfidf").toarray()
    A = weights - weights.mean(axis=0)
    F = A / np.linalg.norm(A, axis=0)
    place = {word: i for i, word in enumerate(imager.words_)}
    fit = F[:, [place[word] for word in image.words]] @ image.weights
    rest = F[:, place["music"]] - fit
    np.testing.assert_allclose(image.explained, 1.0 - np.sum(rest**2), rtol=1e-8)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("radius", ["auto", 0.0, "0.05*spectral"])
def test_images_agree_with_the_conic_solver(imager, positive, radius):
    pytest.importorskip("clarabel")
    words = np.random.default_rng(1).choice(len(imager.words_), 10, replace=False)
    queries, columns = Queries.single(words), imager._columns
    units = np.ones(len(imager.words_))
    if radius == "auto":
        batch = queries.batch(columns.P, columns, positive)
        batch, _ = supported(queries, batch, columns, 5, Settings())
    else:
        batch, units = queries.batch(imager.sketch_.P, columns, positive), columns.lengths
    images = imager.images(
        [str(word) for word in imager.words_[words]], n_words=5, radius=radius, positive=positive
    )
    posed = replace(
        batch,
        alpha=np.array([image.alpha for image in images]),
        radius=np.array([image.radius for image in images]),
    )
    reference = solve(posed, "conic", Settings(tol=1e-7))
    for row, image in enumerate(images):
        found = reference.coef[[row]].toarray().ravel() * units
        strongest = np.argsort(-np.abs(found))[: len(image.words)]
        place = {word: i for i, word in enumerate(imager.words_)}
        mine = np.zeros(len(found))
        mine[[place[word] for word in image.words]] = image.weights
        np.testing.assert_allclose(mine[strongest], found[strongest], atol=2e-4)
        assert mine[words[row]] == 0.0


def test_several_words_are_asked_for_together(imager):
    image = imager.image(["rose", "tulip"], n_words=4, positive=True)
    assert image.query == ("rose", "tulip")
    assert not {"rose", "tulip"} & set(image.words)
    assert set(image.words) <= {"garden", *TOPICS["garden"]}
    weights = weigh(imager.corpus_.counts, "tfidf").toarray()
    A = weights - weights.mean(axis=0)
    place = {word: i for i, word in enumerate(imager.words_)}
    F = A / np.linalg.norm(A, axis=0)
    x = F[:, [place["rose"], place["tulip"]]].sum(axis=1)
    fit = F[:, [place[word] for word in image.words]] @ image.weights
    np.testing.assert_allclose(image.explained, 1.0 - np.sum((x - fit) ** 2) / (x @ x), rtol=1e-8)


def test_excluded_words_are_not_used(imager):
    first = imager.image("court", n_words=3)
    second = imager.image("court", n_words=3, exclude=first.words[:2])
    assert not set(first.words[:2]) & set(second.words)
    assert second.excluded == first.words[:2]


def test_a_penalty_of_ones_own(imager):
    exact = TopicImager(rank=12, tol=1e-11, random_state=0).fit(topical_corpus())
    found = exact.image("sea", n_words=5)
    again = exact.image("sea", n_words=5, alpha=found.alpha)
    assert again.words == found.words and again.radius == found.radius
    np.testing.assert_allclose(again.weights, found.weights, atol=1e-5)
    found = exact.image("sea", n_words=5, radius=0.1)
    same = exact.image("sea", n_words=5, alpha=found.alpha, radius=found.radius)
    assert same.words == found.words
    np.testing.assert_allclose(same.weights, found.weights, atol=1e-5)
    fewer = imager.image("sea", n_words=50, alpha=3.0 * found.alpha, radius=found.radius)
    assert fewer.n_nonzero < 5
    nothing = imager.image("sea", alpha=100.0)
    assert nothing.words == () and nothing.explained == 0.0
    assert imager.documents(nothing) == []


def test_the_realised_radius_is_the_error_of_the_answer(imager):
    image = imager.image("sea", n_words=len(imager.words_), radius="realised")
    assert 1 < image.n_nonzero == len(image.words)
    columns, sketch = imager._columns, imager.sketch_
    place = {word: i for i, word in enumerate(imager.words_)}
    chosen = np.array([place[word] for word in image.words])
    w = image.weights / columns.lengths[chosen]
    missed = columns.combine(chosen, image.weights) - sketch.Q @ (sketch.P[chosen].T @ w)
    error = np.linalg.norm(missed) / np.linalg.norm(w)
    np.testing.assert_allclose(image.radius, error, rtol=0.05)


def test_documents_behind_an_image(imager):
    image = imager.image("sea", n_words=5, positive=True)
    found = imager.documents(image, 6)
    assert [match.score for match in found] == sorted((m.score for m in found), reverse=True)
    counts = imager.corpus_.counts.toarray()
    place = {word: i for i, word in enumerate(imager.words_)}
    for match in found:
        assert match.title == f"report {match.number}" and match.text
        assert counts[match.number, [place[word] for word in image.words]].sum() > 0


def test_unknown_words_come_with_suggestions(imager):
    with pytest.raises(UnknownWordError, match="did you mean harbour") as caught:
        imager.image("harbor")
    assert caught.value.word == "harbor" and "harbour" in caught.value.suggestions
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.suggestions == caught.value.suggestions
    with pytest.raises(UnknownWordError, match="ask for another one"):
        imager.image("\u4e2d\u6587")
    assert imager.complete("s")[0] in {"sea", "sail", "song", "soil", "seed", "spade", "storm"}
    assert imager.complete("xyz") == []
    assert set(imager.complete("fill", 3)) <= set(imager.words_)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda t: t.image("sea", n_words=0),
            "n_words must be a whole number of at least 1, not 0",
        ),
        (lambda t: t.image("sea", alpha=-1.0), "alpha must be a positive number, not -1.0"),
        (lambda t: t.image("sea", radius="wide"), "radius must be a number >= 0, .*, not 'wide'"),
        (lambda t: t.images("sea"), "is one word"),
        (
            lambda t: TopicImager(weighting="odd").fit(topical_corpus()),
            "weighting must be one of .*, not 'odd'",
        ),
        (lambda t: TopicImager().fit(np.eye(4)), "no words"),
    ],
)
def test_bad_input_is_one_sentence(imager, call, said):
    with pytest.raises(InvalidInputError, match=said) as caught:
        call(imager)
    assert "\n" not in str(caught.value)


def test_fit_takes_what_users_have():
    corpus = topical_corpus()
    matrix = sparse.csr_matrix(corpus.counts)
    from_matrix = TopicImager(rank=12, random_state=0).fit(matrix, vocabulary=corpus.words)
    from_corpus = TopicImager(rank=12, random_state=0).fit(corpus)
    texts = [" ".join(np.repeat(corpus.words, row.astype(int))) for row in corpus.counts.toarray()]
    from_texts = TopicImager(rank=12, random_state=0).fit(texts)
    for other in (from_matrix, from_texts):
        assert set(other.image("sea", 5).words) == set(from_corpus.image("sea", 5).words)
    copy = clone(from_corpus)
    assert copy.get_params() == from_corpus.get_params()


def test_a_saved_imager_answers_alike(imager, tmp_path):
    path = tmp_path / "made.topics"
    imager.save(path)
    loaded = load_topics(path)
    assert loaded.get_params() == imager.get_params()
    first, second = imager.image("sea"), loaded.image("sea")
    assert first.words == second.words
    np.testing.assert_array_equal(first.weights, second.weights)
    assert loaded.documents(second)[0] == imager.documents(first)[0]
    assert stored_info(path).content == "topics"
    with pytest.raises(StoredFileError, match="holds topics, but a model is needed"):
        sl.load_model(path)
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(StoredFileError, match="is damaged or incomplete"):
        load_topics(path)


def test_stop_words_and_exact_radii_are_saved(tmp_path):
    radius = RadiusPolicy("spectral", 1 / 47)
    made = TopicImager(rank=8, radius=radius, stop_words={"fillera"}).fit(topical_corpus())
    made.save(tmp_path / "a")
    loaded = load_topics(tmp_path / "a")
    assert RadiusPolicy.parse(loaded.radius) == radius and loaded.stop_words == ["fillera"]
    assert loaded.image("sea").words == made.image("sea").words


def test_the_whole_vocabulary_at_once(imager, tmp_path):
    reports = []
    images = imager.image_all(tmp_path / "a", 4, progress=lambda *seen: reports.append(seen))
    assert reports[-1] == (len(imager.words_),) * 2
    assert images.weights.shape == (len(imager.words_),) * 2
    assert images.weights.diagonal().sum() == 0
    for row, word in enumerate(imager.words_):
        image = imager.image(str(word), 4)
        found = images.weights[[row]]
        order = np.argsort(-np.abs(found.data), kind="stable")
        assert [str(imager.words_[i]) for i in found.indices[order]] == list(image.words)
        np.testing.assert_allclose(found.data[order], image.weights, rtol=1e-5, atol=1e-9)
        np.testing.assert_allclose(images.alpha[row], image.alpha, rtol=1e-6)
    loaded = load_images(tmp_path / "a")
    assert (loaded.weights != images.weights).nnz == 0 and loaded.words == images.words
    assert loaded.settings == images.settings
    assert not (tmp_path / "a.parts").exists()
    assert "words" in repr(loaded)


def test_an_unfinished_run_continues(imager, tmp_path, monkeypatch):
    monkeypatch.setattr("sketchlasso.topics.word_images.WORDS_PER_PART", 8)
    whole = imager.image_all(tmp_path / "whole", 3)

    def stop(done, total):
        if done > 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        imager.image_all(tmp_path / "b", 3, progress=stop)
    parts = sorted((tmp_path / "b.parts").glob("*.part"))
    assert len(parts) == 3 and not (tmp_path / "b").exists()
    parts[1].write_bytes(b"damaged")
    solved = []
    monkeypatch.setattr(
        imager, "_answer", lambda *a: solved.append(1) or type(imager)._answer(imager, *a)
    )
    again = imager.image_all(tmp_path / "b", 3)
    assert len(solved) == -(-len(imager.words_) // 8) - 2
    assert (tmp_path / "b").read_bytes() == (tmp_path / "whole").read_bytes()
    assert (again.weights != whole.weights).nnz == 0


def test_parts_of_other_settings_are_refused(imager, tmp_path):
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        imager.image_all(tmp_path / "c", 3, radius=1 / 3, progress=stop)
    for n_words, radius in ((4, 1 / 3), (3, 0.333333)):
        with pytest.raises(InvalidInputError, match="other settings"):
            imager.image_all(tmp_path / "c", n_words, radius=radius)
    with pytest.raises(StoredFileError, match="could not be used"):
        imager.image_all(tmp_path / "none" / "c", 4)


def test_one_word_in_two_corpora(imager):
    other = TopicImager(rank=12, random_state=0).fit(topical_corpus(seed=1))
    compared = ComparedImages(imager.image("sea", 6), other.image("sea", 6))
    assert set(compared.shared) | set(compared.only_first) == set(compared.first.words)
    assert set(compared.shared) | set(compared.only_second) == set(compared.second.words)
    assert 0 < compared.overlap <= 1
    same = ComparedImages(compared.first, compared.first)
    assert same.overlap == 1.0 and same.only_first == ()


def test_weights_by_hand():
    counts = sparse.csr_array(np.array([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0], [0.0, 0.0, 0.0]]))
    np.testing.assert_allclose(weigh(counts, "log").toarray(), np.log1p(counts.toarray()))
    np.testing.assert_allclose(weigh(counts, "length").toarray()[0], [2 / 3, 0, 1 / 3])
    from sklearn.feature_extraction.text import TfidfTransformer

    expected = TfidfTransformer(sublinear_tf=True).fit_transform(counts).toarray()
    np.testing.assert_allclose(weigh(counts, "tfidf").toarray(), expected)
    np.testing.assert_array_equal(weigh(counts, "counts").toarray(), counts.toarray())


def test_a_device_images_the_vocabulary_as_the_cpu_does(monkeypatch):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    torch.set_num_threads(1)
    monkeypatch.setattr("sketchlasso.topics.imager.DEVICE_QUERIES", 1)
    monkeypatch.setattr("sketchlasso.topics.word_images.WORDS_PER_DEVICE_PART", 40)
    here, there = (
        TopicImager(rank=8, random_state=0, device=device).fit(topical_corpus())
        for device in ("cpu", "torch")
    )
    asked, answered = here.image_all(n_words=4), there.image_all(n_words=4)
    assert np.allclose(asked.alpha, answered.alpha, rtol=0.02)
    same = np.diff(asked.weights.indptr) == np.diff(answered.weights.indptr)
    assert same.mean() > 0.95
    assert answered.gap.max() <= 1e-6
