"""Fitted imagers as files, without pickle."""

from __future__ import annotations

import os
from typing import Any

from sketchlasso.sketches import Sketch
from sketchlasso.storage import read_container, unpacking, write_container
from sketchlasso.storage.container import TOPICS
from sketchlasso.storage.door import UnfitError, check_facts
from sketchlasso.topics.answering import Question
from sketchlasso.topics.corpus import stop_list, weigh
from sketchlasso.topics.imager import TopicImager
from sketchlasso.topics.packing import pack_corpus, unpack_corpus

__all__ = ["load_topics", "save_topics"]

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
    with unpacking(path, TOPICS):
        check_facts(header, {"settings": (dict,), "corpus": (dict,), "sketch": (dict,)})
        check_facts(header["settings"], SETTINGS)
        imager = TopicImager(**header["settings"])
        Question.checked(1, None, imager.radius, imager.positive)
        stop_list(imager.stop_words)
        imager.sketch_ = Sketch.unpacked(header["sketch"], _below(arrays, SKETCH))
        corpus = unpack_corpus(header["corpus"], _below(arrays, CORPUS))
        if imager.sketch_.shape != corpus.shape or not 0 < imager.tol < 1 or imager.rank < 1:
            raise UnfitError(
                f"the sketch is of {imager.sketch_.shape} and the corpus of {corpus.shape}, with "
                f"a tolerance of {imager.tol} and a rank of {imager.rank}"
            )
        return imager._settle(corpus, weigh(corpus.counts, imager.weighting))


def _settings(imager: TopicImager) -> dict[str, Any]:
    """Parameters as JSON can hold them; a generator comes back as None."""
    settings = imager.get_params()
    words = settings["stop_words"]
    settings["stop_words"] = words if words is None or isinstance(words, str) else sorted(words)
    if not isinstance(imager.radius, float | int):
        settings["radius"] = str(imager.radius)
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
