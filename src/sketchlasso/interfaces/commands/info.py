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
from sketchlasso.interfaces.commands.images import images_data
from sketchlasso.interfaces.commands.options import Top
from sketchlasso.interfaces.commands.screen import (
    Report,
    Screen,
    Sheet,
    class_words,
    facts_of,
    sheet_of,
)
from sketchlasso.interfaces.commands.sketch import sketch_data
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
    if stored.content == "topics":
        imager = sl.topics.load_topics(file)
        data = topics_data(imager)
        sheets = _most_frequent("documents", imager.words_, imager.document_frequency_, top)
    elif stored.content == "images":
        images = sl.topics.load_images(file)
        named = np.bincount(images.weights.indices, minlength=len(images.words))
        data, sheets = images_data(images), _most_frequent("images", images.words, named, top)
    elif stored.content == "sketch":
        sketch = sl.load_sketch(file)
        data = {"content": "sketch", **sketch_data(sketch)}
        return Report(
            data, text=sketch.summary(), facts=(("fingerprint", str(sketch.fingerprint)),)
        )
    else:
        return _model_info(file, stored.facts, top)
    return Report({"content": stored.content, **data}, facts_of(data), sheets)


def _most_frequent(what: str, words: Any, counts: Any, top: int) -> tuple[Sheet, ...]:
    order = np.argsort(-counts, kind="stable")[:top]
    return sheet_of(f"{len(order)} words in most {what}", (("word", words), (what, counts)), order)


def _model_info(file: Path, facts: Mapping[str, Any], top: int) -> Report:
    model, names = sl.load_model(file), facts["feature_names"]
    origin = {name: facts[name] for name in ("library", "fingerprint")}
    words = ("model", describe.model_words(model))
    if isinstance(model, sl.engine.LinearModels):
        count, width = model.coef.shape
        data = {"estimator": "LinearModels", "n_models": count, "n_features": width, **origin}
        return Report({"content": "model", **data}, facts=(words, *facts_of(origin)))
    settings = {
        name: value
        for name, value in facts["settings"].items()
        if not isinstance(value, dict | list)
    }
    usual = type(model)().get_params()
    changed = [
        f"{name}={value}"
        for name, value in settings.items()
        if name in usual and str(value) not in ("None", "auto", str(usual[name]))
    ]
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
            ("settings", ", ".join(changed) or "as by default"),
            *describe.solver_facts(model),
            *facts_of(origin),
        ),
        sheets=describe.effect_sheet(model, names, facts["target_name"], top),
    )


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
    system = {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
    }
    test = {"solved": solved, "relative_gap": gap}
    missing = [name for name, version in versions.items() if version is None]
    return Report(
        {**system, "threads": threads, "packages": versions, "self_test": test},
        facts=(
            *facts_of({**system, **versions}),
            ("threads", ", ".join(f"{name} {count}" for name, count in threads.items())),
            ("not installed", ", ".join(missing) or "nothing (all extras are here)"),
            ("small solve", f"relative gap {gap:.1e}, {'fine' if solved else 'NOT SOLVED'}"),
        ),
        fell_short=not solved,
    )
