"""The library's sentences in the words of the command line: rank=0 is --rank 0 here."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path

__all__ = ["program", "sentence", "spoken"]

# Arguments of Python and the options that stand for them.
OPTIONS = {
    name: f"--{name.replace('_', '-')}"
    for name in (
        "alpha",
        "alpha_min_ratio",
        "alphas",
        "assumption",
        "column",
        "cutoff",
        "device",
        "drop",
        "exclude",
        "follow_links",
        "format",
        "group_column",
        "groups",
        "id",
        "impute",
        "max_share",
        "memory",
        "method",
        "min_documents",
        "n_features",
        "n_words",
        "pfer",
        "positive",
        "q",
        "radius",
        "rank",
        "rule",
        "scale",
        "scheduler",
        "scoring",
        "selection",
        "separator",
        "sketch",
        "solver",
        "standardize",
        "stop_words",
        "target",
        "title_column",
        "titles",
        "tol",
        "vocabulary",
        "weighting",
        "worker_timeout",
    )
} | {
    "metric": "--scoring",
    "radii": "--radius",
    "n_splits": "--folds",
    "level": "--interval",
    "n_half_samples": "--half-samples",
    "n_pairs": "--pairs",
}
# What writes and reads files in Python, and the commands that do so.
COMMANDS = {
    "TopicImager.save": "topics fit",
    "TopicImager.image_all": "topics all",
    "Sketch.save": "sketch",
    "save_model": "fit or cv",
    "load_sketch": "fit --sketch",
    "load_model": "predict",
    "load_topics": "topics image",
    "load_images": "topics graph",
    "corpus_from_matrix(read_table(path))": "topics fit with an npz or bag-of-words file",
}
# Options that are named without a value; n_features and n_words are also dimensions of arrays.
BARE = re.compile(
    rf"(?<![\w-])({'|'.join(n for n in OPTIONS if '_' in n and not n.startswith('n_'))})\b"
)
TYPED = re.compile(r"np\.\w+\(('[^']*'|[^()]*)\)")
NAMED = re.compile(
    rf"\b({'|'.join(OPTIONS)})="
    r"(?:\['([^']*)'\]|\[([^\]']*)\]|'([^']*)'|(-?\w+(?:\.\w+)*(?:[+-]\d+)?))?(?:\.\.\.)?"
)


def spoken(message: str) -> str:
    """Return a message with options as they are typed.

    Parameters
    ----------
    message : str

    Examples
    --------
    >>> spoken("rank=0 was given; leave it out with drop=['garden'] or pass format=.")
    '--rank 0 was given; leave it out with --drop garden or pass --format.'
    """
    for name, command in COMMANDS.items():
        message = message.replace(name, command)
    message = NAMED.sub(_option, TYPED.sub(r"\1", " ".join(message.split())))
    return BARE.sub(lambda found: OPTIONS[found[1]], message)


def sentence(error: Exception) -> str:
    """Return what an error says, in the words of the command line, as one sentence."""
    return f"{spoken(str(error)).rstrip('.')}."


def _option(found: re.Match[str]) -> str:
    name, *values = found.groups()
    value = next((one for one in values if one is not None), "")
    if value in ("", "True"):
        return OPTIONS[name]
    if value == "None":
        return f"{OPTIONS[name]} none" if name == "sketch" else f"no {OPTIONS[name]}"
    if value == "False":
        return f"--no-{OPTIONS[name].removeprefix('--')}"
    return f"{OPTIONS[name]} {shlex.quote(value) if ' ' in value else value}"


def program() -> str:
    """Return how this program was called, so that a line to copy works here."""
    called = Path(sys.argv[0])
    if called.parts[-2:] == ("sketchlasso", "__main__.py"):
        return "python -m sketchlasso"
    found = shutil.which("sketchlasso")
    if called.name != "sketchlasso" or (found and Path(found).resolve() == called.resolve()):
        return "sketchlasso"
    here = Path.cwd()
    return str(called.relative_to(here) if called.is_relative_to(here) else called)
