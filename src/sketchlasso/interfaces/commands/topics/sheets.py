"""Images of words as tables for people and as documents for machines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import sketchlasso as sl
from sketchlasso.interfaces.commands.report import Bar, Sheet


def image_sheet(image: sl.topics.TopicImage) -> Sheet:
    """Return the table of one image: every word with its weight and a bar."""
    longest = float(np.max(np.abs(image.weights), initial=0.0)) or 1.0
    rows = tuple(
        (word, _weight(weight), Bar(float(weight) / longest))
        for word, weight in zip(image.words, image.weights, strict=True)
    )
    return Sheet(f"{name_of(image)}: {judged(image)}", ("word", "weight", ""), rows)


def image_data(
    image: sl.topics.TopicImage, documents: Sequence[sl.topics.DocumentMatch] = ()
) -> dict[str, Any]:
    """Describe an image for machines."""
    names = ("query", "words", "weights", "signs", "n_nonzero", "alpha", "radius", "gap")
    judged = ("explained", "held_out", "quality", "advice", "seconds", "excluded")
    found = {name: getattr(image, name) for name in (*names, *judged)}
    found["advice"] = image.advice or None
    if documents:
        found["documents"] = [
            {"number": one.number, "title": one.title, "score": one.score, "text": one.text}
            for one in documents
        ]
    return found


def image_words(image: sl.topics.TopicImage) -> str:
    """Return the words of an image on one line, those of negative weight behind a minus."""
    return ", ".join(
        word if sign > 0 else f"-{word}"
        for word, sign in zip(image.words, image.signs, strict=True)
    )


def document_sheet(
    image: sl.topics.TopicImage, documents: Sequence[sl.topics.DocumentMatch]
) -> Sheet:
    """Return the table of the documents behind an image."""
    rows = tuple((f"{one.score:.1f}", one.title) for one in documents)
    return Sheet(f"{name_of(image)}: documents behind it", ("score", "document"), rows)


def compared_sheet(compared: sl.topics.ComparedImages, first: Path, second: Path) -> Sheet:
    """Return the table of two images of one word: shared words first, then those of either."""
    sides = [
        dict(zip(image.words, image.weights, strict=True))
        for image in (compared.first, compared.second)
    ]
    words = (*compared.shared, *compared.only_first, *compared.only_second)
    rows = tuple(
        (word, *(_weight(side[word]) if word in side else "" for side in sides)) for word in words
    )
    title = (
        f"{name_of(compared.first)}: {len(compared.shared)} of {len(words)} words shared; "
        f"{compared.first.quality} here, {compared.second.quality} there"
    )
    return Sheet(title, ("word", first.name, second.name), rows)


def compared_data(compared: sl.topics.ComparedImages) -> dict[str, Any]:
    """Describe two images of one word for machines."""
    return {
        "first": image_data(compared.first),
        "second": image_data(compared.second),
        "shared": list(compared.shared),
        "only_first": list(compared.only_first),
        "only_second": list(compared.only_second),
        "overlap": compared.overlap,
    }


def corpus_facts(imager: sl.topics.TopicImager) -> tuple[tuple[str, str], ...]:
    """Describe what an imager was made of, and how."""
    documents, words = imager.corpus_.shape
    kept = imager.corpus_.settings
    how = f"{imager.weighting}{', columns scaled' if imager.scale else ''}"
    links = kept.get("links_left_out", 0)
    return (
        ("corpus", imager.corpus_.source or "(unnamed)"),
        ("documents", f"{documents}, {kept['empty_documents']} of them without a word"),
        *([("links", f"{links} out of the folder, not followed")] if links else []),
        ("words", f"{words}, each in {kept['min_documents']} documents or more"),
        ("weighting", how),
        ("sketch", f"rank {imager.sketch_.rank}, radius of images: {imager.radius}"),
    )


def name_of(image: sl.topics.TopicImage) -> str:
    """Return what was asked for: a word, or several together."""
    return " + ".join(image.query)


def _weight(weight: float) -> str:
    """Write a weight with its sign, with enough digits that it is not shown as zero."""
    return f"{weight:+.4f}" if abs(weight) >= 5e-5 else f"{weight:+.0e}"


def judged(image: sl.topics.TopicImage) -> str:
    """Return the quality of an image in words."""
    if image.quality == "unknown":
        return "not judged"
    share = _percent(max(image.held_out, 0.0))
    return f"{image.quality}, its words explain {share} of it in other documents"


def advice_lines(images: Sequence[sl.topics.TopicImage]) -> str:
    """Return a line of advice for every weak image that has one."""
    return "\n".join(
        f"{name_of(image)} is weak: {image.advice}" for image in images if image.advice
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share < 0.1 else f"{100 * share:.0f} %"
