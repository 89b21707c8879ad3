"""Make Typer commands of functions that return reports."""

from __future__ import annotations

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
from sketchlasso.interfaces.commands.screen import Note, Report, Screen

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
    options = {"context": _option("context", typer.Context, inspect.Parameter.empty)}
    parameters = inspect.signature(work).parameters
    for name in sorted(parameters, key=lambda name: hints[name] is Screen):  # --json comes last
        group: Any = hints[name]
        if not is_dataclass(group):
            options[name] = _option(name, group, parameters[name].default)
            continue
        types, panel = get_type_hints(group, include_extras=True), getattr(group, "panel", None)
        for field in fields(group):
            options[field.name] = _option(field.name, types[field.name], field.default, panel)
    if not options.keys().isdisjoint(WRITTEN):
        options["force"] = _option("force", FORCE, False)

    def command(context: typer.Context, **values: Any) -> None:
        code = _run(work, context, values)
        if code:
            raise typer.Exit(int(code))

    command.__doc__ = work.__doc__
    command.__signature__ = inspect.Signature(list(options.values()))  # type: ignore[attr-defined]
    command.__annotations__ = {}
    return command


def _option(name: str, hint: Any, default: Any, panel: str | None = None) -> inspect.Parameter:
    """Return an option, under the heading `panel`, or an argument, as Typer reads it."""
    if hint is not typer.Context:
        kind, option = get_args(hint)
        if isinstance(option, str):
            typed = [f"--{name.replace('_', '-')}", *([SHORT[name]] if name in SHORT else [])]
            # Typer adds the form with --no to an option that is on by default.
            option = typer.Option(*([] if default is True else typed), help=option)
        option = copy(option)  # commands share it
        if panel is not None:
            option.rich_help_panel = panel
        hint = Annotated[kind, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _run(work: Callable[..., Report], context: typer.Context, values: dict[str, Any]) -> Exit:
    """Run a command and print its report, which also names the command and the files written."""
    force = values.pop("force", False)
    written = {name: values[name] for name in WRITTEN if name in values}
    others = [value for name, value in values.items() if name not in written]
    command = context.command_path.removeprefix(context.find_root().command_path).strip()
    arguments: dict[str, Any] = {}
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for name, hint in get_type_hints(work).items():
                kind: Any = hint
                if name != "return" and is_dataclass(hint):
                    arguments[name] = kind(**{one.name: values[one.name] for one in fields(hint)})
                elif name != "return":
                    arguments[name] = values[name]
            check_outputs(written, others, force)
            report = work(**arguments)
    except Exception as error:
        code = exit_of(error)
        if values["debug"] or code is Exit.BUG:
            traceback.print_exc()
        message = visible(_line(error))
        stop = "" if message.endswith((".", "?")) else "."
        print(f"sketchlasso: {message}{stop}", file=sys.stderr)
        if code is Exit.BUG:
            print("sketchlasso: this is an error of ours; please report it.", file=sys.stderr)
        return code
    # Deprecations of other libraries do not concern the user.
    shown = {_line(one.message): one.category for one in caught
             if issubclass(one.category, UserWarning)}  # fmt: skip
    files = {name: path for name, path in written.items() if name != "folder"}
    wrote = [("wrote", str(path)) for path in files.values() if path is not None]
    report = replace(
        report, data={"command": command, **files, **report.data}, facts=(*report.facts, *wrote)
    )
    notes = [text for text, kind in shown.items() if issubclass(kind, Note)]
    remarks = [text for text, kind in shown.items() if not issubclass(kind, Note)]
    try:
        arguments["screen"].show(report, remarks, notes)
    except BrokenPipeError:  # the reader has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    inaccurate = any(issubclass(kind, errors.InaccurateWarning) for kind in shown.values())
    return Exit.UNUSABLE if inaccurate or report.fell_short else Exit.FINE


def _line(message: BaseException | str) -> str:
    return " ".join(str(message).split())
