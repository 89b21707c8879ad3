"""Corpora by name, from the folder of data or from the installed packages."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.datasets import SEED, MissingDataError, data_file
from sketchlasso import Corpus, corpus_from_matrix, embedded_corpus

FILES = {
    "nips_uci": ("nips", ("nips_uci_counts.npz",), "nips_uci_vocab.txt"),
    "nips_1987_2003": ("nips", ("nips_1987_2003_counts.npz",), "nips_1987_2003_vocab.txt"),
    "kos": ("kos", ("kos_counts.npz",), "vocab.txt"),
    "imdb": (
        "imdb",
        ("train_counts.npz", "test_counts.npz", "unsup_counts.npz"),
        "vocab.txt",
    ),
}


def corpus(name: str, documents: int | None = None) -> Corpus:
    """A corpus, or a random sample of its documents."""
    if name == "embedded":
        return embedded_corpus()
    if name not in FILES:
        raise MissingDataError(
            f"{name} is not a corpus here; choose from {', '.join(FILES)}, embedded."
        )
    folder, files, vocabulary = FILES[name]
    stacked: Any = sparse.vstack([sparse.load_npz(data_file(folder, file)) for file in files])
    counts = sparse.csr_array(stacked.tocsr(), dtype=np.float64)
    if documents is not None and documents < counts.shape[0]:
        rows = np.random.default_rng(SEED).choice(counts.shape[0], documents, replace=False)
        counts = counts[np.sort(rows)]
    return corpus_from_matrix(counts, data_file(folder, vocabulary), source=name)
