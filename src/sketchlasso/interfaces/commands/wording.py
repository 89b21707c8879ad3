"""The library's messages in the words of the command line: rank=0 is --rank 0 here."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sketchlasso.errors import Argument, Name, Part, SketchlassoError, SketchlassoWarning
from sketchlasso.interfaces.app import loaded

__all__ = ["program", "spoken"]

# Parameters whose option has another name; the command may still have an option of their own.
OTHER_NAMES = {
    "cv": "folds",
    "fit_intercept": "intercept",
    "level": "interval",
    "method": "sketch",
    "metric": "scoring",
    "n_half_samples": "half_samples",
    "n_jobs": "threads",
    "n_pairs": "pairs",
    "n_threads": "threads",
    "radii": "radius",
    "random_state": "seed",
}
# Functions that write and read files, and the commands that do so.
COMMANDS = {
    "TopicImager.save": "topics fit",
    "TopicImager.image_all": "topics all",
    "image_all": "topics all",
    "Sketch.save": "sketch",
    "save_model": "fit or cv",
    "load_sketch": "fit --sketch",
    "load_model": "predict",
    "load_topics": "topics image",
    "load_images": "topics graph",
    "corpus_from_matrix(read_table(path))": "topics fit with an npz or bag-of-words file",
}


def spoken(message: BaseException | str, options: Sequence[Any] = ()) -> str:
    """Return a message on one line, with options and commands as they are typed.

    Parameters
    ----------
    message : BaseException or str
    options : sequence of typer.core.TyperOption
        Those of the command that runs; options of other commands are named where it has none.
    """
    if not isinstance(message, SketchlassoError | SketchlassoWarning):
        return " ".join(str(message).split())
    return " ".join("".join(_spelled(part, options) for part in message.args).split())


def _spelled(part: Part, options: Sequence[Any]) -> str:
    if isinstance(part, Argument):
        return _option(part, options)
    if isinstance(part, Name):
        command = COMMANDS.get(part.name)
        return command or _option(Argument(part.name), options).rstrip("=")
    return part


def _option(argument: Argument, options: Sequence[Any]) -> str:
    """The option of an argument; the argument itself where the command line has none."""
    found = _found(argument.name, options) or _found(argument.name, _all_options())
    if found is None:
        return str(argument)
    typed, value = found.opts[0], argument.plain
    if value is ... or value is True:
        return str(typed)
    if value is None:
        return f"{typed} none" if found.name == "sketch" else f"no {typed}"
    if value is False:
        return str(next(iter(found.secondary_opts), f"no {typed}"))
    if isinstance(value, list | tuple):
        value = ",".join(map(str, value))
    return f"{typed} {shlex.quote(format(value, argument.spec))}"


def _found(name: str, options: Sequence[Any]) -> Any:
    by_name = {one.name: one for one in options if one.param_type_name == "option"}
    return by_name.get(name) or by_name.get(OTHER_NAMES.get(name, name))


def _all_options() -> list[Any]:
    """The options of all commands; loading them takes a third of a second."""
    from sketchlasso.interfaces.app import COMMANDS, TOPICS

    entries = (*COMMANDS.items(), *TOPICS.items())
    return [option for name, entry in entries for option in loaded(name, entry).params]


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
