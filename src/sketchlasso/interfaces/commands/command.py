"""Make Typer commands of functions that return reports; messages name options, not parameters."""

from __future__ import annotations

import functools
import inspect
import os
import shlex
import shutil
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

from sketchlasso import errors
from sketchlasso.interfaces import visible
from sketchlasso.interfaces.app import loaded
from sketchlasso.interfaces.cli import Exit, exit_of
from sketchlasso.interfaces.commands.outputs import (
    check_files,
    check_folder,
    check_not_read,
    check_own,
)
from sketchlasso.interfaces.commands.report import Report
from sketchlasso.interfaces.commands.screen import Note, Screen

# Warnings after which a command ends with Exit.INACCURATE.
SHORTFALLS = (errors.InaccurateWarning, errors.EmptyModelWarning)
# Parameters whose option has another name, unless the command has one of the same name.
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
# Options with a short form.
SHORT = {"output": "-o", "quiet": "-q", "target": "-t", "verbose": "-v"}
# Functions, objects and defaults of Python, and what the command line has in their place.
REPLACED = {
    "a Sketch or None": "the name of a sketch file or none",
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


def as_command(work: Callable[..., Report]) -> Callable[..., None]:
    """Make a command of a function that returns a report.

    Parameters that are dataclasses become one option per field, under the heading `panel` of the
    class if it has one, so that commands share options by naming them once. A parameter or field
    that is annotated with text is an option with this text as its help. Errors of the package end
    in one line on stderr and an exit code, also those of a dataclass that refuses its values;
    inaccurate results too, after the report.
    """
    hints = get_type_hints(work, include_extras=True)
    hints.pop("return")
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters = _parameters(work, hints, groups)

    @functools.wraps(work)
    def command(context: typer.Context, **values: Any) -> None:
        code = _run(work, groups, values, context)
        if code:
            raise typer.Exit(int(code))

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {}
    return command


def _run(
    work: Callable[..., Report],
    groups: dict[str, Any],
    values: dict[str, Any],
    context: typer.Context,
) -> Exit:
    """Run a command and print its report, which also names the command and the files written."""
    files: dict[str, Any] = {name: values[name] for name in ("output", "plot") if name in values}
    options = context.command.params
    debug, force = values["debug"], values.pop("force", False)
    command = context.command_path.removeprefix(context.find_root().command_path).strip()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            check_files(files)
            read = [value for name, value in values.items() if name not in files]
            check_not_read(files, read)
            check_own(files, force)
            check_folder(values.get("folder"), force)
            for name, group in groups.items():
                values[name] = group(
                    **{field.name: values.pop(field.name) for field in fields(group)}
                )
            report = work(**values)
    except Exception as error:
        code = exit_of(error)
        if debug or code is Exit.BUG:
            traceback.print_exc()
        message = visible(spoken(error, options))
        stop = "" if message.endswith((".", "?")) else "."
        print(f"sketchlasso: {message}{stop}", file=sys.stderr)
        if code is Exit.BUG:
            print("sketchlasso: this is an error of ours; please report it.", file=sys.stderr)
        return code
    # Deprecations of other libraries do not concern the user.
    shown = [note for note in caught if issubclass(note.category, UserWarning)]
    empty = [note for note in shown if issubclass(note.category, errors.EmptyModelWarning)]
    shown = [note for note in shown if note not in empty[1:]]  # the library says why, we that
    kinds = {spoken(note.message, options): issubclass(note.category, Note) for note in shown}
    written = [("wrote", str(path)) for path in files.values() if path is not None]
    data = {"command": command, **files, **report.data}
    try:
        values["screen"].show(
            replace(report, data=data, facts=(*report.facts, *written)),
            [remark for remark, is_note in kinds.items() if not is_note],
            [remark for remark, is_note in kinds.items() if is_note],
        )
        sys.stdout.flush()
    except OSError as problem:
        # Flushing stdout at exit must not fail, too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(problem, BrokenPipeError):  # the reader has closed the pipe
            print(f"sketchlasso: the result was not shown ({problem.strerror}).", file=sys.stderr)
            return Exit.BAD_FILE
    fell_short = any(issubclass(note.category, SHORTFALLS) for note in shown)
    return Exit.INACCURATE if fell_short or report.fell_short else Exit.FINE


def _parameters(
    work: Callable[..., Report], hints: dict[str, Any], groups: dict[str, Any]
) -> list[inspect.Parameter]:
    """Return the parameters of a command, all by keyword; --json and --quiet come last."""
    by_keyword = inspect.Parameter.KEYWORD_ONLY
    found = [inspect.Parameter("context", by_keyword, annotation=typer.Context)]
    given = inspect.signature(work).parameters
    for name in sorted(given, key=lambda name: hints[name] is Screen):
        if name not in groups:
            found.append(_parameter(name, hints[name], given[name].default))
            continue
        own = get_type_hints(groups[name], include_extras=True)
        panel = getattr(groups[name], "panel", None)
        found += [
            _parameter(field.name, own[field.name], field.default, panel)
            for field in fields(groups[name])
        ]
    if {"output", "plot", "folder"} & {parameter.name for parameter in found}:
        help = "Replace existing files, also those that sketchlasso did not write."
        found.append(_parameter("force", Annotated[bool, help], False))
    return found


def _parameter(name: str, hint: Any, default: Any, panel: str | None = None) -> inspect.Parameter:
    """Return an option, under the heading `panel`, or an argument, as Typer reads it."""
    kind, option = get_args(hint)
    if isinstance(option, str):
        option = typer.Option(*_spellings(name, default), help=option)
    if panel is not None:
        option = copy(option)  # commands share it
        option.rich_help_panel = panel
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, option],
    )


