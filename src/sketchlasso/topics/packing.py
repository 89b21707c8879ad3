"""Convert a corpus to a header and arrays for a container, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchlasso.storage.door import UnfitError, check_facts, check_lengths
from sketchlasso.storage.sparse import checked_csr
from sketchlasso.topics.corpus import Corpus

__all__ = ["pack_corpus", "pack_strings", "unpack_corpus", "unpack_strings"]


def pack_corpus(corpus: Corpus) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what JSON can hold of a corpus, and its arrays."""
    counts, data = corpus.counts, corpus.counts.data
    largest = float(data.max(initial=0))
    if largest < 2**32 and np.all(data == np.rint(data)):  # counts, and not weights
        data = data.astype(np.min_scalar_type(int(largest)))
    header = {
        "source": corpus.source,
        "settings": dict(corpus.settings),
        "shape": list(corpus.shape),
        "has_texts": corpus.texts is not None,
    }
    arrays: dict[str, NDArray[Any]] = {
        "counts_data": data,
        "counts_indices": counts.indices,
        "counts_indptr": counts.indptr,
    }
    for name in ("words", "titles", "texts"):
        arrays[name], arrays[f"{name}_ends"] = pack_strings(getattr(corpus, name) or ())
    # Files without groups are as they were before there were any.
    if corpus.groups is not None:
        arrays["groups"], arrays["groups_ends"] = pack_strings(corpus.groups)
    return header, arrays


def unpack_corpus(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Corpus:
    """Return the corpus that :func:`pack_corpus` took apart; parts that do not fit are refused."""
    kinds = {"source": (str,), "settings": (dict,), "shape": (list,), "has_texts": (bool,)}
    check_facts(header, kinds)
    parts = (arrays["counts_data"], arrays["counts_indices"], arrays["counts_indptr"])
    counts = checked_csr(*parts, header["shape"])
    words, titles, texts = (
        unpack_strings(arrays[name], arrays[f"{name}_ends"])
        for name in ("words", "titles", "texts")
    )
    shown = texts if header["has_texts"] else None
    groups = None
    if "groups" in arrays:
        groups = unpack_strings(arrays["groups"], arrays["groups_ends"])
    return Corpus(counts, words, titles, shown, header["source"], header["settings"], groups)


def pack_strings(strings: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the UTF-8 bytes (n_bytes,) of strings, one after another, and the end of each (n,).

    Lone surrogates, which are no text, become question marks.
    """
    encoded = [string.encode("utf-8", "replace") for string in strings]
    ends = np.cumsum([len(part) for part in encoded], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), ends


def unpack_strings(data: NDArray[np.uint8], ends: NDArray[np.int64]) -> tuple[str, ...]:
    """Return the strings that :func:`pack_strings` put together."""
    if data.ndim != 1 or data.dtype != np.uint8:
        raise UnfitError(f"text is {data.dtype} of shape {data.shape}, not bytes")
    check_lengths(ends, len(data), "the ends of words or texts")
    whole, bounds = data.tobytes(), [0, *ends.tolist()]
    return tuple(whole[start:end].decode("utf-8") for start, end in pairwise(bounds))
