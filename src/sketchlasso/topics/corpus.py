"""A collection of documents as word counts, with their titles and words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePath
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from sketchlasso.data.entries import find_entry
from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.types import IntArray, SparseRows, is_number, is_whole

StopWords: TypeAlias = "Literal['english'] | Iterable[str] | None"
Weighting: TypeAlias = Literal["tfidf", "log", "counts", "length"]


@dataclass(frozen=True, eq=False, repr=False)
class Corpus:
    """Documents in rows, words in columns.

    Attributes
    ----------
    counts : csr_array of shape (n_documents, n_words)
        How often each word occurs in each document: finite, not negative. Any matrix of real
        numbers is accepted and cast.
    words : tuple of str, of length n_words
        One per column, all different.
    titles : tuple of str, of length n_documents
        A readable name per document. They need not differ.
    texts : tuple of str, of length n_documents, or None
        The documents, or their beginnings, for display.
    source : str
        Where the corpus came from.
    settings : mapping
        How the corpus was made from its source: plain values that JSON can hold.
    groups : tuple of str, of length n_documents, or None
        A date, an author or a section for each document, to compare topics across.
    """

    counts: SparseRows
    words: tuple[str, ...]
    titles: tuple[str, ...]
    texts: tuple[str, ...] | None = None
    source: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    groups: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", _counts(self.counts))
        for name in ("words", "titles", "texts", "groups"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, tuple(map(str, getattr(self, name))))
        object.__setattr__(self, "settings", dict(self.settings))
        documents, words = self.shape
        if 0 in (documents, words) or not self.counts.nnz:
            raise InvalidInputError(
                f"{self._title} is empty ({documents} documents, {words} words, "
                f"{self.counts.nnz} counts), but at least one word in one document is needed; "
                "give documents with text."
            )
        for name in ("words", "titles", "texts", "groups"):
            parts, wanted = getattr(self, name), words if name == "words" else documents
            if parts is not None and len(parts) != wanted:
                raise InvalidInputError(
                    f"{self._title} has counts of shape {self.shape} but {len(parts)} {name}; "
                    f"give {wanted}, one per {'column' if name == 'words' else 'row'}."
                )
        if len(set(self.words)) != words:
            twice = next(word for word in self.words if self.words.count(word) > 1)
            raise InvalidInputError(
                f"{self._title} has several columns for the word {twice!r}, but words must "
                "differ; add up or rename those columns."
            )

    @property
    def shape(self) -> tuple[int, int]:
        """Documents and words."""
        return int(self.counts.shape[0]), int(self.counts.shape[1])

    @property
    def name(self) -> str:
        """Name of the corpus for display: its file or folder, without the path."""
        return PurePath(self.source).name or "a corpus"

    @cached_property
    def document_frequency(self) -> IntArray:
        """Number of documents that contain each word: shape (n_words,)."""
        return np.bincount(self.counts.indices, minlength=self.shape[1])

    def __repr__(self) -> str:
        documents, words = self.shape
        origin = f" from {self.source}" if self.source else ""
        return f"<Corpus of {documents} documents, {words} words{origin}>"

    def readable_title(self, row: int) -> str:
        """Return the title of a document; without one its number and five characteristic words."""
        title = self.titles[row]
        if title != numbered(row):
            return title
        part = slice(self.counts.indptr[row], self.counts.indptr[row + 1])
        words, counts = self.counts.indices[part], self.counts.data[part]
        rarity = np.log(self.shape[0] / self.document_frequency[words])
        best = np.argsort(-counts * rarity, kind="stable")[:5]
        return f"{title} ({', '.join(self.words[j] for j in words[best])})" if len(best) else title

    def pruned(
        self,
        *,
        min_documents: int | None = None,
        max_share: float = 0.95,
        stop_words: StopWords = "english",
    ) -> Corpus:
        """Leave out rare words, words in almost every document, and stop words.

        The counts of other words do not change. Documents without any word left stay as empty
        rows; ``settings["empty_documents"]`` is their number.

        Parameters
        ----------
        min_documents : int, optional
            Words in fewer documents are left out. By default 5 from 200 documents on, and one
            less for every 50 documents below that.
        max_share : float in (0, 1]
            Words in a larger share of the documents are left out.
        stop_words : {"english"}, iterable of str, or None
            Words to leave out at any frequency; "english" means scikit-learn's list.

        Returns
        -------
        Corpus
        """
        documents = self.shape[0]
        least = min(5, 1 + documents // 50) if min_documents is None else min_documents
        if not is_whole(least) or least < 1:
            raise unaccepted("min_documents", least, "a positive whole number")
        if not is_number(max_share) or not 0 < max_share <= 1:
            raise unaccepted("max_share", max_share, "a share of the documents in (0, 1]")
        stopped = stop_list(stop_words)
        frequency = self.document_frequency
        kept = (frequency >= least) & (frequency <= max_share * documents)
        kept &= ~np.fromiter((word in stopped for word in self.words), bool, len(self.words))
        places = np.flatnonzero(kept)
        if not len(places):
            raise InvalidInputError(
                f"{self._title} has no word left of its {self.shape[1]} in {least} documents or "
                f"more and in at most {max_share:g} of them; lower min_documents, raise max_share "
                "or give other stop words."
            )
        counts = self.counts[:, places]
        settings = {
            **self.settings,
            "min_documents": int(least),
            "max_share": float(max_share),
            "stop_words": stop_words if isinstance(stop_words, str) else sorted(stopped),
            "empty_documents": int(np.count_nonzero(np.diff(counts.indptr) == 0)),
        }
        words = tuple(self.words[i] for i in places)
        return replace(self, counts=counts, words=words, settings=settings)

    @property
    def _title(self) -> str:
        return self.source or "the corpus"


def numbered(row: int) -> str:
    """Return the title of a document that has none."""
    return f"document {row + 1}"


def stop_list(stop_words: StopWords) -> frozenset[str]:
    """Return the words to leave out."""
    if stop_words is None:
        return frozenset()
    if isinstance(stop_words, str):
        if stop_words != "english":
            raise unaccepted("stop_words", stop_words, "'english', a list of words or None")
        # Slow to import.
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return frozenset(ENGLISH_STOP_WORDS)
    return frozenset(map(str, stop_words))


def _counts(given: object) -> SparseRows:
    values: Any = given if sparse.issparse(given) else np.asarray(given)
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"counts have shape {values.shape} and type {values.dtype}, but a matrix of real "
            "numbers of shape (n_documents, n_words) is needed; convert them first."
        )
    # Cast before duplicates are added up: small integers would overflow.
    counts: SparseRows = sparse.csr_array(values.astype(np.float64))
    counts.sum_duplicates()
    counts.eliminate_zeros()
    bad = find_entry(counts, lambda values: ~(np.isfinite(values) & (values >= 0)))
    if bad is not None:
        raise InvalidInputError(
            f"counts hold {bad[2]} in row {bad[0] + 1}, column {bad[1] + 1}, but every count must "
            "be finite and 0 or more; correct such entries first."
        )
    return counts


def weigh(counts: SparseRows, weighting: Weighting) -> SparseRows:
    """Weights (documents, words) of counts; zeros stay zero.

    ``"tfidf"``
        (1 + log count) * (1 + log((1 + m) / (1 + df))), documents scaled to unit length.
    ``"log"``
        log(1 + count).
    ``"counts"``
        The counts themselves.
    ``"length"``
        Counts over the number of words of the document.
    """
    if weighting not in get_args(Weighting):
        raise unaccepted("weighting", weighting, f"one of {', '.join(get_args(Weighting))}")
    weights = counts.astype(np.float64, copy=True)
    if weighting == "log":
        weights.data = np.log1p(weights.data)
    elif weighting == "length":
        weights = normalize(weights, norm="l1")
    elif weighting == "tfidf":
        # Weights below one are not counts; their logarithm must not become negative.
        weights.data = 1.0 + np.log(np.maximum(weights.data, 1e-300))
        np.maximum(weights.data, 0.0, out=weights.data)
        frequency = np.bincount(counts.indices, minlength=counts.shape[1])
        weights.data *= (1.0 + np.log((1.0 + counts.shape[0]) / (1.0 + frequency)))[weights.indices]
        weights = normalize(weights)
    weights.eliminate_zeros()
    return weights