def _spellings(name: str, default: Any) -> list[str]:
    """Return how an option is written; one that is on by default also has a form with --no."""
    if default is True:
        return []  # Typer makes both forms
    typed = [f"--{name.replace('_', '-')}"]
    return [*typed, SHORT[name]] if name in SHORT else typed


def spoken(message: BaseException | str, options: Sequence[Any] = ()) -> str:
    """Return a message on one line, in the words of the command line: rank=0 is --rank 0 here.

    The `options` are those of the running command; missing ones are taken from other commands.
    """
    if not isinstance(message, errors.SketchlassoError | errors.SketchlassoWarning):
        return " ".join(str(message).split())
    return " ".join("".join(spelled(part, options) for part in message.args).split())


def spelled(part: errors.Part, options: Sequence[Any] = ()) -> str:
    """Return a part of a message in the words of the command line."""
    if isinstance(part, errors.Argument):
        return _option(part, options)
    if isinstance(part, errors.Name):
        command = REPLACED.get(part.name)
        return command or _option(errors.Argument(part.name), options).rstrip("=")
    if isinstance(part, errors.Value):
        return str(part) if isinstance(part.value, str) else _typed(part.value)
    return part


def _option(argument: errors.Argument, options: Sequence[Any]) -> str:
    """Return the option of an argument, or the argument itself if there is no option."""
    found = _found(argument.name, options) or _found(argument.name, _all_options())
    if found is None:
        return str(argument)
    typed, value = found.opts[0], argument.value
    if value is ... or value is True:
        return str(typed)
    if value is None:
        return f"{typed} none" if found.name == "sketch" else f"no {typed}"
    if value is False:
        return str(next(iter(found.secondary_opts), f"no {typed}"))
    return f"{typed} {_typed(value, argument.spec)}"


def _typed(value: Any, spec: str = "") -> str:
    """Return a value as it is typed after an option."""
    if isinstance(value, list | tuple):
        return shlex.quote(",".join(map(str, value)))
    return shlex.quote(format(errors.Value(value).plain, spec))


def _found(name: str, options: Sequence[Any]) -> Any:
    by_name = {one.name: one for one in options if one.param_type_name == "option"}
    return by_name.get(name) or by_name.get(OTHER_NAMES.get(name, name))


def _all_options() -> list[Any]:
    """Return the options of all commands; loading them takes a third of a second."""
    from sketchlasso.interfaces.app import COMMANDS, TOPICS

    entries = (*COMMANDS.items(), *TOPICS.items())
    return [option for name, entry in entries for option in loaded(name, entry).params]


def program() -> str:
    """Return how this program was called, for lines that the user can copy."""
    called = Path(sys.argv[0])
    if called.parts[-2:] == ("sketchlasso", "__main__.py"):
        return "python -m sketchlasso"
    found = shutil.which("sketchlasso")
    if called.name != "sketchlasso" or (found and Path(found).resolve() == called.resolve()):
        return "sketchlasso"
    here = Path.cwd()
    return str(called.relative_to(here) if called.is_relative_to(here) else called)
