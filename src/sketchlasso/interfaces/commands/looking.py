"""`sketchlasso info` and `sketchlasso doctor`: what a file holds, and what this machine has."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from threadpoolctl import threadpool_info

import sketchlasso as sl
from sketchlasso.errors import Argument
from sketchlasso.interfaces.app import COMMANDS, TOPICS, Entry, loaded
from sketchlasso.interfaces.commands import describe
from sketchlasso.interfaces.commands.command import OTHER_NAMES, spelled
from sketchlasso.interfaces.commands.images import gap_fact, images_data, images_facts
from sketchlasso.interfaces.commands.options import Top
from sketchlasso.interfaces.commands.report import Facts, Report, Sheet, class_words
from sketchlasso.interfaces.commands.screen import Screen
from sketchlasso.interfaces.commands.solving import sketch_data
from sketchlasso.interfaces.commands.topics import corpus_facts
from sketchlasso.interfaces.commands.topics import model_data as topics_data

NEEDED = ("numpy", "scipy", "scikit-learn", "numba", "threadpoolctl")
EXTRAS = {
    "cli": ("networkx", "typer", "rich"),
    "conic": ("clarabel",),
    "dask": ("dask", "distributed"),
    "files": ("pooch", "pyarrow"),
    "gpu": ("torch",),
    "graph": ("networkx",),
    "plot": ("matplotlib",),
    "web": ("fastapi", "uvicorn"),
}
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
DATA_VARIABLE = "SKETCHLASSO_DATA"


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
    """Show what a file of sketchlasso holds: a sketch, a model, topics or images."""
    stored = sl.io.stored_info(file)
    if stored.content == "topics":
        imager = sl.topics.load_topics(file)
        rows = _most_frequent(imager.words_, imager.document_frequency_, top)
        sheet = Sheet(f"most frequent {len(rows)} words", ("word", "documents"), rows)
        return Report(
            {"content": "topics", **topics_data(imager), "frequent": dict(rows)},
            facts=corpus_facts(imager),
            sheets=(sheet,) if rows else (),
        )
    if stored.content == "images":
        images = sl.topics.load_images(file)
        named = np.bincount(images.weights.indices, minlength=len(images.words))
        rows = _most_frequent(images.words, named, top)
        sheet = Sheet(f"{len(rows)} words in most images", ("word", "images"), rows)
        return Report(
            {"content": "images", **images_data(images), "frequent": dict(rows)},
            facts=(
                *images_facts(images),
                gap_fact(images),
                *_changed(images.settings, TOPICS, "fit", "all"),
            ),
            sheets=(sheet,) if rows else (),
        )
    if stored.content == "sketch":
        found = sl.load_sketch(file)
        return Report(
            {"content": "sketch", **sketch_data(found)},
            text=found.summary(),
            facts=(("fingerprint", str(found.fingerprint)),),
        )
    return _model_info(file, stored.facts, top)


def _model_info(file: Path, facts: Mapping[str, Any], top: int) -> Report:
    model, names = sl.load_model(file), facts["feature_names"]
    origin = {name: facts[name] for name in ("library", "fingerprint")}
    origin_facts = tuple((name, str(value)) for name, value in origin.items())
    if isinstance(model, sl.engine.LinearModels):
        count, width = model.coef.shape
        return Report(
            {
                "content": "model",
                "estimator": "LinearModels",
                "n_models": count,
                "n_features": width,
                **origin,
            },
            facts=(("model", describe.model_words(model)), *origin_facts),
        )
    settings = {
        name: value
        for name, value in facts["settings"].items()
        if not isinstance(value, dict | list)
    }
    sketch = "none, the full problem was solved"
    if facts["sketch"] is not None:
        sketch = "{method}, rank {rank}, seed {seed}".format(**facts["sketch"])
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
            ("model", describe.model_words(model)),
            *((("classes", class_words(model.classes_)),) if hasattr(model, "classes_") else ()),
            ("target", facts["target_name"] or "(unnamed)"),
            ("sketch", sketch),
            *_changed(settings, COMMANDS, "fit", "cv"),
            *describe.solver_facts(model),
            *origin_facts,
        ),
        sheets=describe.coefficient_sheet(model, names, top),
    )


def _most_frequent(words: Any, counts: Any, top: int) -> tuple[tuple[str, int], ...]:
    order = np.argsort(-counts, kind="stable")[:top]
    return tuple((str(words[j]), int(counts[j])) for j in order)


def _changed(settings: Mapping[str, Any], entries: Mapping[str, Entry], *commands: str) -> Facts:
    """Show the options of a fit that are not as by default, as they are typed."""
    options = {one.name: one for name in commands for one in loaded(name, entries[name]).params}
    found = []
    for name, value in settings.items():
        option = options.get(OTHER_NAMES.get(name, name))
        usual = ("None", "auto", str(option.default)) if option is not None else ()
        if option is not None and str(value) not in usual:
            found.append(spelled(Argument(name, value), [option]))
    return (("options", " ".join(found) or "as by default"),)


def doctor(screen: Screen) -> Report:
    """Check this installation.

    Versions, threads, BLAS, GPU, data folder, and a small problem to solve.
    """
    packages = {name: _version(name) for name in NEEDED}
    extras = {
        extra: {name: _version(name) for name in members} for extra, members in EXTRAS.items()
    }
    pools = [
        {
            "library": pool.get("internal_api"),
            # One library reports a function instead of a version.
            "version": version if isinstance(version := pool.get("version"), str) else None,
            "threads": pool.get("num_threads"),
        }
        for pool in threadpool_info()
    ]
    variables = [f"{name}={os.environ[name]}" for name in THREAD_VARIABLES if name in os.environ]
    found, gpus = _folder(), _gpus()
    screen.say("solving a small problem")
    solved, gap = _small_solve()
    return Report(
        {
            "sketchlasso": sl.__version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "packages": packages,
            "extras": extras,
            "cpus": os.cpu_count(),
            "thread_variables": {name: os.environ.get(name) for name in THREAD_VARIABLES},
            "blas": pools,
            "gpus": gpus,
            "data_folder": found,
            "self_test": {"solved": solved, "relative_gap": gap},
        },
        facts=(
            ("sketchlasso", sl.__version__),
            ("python", f"{platform.python_version()} on {platform.platform(terse=True)}"),
            ("threads", ", ".join([f"{os.cpu_count()} cores", *variables])),
            ("BLAS", "; ".join(map(_pool_words, pools)) or "not found"),
            ("GPU", f"{', '.join(gpus)} (used with --device cuda)" if gpus else "none"),
            ("data folder", _folder_words(found)),
            ("small solve", f"relative gap {gap:.1e}, " + ("fine" if solved else "NOT SOLVED")),
        ),
        sheets=(Sheet("packages", ("package", "version", "for"), _package_rows(packages, extras)),),
        fell_short=not solved,
    )


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _package_rows(
    packages: dict[str, str | None], extras: dict[str, dict[str, str | None]]
) -> tuple[tuple[str, str, str], ...]:
    rows = [(name, found or "MISSING", "sketchlasso") for name, found in packages.items()]
    for extra, members in extras.items():
        remedy = f"pip install 'sketchlasso[{extra}]'"
        rows += [
            (name, found or "missing", f"extra {extra}" if found else remedy)
            for name, found in members.items()
        ]
    return tuple(rows)


def _pool_words(pool: dict[str, Any]) -> str:
    return f"{pool['library']} {pool['version'] or ''}".strip() + f" ({pool['threads']} threads)"


def _gpus() -> list[str]:
    """Return the names of NVIDIA devices, from the tool of the driver."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    try:
        listed = subprocess.run(
            [tool, "--query-gpu=name", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.strip() for line in listed.stdout.splitlines() if line.strip()]


def _folder() -> dict[str, Any]:
    named = os.environ.get(DATA_VARIABLE)
    there = named is not None and Path(named).is_dir()
    return {
        "variable": DATA_VARIABLE,
        "path": named,
        "exists": there,
        "entries": len(os.listdir(named)) if named is not None and there else 0,
    }


def _folder_words(found: dict[str, Any]) -> str:
    if found["path"] is None:
        return f"not named ({DATA_VARIABLE} is not set; data sets are fetched or cached)"
    held = f"{found['entries']} entries" if found["exists"] else "DOES NOT EXIST"
    return f"{found['path']} ({held})"


def _small_solve() -> tuple[bool, float]:
    """Solve a few problems, to check compiled code on this machine."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 12))
    y = X[:, 0] + 0.1 * rng.standard_normal(40)
    found = sl.sketch(X, rank=10, radius=0.1, center=True, random_state=0)
    solution = sl.solve(sl.build_problems(found, y, alphas=5).batch)
    return bool(solution.solved.all()), float(solution.relative_gap.max())
