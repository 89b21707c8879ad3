"""Fitted imagers as files, without pickle."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sketchlasso.results import RadiusPolicy
from sketchlasso.sketches import Sketch
from sketchlasso.storage import Stored, matrix_arrays, reading, strings_array, write_stored
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
    facts: dict[str, Any] = {"settings": settings}
    arrays: dict[str, NDArray[Any]] = {}
    packed = {"corpus": pack_corpus(imager.corpus_), "sketch": imager.sketch_.packed()}
    for part, (facts[part], theirs) in packed.items():
        arrays |= {f"{part}.{name}": array for name, array in theirs.items()}
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
        settings = stored.part("settings")
        imager = TopicImager(
            rank=settings.fact("rank", int),
            weighting=settings.fact("weighting", str),
            scale=settings.fact("scale", bool),
            radius=settings.facts["radius"],
            positive=settings.fact("positive", bool),
            min_documents=settings.fact("min_documents", int, optional=True),
            max_share=settings.fact("max_share", float),
            stop_words=settings.facts["stop_words"],
            tol=settings.fact("tol", float),
            n_jobs=settings.fact("n_jobs", int, optional=True),
            random_state=settings.fact("random_state", int, optional=True),
            device=settings.fact("device", str),
        )
        imager._question(1)
        stop_list(imager.stop_words)
        imager.sketch_ = Sketch.unpacked(stored.part("sketch"))
        corpus = unpack_corpus(stored.part("corpus"))
        if imager.sketch_.shape != corpus.shape or not 0 < imager.tol < 1 or imager.rank < 1:
            raise ValueError(
                f"the sketch is of {imager.sketch_.shape} and the corpus of {corpus.shape}, with "
                f"a tolerance of {imager.tol} and a rank of {imager.rank}"
            )
        return imager._settle(corpus, weigh(corpus.counts, imager.weighting))


def pack_corpus(corpus: Corpus) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return facts and arrays of a corpus."""
    counts = corpus.counts.copy()
    largest = float(counts.data.max(initial=0))
    if largest < 2**32 and np.all(counts.data == np.rint(counts.data)):  # counts, and not weights
        counts.data = counts.data.astype(np.min_scalar_type(int(largest)))
    facts = {
        "source": corpus.source,
        "settings": dict(corpus.settings),
        "shape": list(corpus.shape),
    }
    arrays: dict[str, NDArray[Any]] = matrix_arrays("counts", counts)
    for name in ("words", "titles", "texts", "groups"):
        if getattr(corpus, name) is not None:
            arrays[name] = strings_array(getattr(corpus, name))
    return facts, arrays


def unpack_corpus(stored: Stored) -> Corpus:
    """Return the corpus of :func:`pack_corpus`; what does not fit is ValueError."""
    rows, columns = map(int, stored.fact("shape", list))
    settings = stored.part("settings")
    for pruned in ("min_documents", "empty_documents"):
        settings.fact(pruned, int)
    return Corpus(
        stored.matrix("counts", (rows, columns)),
        stored.strings("words"),
        stored.strings("titles"),
        stored.strings("texts") if "texts" in stored.arrays else None,
        stored.fact("source", str),
        settings.facts,
        stored.strings("groups") if "groups" in stored.arrays else None,
    )
