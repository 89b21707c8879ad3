"""What `sketchlasso info` reports about files of topics."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import sketchlasso as sl
from sketchlasso.interfaces.commands.report import Report, Sheet
from sketchlasso.interfaces.commands.topics.everything import images_data, images_facts
from sketchlasso.interfaces.commands.topics.fitting import model_data
from sketchlasso.interfaces.commands.topics.sheets import corpus_facts

__all__ = ["images_info", "topics_info"]


def topics_info(file: Path, top: int) -> Report:
    """Tell what a model of topics holds, with its most frequent words."""
    imager = sl.topics.load_topics(file)
    frequency = imager.document_frequency_
    order = np.argsort(-frequency, kind="stable")[:top]
    rows = tuple((str(imager.words_[j]), int(frequency[j])) for j in order)
    sheet = Sheet(f"most frequent {len(rows)} words", ("word", "documents"), rows)
    return Report(
        {"command": "info", "content": "topics", **model_data(imager), "frequent": dict(rows)},
        facts=corpus_facts(imager),
        sheets=(sheet,) if rows else (),
    )


def images_info(file: Path, top: int) -> Report:
    """Show what a file of images holds, with the words that stand in most of them."""
    images = sl.topics.load_images(file)
    named = np.bincount(images.weights.indices, minlength=len(images.words))
    order = np.argsort(-named, kind="stable")[:top]
    rows = tuple((images.words[j], int(named[j])) for j in order)
    settings = ", ".join(f"{name}={value}" for name, value in images.settings.items())
    sheet = Sheet(f"{len(rows)} words in most images", ("word", "images"), rows)
    return Report(
        {"command": "info", "content": "images", **images_data(images), "frequent": dict(rows)},
        facts=(*images_facts(images), ("settings", settings)),
        sheets=(sheet,) if rows else (),
    )
