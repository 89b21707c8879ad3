"""One file for a fitted imager: its settings, its corpus and its sketch."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from sketchlasso.results import RadiusPolicy
from sketchlasso.sketches import Sketch
from sketchlasso.storage import matrix_arrays, reading, strings_array, write_stored
from sketchlasso.topics.corpus import Corpus, stop_list, weigh

if TYPE_CHECKING:
    from sketchlasso.topics.imager import TopicImager


def save_topics(imager: TopicImager, path: str | os.PathLike[str]) -> None:
    """Write corpus, sketch and settings of a fitted imager.

    The facts of the file are ``settings`` (the parameters), ``corpus`` and ``sketch``; names of
    their arrays begin with ``corpus.`` and ``sketch.``.
    """
    settings = imager.get_params()
    words = settings["stop_words"]
    settings["stop_words"] = words if words is None or isinstance(words, str) else sorted(words)
    settings["radius"] = plain_radius(imager.radius)
    if not isinstance(settings["random_state"], int | None):
        settings["random_state"] = None
    corpus, (sketch, sketch_arrays) = imager.corpus_, imager.sketch_.packed()
    counts = corpus.counts.copy()
    largest = float(counts.data.max(initial=0))
    if largest < 2**32 and np.all(counts.data == np.rint(counts.data)):  # counts, and not weights
        counts.data = counts.data.astype(np.min_scalar_type(int(largest)))
    arrays: dict[str, Any] = matrix_arrays("corpus.counts", counts)
    for name in ("words", "titles", "texts", "groups"):
        if getattr(corpus, name) is not None:
            arrays[f"corpus.{name}"] = strings_array(getattr(corpus, name))
    facts = {
        "settings": settings,
        "corpus": {
            "source": corpus.source,
            "settings": dict(corpus.settings),
            "shape": list(corpus.shape),
        },
        "sketch": sketch,
    }
    arrays |= {f"sketch.{name}": array for name, array in sketch_arrays.items()}
    write_stored(path, "topics", facts, arrays)


def plain_radius(radius: float | str | RadiusPolicy) -> float | str:
    """Return a radius as JSON can hold it, with all digits."""
    if not isinstance(radius, RadiusPolicy):
        return radius
    factor = float(radius.factor)
    return factor if radius.kind == "given" else f"{factor!r}*{radius.kind}"


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
        The file is missing, damaged, foreign, or of another version.
    """
    from sketchlasso.topics.imager import TopicImager  # which imports this module

    with reading(path, "topics") as stored:
        imager = TopicImager(**stored.fact("settings", dict))
        imager._question(1)
        stop_list(imager.stop_words)
        imager.sketch_ = Sketch.unpacked(stored.part("sketch"))
        part = stored.part("corpus")
        rows, columns = part.fact("shape", list)
        corpus = Corpus(
            part.matrix("counts", (rows, columns)),
            part.strings("words"),
            part.strings("titles"),
            part.strings("texts") if "texts" in part.arrays else None,
            part.fact("source", str),
            part.fact("settings", dict),
            part.strings("groups") if "groups" in part.arrays else None,
        )
        if imager.sketch_.shape != corpus.shape:
            raise ValueError(
                f"the sketch is of {imager.sketch_.shape} and the corpus of {corpus.shape}"
            )
        return imager._settle(corpus, weigh(corpus.counts, imager.weighting))
