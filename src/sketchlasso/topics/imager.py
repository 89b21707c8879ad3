"""The estimator that explains the words of a corpus."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sketchlasso.errors import InvalidInputError
from sketchlasso.estimators.base import unfitted_if_interrupted
from sketchlasso.linalg.device import CPU
from sketchlasso.linalg.seeds import RandomState
from sketchlasso.linalg.threads import thread_count
from sketchlasso.results import RadiusPolicy
from sketchlasso.sketches import sketch
from sketchlasso.solvers import Settings
from sketchlasso.topics.answering import Answers, Queries, Question, answer, explained
from sketchlasso.topics.columns import WordColumns
from sketchlasso.topics.corpus import Corpus, StopWords, Weighting, stop_list, weigh
from sketchlasso.topics.image import DocumentMatch, TopicImage, advice, match
from sketchlasso.topics.judging import HalfSample, held_out, split
from sketchlasso.topics.reading import as_corpus
from sketchlasso.topics.store import save_topics
from sketchlasso.topics.vocabulary import Vocabulary
from sketchlasso.topics.word_images import WordImages, image_everything
from sketchlasso.types import SparseRows

# The CPU is faster for fewer queries: every step on a device has a fixed cost.
DEVICE_QUERIES = 256


@dataclass(eq=False, repr=False, kw_only=True)
class TopicImager(BaseEstimator):
    """Explain every word of a corpus by the few other words that predict it.

    A word's column x of the document-word matrix F, columns of length one, is regressed on all
    other columns,

        minimise over w     ||QP'w - x||_2 + radius ||w||_2 + alpha ||w||_1,     w_x = 0

    on a sketch F ~ QP' that is made once. Words whose link with x comes mostly from one or two
    documents are left out. The few words with non-zero weights are the word's image.

    Parameters
    ----------
    rank : int, default 100
        Of the sketch; less where there are fewer documents or words.
    weighting : {"tfidf", "log", "counts", "length"}
        Of the counts.
    scale : bool
        Whether to scale columns to standard deviation one, which gives rare words more weight.
    radius : "auto", float or str
        ``"auto"``: for each query 0.7 of the radius at which more words than requested would
        enter at once. A number, ``"spectral"``, ``"realised"`` or a multiple such as
        ``"0.03*spectral"`` holds for every query; the problem is then the paper's, with columns
        as the weighting leaves them and all words allowed.
    positive : bool
        Whether only words with positive weights may explain the query.
    min_documents : int, optional
    max_share : float
    stop_words : {"english"}, iterable of str, or None
        Words to leave out, see :meth:`Corpus.pruned`.
    tol : float
        Relative duality gap.
    n_jobs : int or None
        Threads: -1 for all cores, None for one.
    random_state : int, Generator, RandomState or None
        Of the sketch.
    device : {"cpu", "cuda", "cuda:1", ..., "auto", "torch"}
        Where the sketch is made and many words are imaged at a time, see :class:`Settings`.

    Attributes
    ----------
    words_ : ndarray of str of shape (n,)
        The vocabulary.
    document_frequency_ : ndarray of shape (n,)
    corpus_ : Corpus
        The documents, without the words that were left out.
    sketch_ : Sketch
        Of the weighted and centred matrix.
    """

    rank: int = 100
    weighting: Weighting = "tfidf"
    scale: bool = False
    radius: float | str | RadiusPolicy = "auto"
    positive: bool = False
    min_documents: int | None = None
    max_share: float = 0.95
    stop_words: StopWords = "english"
    tol: float = 1e-6
    n_jobs: int | None = -1
    random_state: RandomState = None
    device: str = CPU

    @unfitted_if_interrupted
    def fit(
        self, X: Any, y: None = None, *, vocabulary: Any = None, titles: Sequence[str] | None = None
    ) -> Self:
        """Sketch a corpus.

        Parameters
        ----------
        X : Corpus, iterable of str, or matrix of shape (documents, words)
            Documents, or their counts.
        y : ignored
        vocabulary : sequence of str or mapping of str to int, optional
            Names of the columns, where X is a matrix.
        titles : sequence of str, optional
            Names of the documents.
        """
        self._question(1)
        corpus = as_corpus(X, vocabulary, titles).pruned(
            min_documents=self.min_documents,
            max_share=self.max_share,
            stop_words=self.stop_words,
        )
        weights = weigh(corpus.counts, self.weighting)
        self.sketch_ = sketch(
            weights,
            rank=min(self.rank, *weights.shape),
            center=True,
            scale=self.scale,
            random_state=self.random_state,
        )
        return self._settle(corpus, weights)

    def _settle(self, corpus: Corpus, weights: SparseRows) -> Self:
        """Set everything that follows from corpus, weights and sketch."""
        self.corpus_ = corpus
        self.words_ = np.array(corpus.words)
        self.document_frequency_ = corpus.document_frequency
        self._columns = WordColumns.of(weights, self.sketch_)
        self._vocabulary = Vocabulary(
            corpus.words, self.document_frequency_, stop_list(self.stop_words)
        )
        self._halves: tuple[HalfSample, ...] | None = None
        self.n_features_in_ = len(corpus.words)
        return self

    @property
    def weights_(self) -> Any:
        """The weighted counts: csc_array of shape (documents, n)."""
        return self._columns.weights

    def image(
        self,
        word: str | Sequence[str],
        n_words: int = 10,
        *,
        alpha: float | None = None,
        radius: float | str | RadiusPolicy | None = None,
        exclude: Sequence[str] = (),
        positive: bool | None = None,
        judge: bool = True,
    ) -> TopicImage:
        """The words that explain a word, or several words together.

        Parameters
        ----------
        word : str or sequence of str
        n_words : int
            Number of words. The penalty that leaves as many is found along the path.
        alpha : float, optional
            The penalty, for a response of length one, instead of the search.
        radius : float or str, optional
            Instead of the imager's own.
        exclude : sequence of str
            Words that may not be used.
        positive : bool, optional
            Instead of the imager's own.
        judge : bool
            Whether to judge the image on documents it was not made from.

        Returns
        -------
        TopicImage

        Raises
        ------
        UnknownWordError
            With words of similar spelling.
        """
        together = [word] if isinstance(word, str) else list(word)
        question = self._question(n_words, alpha, radius, positive)
        return self._images([together], question, exclude, judge)[0]

    def images(
        self,
        words: Sequence[str],
        n_words: int = 10,
        *,
        alpha: float | None = None,
        radius: float | str | RadiusPolicy | None = None,
        exclude: Sequence[str] = (),
        positive: bool | None = None,
        judge: bool = True,
    ) -> list[TopicImage]:
        """One image per word, solved together; see :meth:`image`."""
        if isinstance(words, str):
            raise InvalidInputError(f"words={words!r} is one word; pass a list.")
        question = self._question(n_words, alpha, radius, positive)
        return self._images([[word] for word in words], question, exclude, judge)

    def image_all(
        self,
        path: str | os.PathLike[str] | None = None,
        n_words: int = 10,
        *,
        radius: float | str | RadiusPolicy | None = None,
        positive: bool | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> WordImages:
        """The image of every word of the vocabulary.

        Parameters
        ----------
        path : path-like, optional
            File to write. An interrupted call continues from parts that are kept beside it.
        n_words : int
        radius, positive :
            See :meth:`image`.
        progress : callable, optional
            Called with the number of words done and their total.

        Returns
        -------
        WordImages
        """
        check_is_fitted(self)
        question = self._question(n_words, None, radius, positive)
        return image_everything(self, question, path, progress)

    def documents(self, image: TopicImage, count: int = 5) -> list[DocumentMatch]:
        """The documents with the largest weights of an image's words and of the query."""
        check_is_fitted(self)
        if count < 1:
            raise InvalidInputError(f"count={count!r} must be at least 1.")
        if not image.words:
            return []
        predicted = self._columns.combine(self._vocabulary.indices(image.words), image.weights)
        query = np.unique(self._vocabulary.indices(image.query))
        asked = self._columns.combine(query, np.ones(len(query)))
        found = predicted / (predicted.std() or 1.0) + asked / (asked.std() or 1.0)
        best = np.argsort(-found, kind="stable")[:count]
        return [match(self.corpus_, row, found[row]) for row in best]

    def complete(self, prefix: str, count: int = 10) -> list[str]:
        """Words of the vocabulary with this prefix, the most frequent first."""
        check_is_fitted(self)
        return self._vocabulary.complete(prefix, count)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write corpus, sketch and settings to a file; :func:`load_topics` reads it back."""
        check_is_fitted(self)
        save_topics(self, path)

    def _question(
        self, n_words: int, alpha: Any = None, radius: Any = None, positive: bool | None = None
    ) -> Question:
        return Question.checked(
            n_words,
            alpha,
            self.radius if radius is None else radius,
            self.positive if positive is None else positive,
        )

    def _images(
        self, groups: list[list[str]], question: Question, exclude: Sequence[str], judge: bool
    ) -> list[TopicImage]:
        """One image per group of words."""
        check_is_fitted(self)
        start = perf_counter()
        if not groups or not all(groups):
            raise InvalidInputError("no word was given; pass at least one.")
        forbidden = self._vocabulary.indices(list(exclude), "exclude")
        members = [np.unique(self._vocabulary.indices(group)) for group in groups]
        queries = Queries(members, [np.union1d(words, forbidden) for words in members])
        answers = self._answer(queries, question)
        shares = np.full(len(groups), np.nan)
        if judge:
            sizes = [len(answers.strongest(i, question.n_words)[0]) for i in range(len(groups))]
            halves = self._made_halves()
            shares = held_out(halves, queries, question, sizes, self._solving(queries))
        images = []
        for number, group in enumerate(groups):
            features, weights = answers.strongest(number, question.n_words)
            image = TopicImage(
                query=tuple(map(self._vocabulary.written, group)),
                words=tuple(str(word) for word in self.words_[features]),
                weights=weights,
                n_nonzero=len(answers.row(number)[0]),
                alpha=float(answers.alpha[number]),
                radius=float(answers.radius[number]),
                gap=float(answers.gap[number]),
                explained=explained(queries, answers, self._columns, number),
                seconds=0.0,
                excluded=tuple(map(self._vocabulary.written, exclude)),
                held_out=float(shares[number]),
            )
            rarest = int(self.document_frequency_[members[number]].min())
            found = advice(image, question, rarest, self.sketch_.rank, min(self.sketch_.shape))
            images.append(replace(image, advice=found))
        seconds = perf_counter() - start
        return [replace(image, seconds=seconds) for image in images]

    def _answer(self, queries: Queries, question: Question) -> Answers:
        return answer(queries, question, self._columns, self._solving(queries))

    def _solving(self, queries: Queries) -> Settings:
        jobs = thread_count(self.n_jobs)
        # A few queries take less time than starting threads.
        few = len(queries.members) < 4 * jobs
        device = self.device if len(queries.members) >= DEVICE_QUERIES else CPU
        return Settings(tol=self.tol, n_threads=1 if few else jobs, device=device)

    def _made_halves(self) -> tuple[HalfSample, ...]:
        """Both halves, sketched on first use."""
        if self._halves is None:
            self._halves = split(self._columns.weights.tocsr(), self.rank, self.scale)
        return self._halves
