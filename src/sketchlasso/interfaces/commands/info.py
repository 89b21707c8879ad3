"""`sketchlasso info` and `sketchlasso doctor`: what a file holds, and what this machine has."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from threadpoolctl import threadpool_info

import sketchlasso as sl
from sketchlasso.interfaces.commands import describe
from sketchlasso.interfaces.commands.images import images_data, images_facts
from sketchlasso.interfaces.commands.options import Top
from sketchlasso.interfaces.commands.screen import Facts, Report, Screen, Sheet, class_words
from sketchlasso.interfaces.commands.sketch import sketch_data
from sketchlasso.interfaces.commands.topics import corpus_facts
from sketchlasso.interfaces.commands.topics import model_data as topics_data


def info(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A file written by sketch, fit, cv, topics fit or topics all."
        ),
    ],
    screen: Screen,
    top: Top = 10,
) -> Report:
    """Show what a file of sketchlasso holds.

    A sketch, a model, topics or images.
    """
    stored = sl.io.stored_info(file)
    content: dict[str, Any] = {"content": stored.content}
    if stored.content == "topics":
        imager = sl.topics.load_topics(file)
        rows = _most_frequent(imager.words_, imager.document_frequency_, top)
        sheet = Sheet(f"most frequent {len(rows)} words", ("word", "documents"), rows)
        content |= {**topics_data(imager), "frequent": dict(rows)}
        return Report(content, facts=corpus_facts(imager), sheets=(sheet,) if rows else ())
    if stored.content == "images":
        images = sl.topics.load_images(file)
        named = np.bincount(images.weights.indices, minlength=len(images.words))
        rows = _most_frequent(images.words, named, top)
        sheet = Sheet(f"{len(rows)} words in most images", ("word", "images"), rows)
        content |= {**images_data(images), "frequent": dict(rows)}
        changed = _changed(images.settings, sl.topics.TopicImager().get_params())
        facts = (*images_facts(images), *changed)
        return Report(content, facts=facts, sheets=(sheet,) if rows else ())
    if stored.content == "sketch":
        found = sl.load_sketch(file)
        return Report(
            content | sketch_data(found),
            text=found.summary(),
            facts=(("fingerprint", str(found.fingerprint)),),
        )
    return _model_info(file, stored.facts, top)


def _model_info(file: Path, facts: Mapping[str, Any], top: int) -> Report:
    model, names = sl.load_model(file), facts["feature_names"]
    origin = {name: facts[name] for name in ("library", "fingerprint")}
    origin_facts = tuple((name, str(value)) for name, value in origin.items())
    words = ("model", describe.model_words(model))
    if isinstance(model, sl.engine.LinearModels):
        count, width = model.coef.shape
        data = {"content": "model", "estimator": "LinearModels", "n_models": count}
        return Report({**data, "n_features": width, **origin}, facts=(words, *origin_facts))
    settings = {
        name: value
        for name, value in facts["settings"].items()
        if not isinstance(value, dict | list)
    }
    sketch = "none, the full problem was solved"
    if facts["sketch"] is not None:
        sketch = "{method}, rank {rank}, seed {seed}".format(**facts["sketch"])
    classes = getattr(model, "classes_", None)
    return Report(
        {
            "content": "model",
            "target": facts["target_name"],
            **describe.model_data(model),
            "coefficients": describe.listed_coefficients(model, names),
            "settings": settings,
            "sketch": facts["sketch"],
            **origin,
        },
        facts=(
            words,
            *(() if classes is None else (("classes", class_words(classes)),)),
            ("target", facts["target_name"] or "(unnamed)"),
            ("sketch", sketch),
            *_changed(settings, type(model)().get_params()),
            *describe.solver_facts(model),
            *origin_facts,
        ),
        sheets=describe.effect_sheet(model, names, facts["target_name"], top),
    )


def _most_frequent(words: Any, counts: Any, top: int) -> tuple[tuple[str, int], ...]:
    order = np.argsort(-counts, kind="stable")[:top]
    return tuple((str(words[j]), int(counts[j])) for j in order)


def _changed(settings: Mapping[str, Any], usual: Mapping[str, Any]) -> Facts:
    """Show the settings of a fit that are not as by default."""
    found = [
        f"{name}={value}"
        for name, value in settings.items()
        if name in usual and str(value) not in ("None", "auto", str(usual[name]))
    ]
    return (("settings", ", ".join(found) or "as by default"),)


def doctor(screen: Screen) -> Report:
    """Check this installation: versions, threads, and a small problem to solve."""
    required = [re.split(r"[^\w-]", text)[0] for text in metadata.requires("sketchlasso") or ()]
    versions: dict[str, str | None] = {}
    for name in ("sketchlasso", *required):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = None
    threads = {pool["internal_api"]: pool["num_threads"] for pool in threadpool_info()}
    X, y = np.vander(np.linspace(-1, 1, 40), 12), np.linspace(-1, 1, 40) ** 3
    gap = float(sl.SqrtLasso(alpha=0.1).fit(X, y).full_gap_)
    solved = gap <= 1e-6
    missing = [name for name, version in versions.items() if version is None]
    return Report(
        {
            "python": platform.python_version(),
            "platform": platform.platform(),
            "cpus": os.cpu_count(),
            "threads": threads,
            "packages": versions,
            "self_test": {"solved": solved, "relative_gap": gap},
        },
        facts=(
            ("python", f"{platform.python_version()} on {platform.platform(terse=True)}"),
            ("threads", ", ".join(f"{name} {count}" for name, count in threads.items())),
            *((name, version) for name, version in versions.items() if version is not None),
            ("not installed", ", ".join(missing) or "nothing (all extras are here)"),
            ("small solve", f"relative gap {gap:.1e}, {'fine' if solved else 'NOT SOLVED'}"),
        ),
        fell_short=not solved,
    )
