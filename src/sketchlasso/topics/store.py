"""Corpora and fitted imagers as files, without pickle."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sketchlasso.sketches import Sketch
from sketchlasso.storage import read_container, unpacking, write_container
from sketchlasso.storage.container import TOPICS
from sketchlasso.storage.door import UnfitError, check_facts, check_lengths
from sketchlasso.storage.sparse import checked_csr
from sketchlasso.topics.corpus import Corpus, stop_list, weigh

if TYPE_CHECKING:
    from sketchlasso.topics.imager import TopicImager

CORPUS, SKETCH = "corpus.", "sketch."
# Types of the parameters in a file.
SETTINGS: dict[str, tuple[type, ...]] = {
    "rank": (int,),
    "weighting": (str,),
    "scale": (bool,),
    "radius": (float, int, str),
    "positive": (bool,),
    "min_documents": (int, type(None)),
    "max_share": (float, int),
    "stop_words": (str, list, type(None)),
    "tol": (float, int),
    "n_jobs": (int, type(None)),
    "random_state": (int, type(None)),
    "device": (str,),
}


# Facts that pruning leaves in the settings of an imager's corpus.
PRUNED: dict[str, tuple[type, ...]] = {"min_documents": (int,), "empty_documents": (int,)}


def pack_corpus(corpus: Corpus) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays of a corpus."""
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
    # Left out without groups: such files are as older versions wrote them.
    if corpus.groups is not None:
        arrays["groups"], arrays["groups_ends"] = pack_strings(corpus.groups)
    return header, arrays


def unpack_corpus(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Corpus:
    """Return the corpus of :func:`pack_corpus`; refuse parts that do not fit."""
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

    Lone surrogates, which are not text, become question marks.
    """
    encoded = [string.encode("utf-8", "replace") for string in strings]
    ends = np.cumsum([len(part) for part in encoded], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), ends


def unpack_strings(data: NDArray[np.uint8], ends: NDArray[np.int64]) -> tuple[str, ...]:
    """Return the strings of :func:`pack_strings`."""
    if data.ndim != 1 or data.dtype != np.uint8:
        raise UnfitError(f"text is {data.dtype} of shape {data.shape}, not bytes")
    check_lengths(ends, len(data), "the ends of words or texts")
    whole, bounds = data.tobytes(), [0, *ends.tolist()]
    return tuple(whole[start:end].decode("utf-8") for start, end in pairwise(bounds))


def save_topics(imager: TopicImager, path: str | os.PathLike[str]) -> None:
    """Write corpus, sketch and settings of a fitted imager.

    The header of the container holds ``settings`` (the parameters), ``corpus`` and ``sketch``;
    names of their arrays begin with ``corpus.`` and ``sketch.``.
    """
    corpus, counts = pack_corpus(imager.corpus_)
    sketch, factors = imager.sketch_.packed()
    header = {"settings": _settings(imager), "corpus": corpus, "sketch": sketch}
    arrays = {f"{CORPUS}{name}": array for name, array in counts.items()}
    arrays |= {f"{SKETCH}{name}": array for name, array in factors.items()}
    write_container(path, TOPICS, header, arrays)


def load_topics(path: str | os.PathLike[str]) -> TopicImager:
    """Read the imager that :meth:`TopicImager.save` wrote.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    TopicImager
        Fitted; it gives the same answers as the one that was saved.

    Raises
    ------
    StoredFileError
        The file is missing, truncated, altered, foreign, or of a newer version.
    """
    from sketchlasso.topics.imager import TopicImager  # which imports this module

    header, arrays = read_container(path, TOPICS)
    with unpacking(path, TOPICS):
        check_facts(header, {"settings": (dict,), "corpus": (dict,), "sketch": (dict,)})
        check_facts(header["settings"], SETTINGS)
        imager = TopicImager(**header["settings"])
        imager._question(1)
        stop_list(imager.stop_words)
        imager.sketch_ = Sketch.unpacked(header["sketch"], _below(arrays, SKETCH))
        corpus = unpack_corpus(header["corpus"], _below(arrays, CORPUS))
        check_facts(corpus.settings, PRUNED)
        if imager.sketch_.shape != corpus.shape or not 0 < imager.tol < 1 or imager.rank < 1:
            raise UnfitError(
                f"the sketch is of {imager.sketch_.shape} and the corpus of {corpus.shape}, with "
                f"a tolerance of {imager.tol} and a rank of {imager.rank}"
            )
        return imager._settle(corpus, weigh(corpus.counts, imager.weighting))


def _settings(imager: TopicImager) -> dict[str, Any]:
    """Parameters in a form that JSON can hold; a generator becomes None."""
    settings = imager.get_params()
    words = settings["stop_words"]
    settings["stop_words"] = words if words is None or isinstance(words, str) else sorted(words)
    if not isinstance(imager.radius, float | int):
        settings["radius"] = str(imager.radius)
    if not isinstance(settings["random_state"], int | None):
        settings["random_state"] = None
    return settings


def _below(arrays: dict[str, Any], prefix: str) -> dict[str, Any]:
    """The arrays whose names have a prefix, by the rest of their names."""
    named = ((name.removeprefix(prefix), name) for name in arrays if name.startswith(prefix))
    return {short: arrays[name] for short, name in named}
