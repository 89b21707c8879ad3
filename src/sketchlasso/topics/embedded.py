"""A corpus that comes with the package: words of the documentation of scientific packages."""

from __future__ import annotations

import json
from importlib import resources

import numpy as np
from scipy import sparse

from sketchlasso.topics.corpus import Corpus


def embedded_corpus() -> Corpus:
    """Return words of the docstrings of NumPy, SciPy, scikit-learn, pandas, Matplotlib and Python.

    A document is the docstring of a public module, function, class or method, and its title that
    name (``numpy.fft.fft``). Markup, code, types, references and common words of documentation
    ("parameters", "returns", "default") were left out, and regular plurals count as their
    singular. The texts themselves are not in the package.

    Returns
    -------
    Corpus
        About 10,000 documents, pruned; ``settings["packages"]`` has the versions.

    Examples
    --------
    >>> import sketchlasso as sl
    >>> corpus = sl.topics.embedded_corpus()
    >>> "fourier" in corpus.words
    True
    """
    with (
        resources.files(__package__).joinpath("documentation.npz").open("rb") as file,
        np.load(file, allow_pickle=False) as held,
    ):
        words, titles, packages = (
            json.loads(held[name].tobytes()) for name in ("words", "titles", "packages")
        )
        indptr = np.concatenate([[0], np.cumsum(held["lengths"], dtype=np.int64)])
        parts = (held["data"], held["indices"].astype(np.int32), indptr)
    counts = sparse.csr_array(parts, shape=(len(titles), len(words)))
    settings = {"min_documents": 8, "max_share": 0.5, "packages": packages,
                "stop_words": "english, documentation",
                "empty_documents": int(np.sum(np.diff(indptr) == 0))}  # fmt: skip
    return Corpus(counts, words, titles, source="documentation of packages", settings=settings)
