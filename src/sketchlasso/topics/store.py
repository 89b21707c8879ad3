"""Fitted imagers as files, without pickle."""

from __future__ import annotations

import os
from typing import Any

from sketchlasso.errors import StoredFileError
from sketchlasso.sketch import Sketch
from sketchlasso.storage import read_container, write_container
from sketchlasso.storage.container import TOPICS
from sketchlasso.topics.imager import TopicImager
from sketchlasso.topics.packing import pack_corpus, unpack_corpus
from sketchlasso.topics.weighting import weigh

__all__ = ["load_topics", "save_topics"]

CORPUS, SKETCH = "corpus.", "sketch."


def save_topics(imager: TopicImager, path: str | os.PathLike[str]) -> None:
    """Write corpus, sketch and settings of a fitted imager.

    The header of the container holds ``settings`` (the parameters), ``corpus`` and ``sketch``; the
    arrays of both carry their name and a dot in front of their own.
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
        Fitted; it answers as the one that was saved.

    Raises
    ------
    StoredFileError
        The file is missing, truncated, altered, foreign, or of a newer version.
    """
    header, arrays = read_container(path, TOPICS)
    try:
        imager = TopicImager(**header["settings"])
        imager.sketch_ = Sketch.unpacked(header["sketch"], _below(arrays, SKETCH))
        corpus = unpack_corpus(header["corpus"], _below(arrays, CORPUS))
        return imager._settle(corpus, weigh(corpus.counts, imager.weighting))
    except (KeyError, TypeError, ValueError, IndexError) as problem:
        raise StoredFileError(
            f"{path} holds no complete topics; write it again with TopicImager.save."
        ) from problem


def _settings(imager: TopicImager) -> dict[str, Any]:
    """Parameters as JSON can hold them; a generator comes back as None."""
    settings = imager.get_params()
    words = settings["stop_words"]
    settings["stop_words"] = words if words is None or isinstance(words, str) else sorted(words)
    settings["radius"] = (
        settings["radius"] if isinstance(settings["radius"], float | int) else str(imager.radius)
    )
    if not isinstance(settings["random_state"], int | None):
        settings["random_state"] = None
    return settings


def _below(arrays: dict[str, Any], prefix: str) -> dict[str, Any]:
    """The arrays whose names begin so, without the beginning."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
