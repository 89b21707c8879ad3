"""Make Typer commands of functions that return reports."""

from __future__ import annotations

import functools
import inspect
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import fields, is_dataclass, replace
from typing import Annotated, Any, get_args, get_type_hints

import typer

from sketchlasso import errors
from sketchlasso.interfaces import visible
from sketchlasso.interfaces.cli import Exit, exit_of
from sketchlasso.interfaces.commands.outputs import check_outputs
from sketchlasso.interfaces.commands.report import Report
from sketchlasso.interfaces.commands.screen import Note, Screen

# Warnings after which the answer cannot be used as it is.
SHORTFALLS = (errors.InaccurateWarning,)
# Parameters that name what a command writes.
WRITTEN = ("output", "plot", "folder")
# Options with a short form.
SHORT = {"output": "-o", "quiet": "-q", "target": "-t", "verbose": "-v"}
FORCE = Annotated[bool, "Replace existing files that sketchlasso did not write."]


def as_command(work: Callable[..., Report]) -> Callable[..., None]:
    """Make a command of a function that returns a report.

    Parameters that are dataclasses become one option per field, under the heading `panel` of the
    class if it has one, so that commands share options by naming them once. A parameter or field
    that is annotated with text is an option with this text as its help.
    """
    hints = get_type_hints(work, include_extras=True)
    given = inspect.signature(work).parameters
    parameters = {"context": _parameter("context", typer.Context, inspect.Parameter.empty)}
    for name in sorted(given, key=lambda name: hints[name] is Screen):  # --json comes last
        if not is_dataclass(hints[name]):
            parameters[name] = _parameter(name, hints[name], given[name].default)
            continue
        group: Any = hints[name]
        types = get_type_hints(group, include_extras=True)
        for field in fields(group):
            panel = getattr(group, "panel", None)
            parameters[field.name] = _parameter(field.name, types[field.name], field.default, panel)
    if not parameters.keys().isdisjoint(WRITTEN):
        parameters["force"] = _parameter("force", FORCE, False)

    @functools.wraps(work)
    def command(context: typer.Context, **values: Any) -> None:
        code = _run(work, context, values)
        if code:
            raise typer.Exit(int(code))

    command.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
    command.__annotations__ = {}
    return command


def _parameter(name: str, hint: Any, default: Any, panel: str | None = None) -> inspect.Parameter:
    """Return an option, under the heading `panel`, or an argument, as Typer reads it."""
    if hint is not typer.Context:
        kind, option = get_args(hint)
        if isinstance(option, str):
            typed = [f"--{name.replace('_', '-')}", *([SHORT[name]] if name in SHORT else [])]
            # Typer adds the form with --no to an option that is on by default.
            option = typer.Option(*([] if default is True else typed), help=option)
        if panel is not None:
            option = copy(option)  # commands share it
            option.rich_help_panel = panel
        hint = Annotated[kind, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _run(work: Callable[..., Report], context: typer.Context, values: dict[str, Any]) -> Exit:
    """Run a command and print its report, which also names the command and the files written."""
    debug, force = values["debug"], values.pop("force", False)
    written = {name: values[name] for name in WRITTEN if name in values}
    command = context.command_path.removeprefix(context.find_root().command_path).strip()
    arguments: dict[str, Any] = {}
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for name, hint in get_type_hints(work).items():
                kind: Any = hint
                if is_dataclass(hint) and name != "return":
                    group = {field.name: values[field.name] for field in fields(hint)}
                    arguments[name] = kind(**group)
                elif name != "return":
                    arguments[name] = values[name]
            check_outputs(written, [values[name] for name in values.keys() - written], force)
            report = work(**arguments)
    except Exception as error:
        code = exit_of(error)
        if debug or code is Exit.BUG:
            traceback.print_exc()
        message = visible(_line(error))
        stop = "" if message.endswith((".", "?")) else "."
        print(f"sketchlasso: {message}{stop}", file=sys.stderr)
        if code is Exit.BUG:
            print("sketchlasso: this is an error of ours; please report it.", file=sys.stderr)
        return code
    # Deprecations of other libraries do not concern the user.
    kept = [one for one in caught if issubclass(one.category, UserWarning)]
    shown = {_line(one.message): one.category for one in kept}
    files = {name: path for name, path in written.items() if name != "folder"}
    wrote = [("wrote", str(path)) for path in files.values() if path is not None]
    report = replace(
        report,
        data={"command": command, **files, **report.data},
        facts=(*report.facts, *wrote),
    )
    try:
        arguments["screen"].show(
            report,
            [text for text, kind in shown.items() if not issubclass(kind, Note)],
            [text for text, kind in shown.items() if issubclass(kind, Note)],
        )
        sys.stdout.flush()
    except OSError as problem:
        # Flushing stdout at exit must not fail, too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(problem, BrokenPipeError):  # the reader has closed the pipe
            print(f"sketchlasso: the result was not shown ({problem.strerror}).", file=sys.stderr)
            return Exit.BAD_FILE
    fell_short = any(issubclass(kind, SHORTFALLS) for kind in shown.values())
    return Exit.UNUSABLE if fell_short or report.fell_short else Exit.FINE


def _line(message: BaseException | str) -> str:
    return " ".join(str(message).split())
